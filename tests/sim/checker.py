"""Runs every rule over a history and explains what it finds.

A rule is a pure function from a history to findings.  A finding names the rule, says in one sentence what is wrong, and
has the few events that show it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from tests.sim.history import History
from tests.sim.rules import delivery, log, losses, ordering, progress, scheduled, transactions
from tests.sim.rules.finding import Finding, Rule

RULES: Sequence[Rule] = (
    *log.RULES, *transactions.RULES, *delivery.RULES, *ordering.RULES, *scheduled.RULES, *losses.RULES, *progress.RULES,
)  # fmt: skip
SHOWN_MAX = 3  # findings of one rule
EVENT_CHARS_MAX = 300
NEAR_MAX = 10  # faults, promotions and losses near a finding


def check(history: History) -> list[Finding]:
    return [finding for rule in RULES for finding in rule(history)]


def explain(findings: Iterable[Finding], history: History) -> list[str]:
    """Returns lines for a person: each finding, its events, and the faults near them."""
    lines: list[str] = []
    shown: Counter[str] = Counter()
    for finding in findings:
        shown[finding.rule] += 1
        if shown[finding.rule] > SHOWN_MAX:
            continue
        lines.append(f"{finding.rule}: {finding.text}")
        events = sorted({json.dumps(event): event for event in finding.events}.values(), key=lambda e: e["at"])
        lines += [f"    {event['at']:.3f} {_facts(event)}" for event in events]
        if events:
            lines += [f"    {fault}" for fault in _faults_near(history, events[0]["at"], events[-1]["at"])]
    lines += [f"{rule}: {count - SHOWN_MAX} more" for rule, count in shown.items() if count > SHOWN_MAX]
    return lines


def _facts(event: dict[str, object]) -> str:
    rest = {name: value for name, value in event.items() if name not in ("at", "actor", "kind", "op", "id")}
    text = f"{event['actor']} {event['kind']} {event['op']} #{event['id']} {json.dumps(rest)}"
    return text if len(text) <= EVENT_CHARS_MAX else f"{text[:EVENT_CHARS_MAX]} ..."


def _faults_near(history: History, first: float, last: float, before_s: float = 3.0) -> list[str]:
    """Faults, promotions and reported losses."""
    near = [
        event for op in ("fault", "promotion", "loss") for event in history.notes(op)
        if first - before_s <= event["at"] <= last
    ]  # fmt: skip
    return [f"{event['at']:.3f} {_near(event)}" for event in sorted(near, key=lambda event: event["at"])[:NEAR_MAX]]


def _near(event: dict[str, object]) -> str:
    if event["op"] == "fault":
        return f"fault: {event['fault']} {event['target']} {event['phase']}"
    hidden = ("at", "actor", "kind", "op", "id")
    return f"{event['op']}: {' '.join(f'{name}={value}' for name, value in event.items() if name not in hidden)}"
