"""The trace of a transaction: the steps of PIP-31 in their order, with times, from what its coordinator stores.

    begin                                   0 ms
    add_partition     out:0                15
    append            out:0                16
    add_subscription  in:0 job             18
    pending_ack       in:0 job             19
    decide                                 25
    end_partition     out:0                27
    end_subscription  in:0 job             27
    complete                               27

lua/include/trace.lua has the stored form.  Pure.  Source: requirements CL-15, OB-25; docs/decisions/0051.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple
from urllib.parse import unquote

StepName = Literal[
    "begin", "add_partition", "append", "add_subscription", "pending_ack", "decide", "end_partition",
    "end_subscription", "complete",
]  # fmt: skip
PARTICIPANTS_MAX = 6  # of a live transaction; lua/include/trace.lua bounds those of an outcome
MORE, NEVER, WITH_OUTCOME = "+", "_", "="
_LOGGED = re.compile(r"/(\w)(\d*)@(-?\d+)")


class Step(NamedTuple):
    """at_ms: None if the time is not known.  topic: "" for a step of the coordinator."""

    name: StepName
    at_ms: int | None
    topic: str = ""
    partition: int = 0
    subscription: str | None = None


class Trace(NamedTuple):
    """append and pending_ack are the first ones on each participant.  is_cut: there are further participants."""

    steps: Sequence[Step]
    is_cut: bool


class Traced(NamedTuple):
    """A participant.  is_used: whether it has records or acknowledgements of the transaction.  first_offset: of these
    records, if only that is known.  used_ms: None if the time is not known.  ended_ms: None if it has not ended."""

    topic: str
    partition: int
    subscription: str | None
    added_ms: int
    is_used: bool = False
    first_offset: int | None = None
    used_ms: int | None = None
    ended_ms: int | None = None


class Stored(NamedTuple):
    """What is stored of the steps.  decided_ms: None if there is no decision, or its time is not known."""

    participants: list[Traced]
    decided_ms: int | None
    is_cut: bool


def of_outcome(started_ms: int, completed_ms: int, text: str) -> Stored:
    """text: as stored behind the first bar; "" if nothing is."""
    if not text:
        return Stored([], None, is_cut=True)
    steps, names, ends = text.split("|")
    words = [word for word in names.split(";") if word]
    places = list[tuple[str, int, str | None]]()
    for word in words:
        if word != MORE:
            topic, partition, *subscription = word.split("/")
            places.append((topic, int(partition), unquote(subscription[0]) if subscription else None))
    found, decided_ms, is_cut = of_row(started_ms, steps, places, has_more=MORE in words)
    uses = [end for end in ends.split(";") if end]
    used = [_used(each, use, completed_ms) for each, use in zip(found, uses, strict=False)]
    return Stored([*used, *found[len(used) :]], decided_ms, is_cut or len(used) < len(found))


def _used(traced: Traced, use: str, completed_ms: int) -> Traced:
    """use: "used,ended"."""
    used, ended = use.split(",")
    return traced._replace(
        is_used=used != NEVER,
        first_offset=int(used[1:]) if used.startswith("o") else None,
        used_ms=int(used) if used.isdigit() else None,
        ended_ms=completed_ms if ended == WITH_OUTCOME else int(ended) if ended.isdigit() else None,
    )


def of_row(started_ms: int, positions: str, places: Sequence[tuple[str, int, str | None]], *, has_more: bool) -> Stored:
    """positions: of a coordinator's row.  places: the first participants (topic, partition, subscription), in their
    order.  has_more: there are others."""
    times: dict[str, list[int]] = {"p": [], "s": []}
    decided_ms, is_whole = None, True
    for position in positions.split(",")[1:-1]:  # the first one is the begin
        logged = _LOGGED.search(position)
        if logged is None:  # an earlier release has written it: the participants behind it have no times
            is_whole = False
            continue
        kind, count, since = logged.groups()
        if not count:
            decided_ms = started_ms + int(since)
        elif is_whole:
            times[kind] += [started_ms + int(since)] * int(count)
    waiting = {kind: iter(each) for kind, each in times.items()}
    participants = list[Traced]()
    for topic, partition, subscription in places:
        added_ms = next(waiting["p" if subscription is None else "s"], None)
        if added_ms is None:
            return Stored(participants, decided_ms, is_cut=True)
        participants.append(Traced(topic, partition, subscription, added_ms))
    return Stored(participants, decided_ms, has_more or not is_whole)


def of(started_ms: int, stored: Stored, completed_ms: int | None = None) -> Trace:
    """The steps in the order of PIP-31; those before the decision by time."""
    first, last = list[tuple[int, Step]](), list[Step]()
    for each in stored.participants:
        place, is_partition = each[:3], each.subscription is None
        first.append(
            (each.added_ms, Step("add_partition" if is_partition else "add_subscription", each.added_ms, *place))
        )
        if each.is_used:
            # It follows its registration, also if the clocks of two brokers differ.
            order = max(each.added_ms, each.used_ms or 0)
            first.append((order, Step("append" if is_partition else "pending_ack", each.used_ms, *place)))
        if each.ended_ms is not None:
            last.append(Step("end_partition" if is_partition else "end_subscription", each.ended_ms, *place))
    steps = [Step("begin", started_ms), *(step for _, step in sorted(first, key=lambda pair: pair[0]))]
    if stored.decided_ms is not None:
        steps.append(Step("decide", stored.decided_ms))
    steps += last
    if completed_ms is not None:
        steps.append(Step("complete", completed_ms))
    return Trace(steps, stored.is_cut)
