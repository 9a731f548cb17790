"""Runs every rule over a history and explains what it finds.

A rule is a pure function from a history to findings.  A finding names the rule, says in one sentence what is wrong, and
has the few events that show it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from tests.sim.history import History
from tests.sim.rules import delivery, log, progress, scheduled, transactions
from tests.sim.rules.finding import Finding, Rule

RULES: Sequence[Rule] = (*log.RULES, *transactions.RULES, *delivery.RULES, *scheduled.RULES, *progress.RULES)
SHOWN_MAX = 3  # findings of one rule
EVENT_CHARS_MAX = 300


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
            lines += [f"    fault: {fault}" for fault in _faults_near(history, events[0]["at"], events[-1]["at"])]
    lines += [f"{rule}: {count - SHOWN_MAX} more" for rule, count in shown.items() if count > SHOWN_MAX]
    return lines


def _facts(event: dict[str, object]) -> str:
    rest = {name: value for name, value in event.items() if name not in ("at", "actor", "kind", "op", "id")}
    text = f"{event['actor']} {event['kind']} {event['op']} #{event['id']} {json.dumps(rest)}"
    return text if len(text) <= EVENT_CHARS_MAX else f"{text[:EVENT_CHARS_MAX]} ..."


def _faults_near(history: History, first: float, last: float, before_s: float = 3.0) -> list[str]:
    near = [event for event in history.notes("fault") if first - before_s <= event["at"] <= last]
    return [f"{event['at']:.3f} {event['fault']} {event['target']} {event['phase']}" for event in near[:8]]
