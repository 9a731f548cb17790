"""Checks the replies and records that clients got against the log: nothing lost, doubled, out of order or early.

    a client tells      asked     values it is about to write: (partition, value), value = writer-number
    (JSON, by line)     answered  what became of them, committed or aborted; without an answer either is right
                        got       (partition, offset, value), by a group or subscription
                        position  below it a group's offsets are committed
                        done      messages of a subscription that are acknowledged
                        moved     a rebalance overtook its commit, so that it reads again
                        error     what its application saw
                        noted     what its library said, and did not trouble it with

A writer's values on a partition are in the order of their numbers, unless they have a due time: then they must not be
got before it.  Values of one step are there all, or none of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Log = Mapping[
    int, Sequence[tuple[int, str]]
]  # partition → offsets and values, as a reader of committed records has them
Event = Mapping[str, Any]
SHOWN_MAX = 5


class Write(NamedTuple):
    """step: what is committed with it; None: nothing.  due_ms: 0 for now."""

    partition: int
    step: tuple[str, int] | None
    due_ms: int


class History:
    """events: in the order of their times, each with the `worker` that reported it."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events = sorted(events, key=lambda event: event["at"])
        self.asked: dict[str, dict[str, Write]] = defaultdict(dict)  # topic → value → what was asked
        self.outcomes: dict[str, str] = {}
        for event in self.events:
            if event["kind"] == "asked":
                step = (event["worker"], event["step"]) if "step" in event else None
                for partition, value in event["values"]:
                    self.asked[event["topic"]][value] = Write(partition, step, event.get("due_ms", 0))
            elif event["kind"] == "answered":
                self.outcomes |= dict.fromkeys(event["values"], event["outcome"])

    def committed(self, topic: str) -> set[str]:
        return {value for value in self.asked[topic] if self.outcomes.get(value) == "committed"}

    def got(self, topic: str, by: str) -> set[str]:
        return {
            value for event in self._of("got") if (event["topic"], event["by"]) == (topic, by)
            for _, _, value in event["records"]
        }  # fmt: skip

    def errors(self) -> list[Event]:
        return self._of("error")

    def _of(self, kind: str) -> list[Event]:
        return [event for event in self.events if event["kind"] == kind]

    # -- what is in the log --------------------------------------------------------------------------------------------

    def flaws(self, topic: str, log: Log) -> list[str]:
        """One sentence for each kind of what is wrong with a topic that these clients alone wrote to."""
        asked = self.asked[topic]
        there = Counter(value for rows in log.values() for _, value in rows)
        misplaced = [
            value for partition, rows in log.items() for _, value in rows
            if value in asked and asked[value].partition != partition
        ]  # fmt: skip
        found = {
            "from nowhere": sorted(set(there) - set(asked)),
            "doubled": sorted(value for value, count in there.items() if count > 1),
            "answered and lost": sorted(self.committed(topic) - set(there)),
            "aborted and visible": [value for value in there if self.outcomes.get(value) == "aborted"],
            "in another partition": misplaced,
            "half of a step": sorted(self._halves(topic, set(there))),
            "out of order": list(self._out_of_order(topic, log)),
            "got before it was due": list(self._early(topic)),
        }
        return [_sentence(topic, what, values) for what, values in found.items() if values]

    def _halves(self, topic: str, there: set[str]) -> Iterator[str]:
        """Values that are missing of a step of which others are there."""
        steps: dict[tuple[str, int], list[str]] = defaultdict(list)
        for value, write in self.asked[topic].items():
            if write.step is not None:
                steps[write.step].append(value)
        for values in steps.values():
            if there.intersection(values):
                yield from set(values) - there

    def _out_of_order(self, topic: str, log: Log) -> Iterator[str]:
        asked = self.asked[topic]
        for partition, rows in log.items():
            last: dict[str, int] = {}
            for _, value in rows:
                writer, _, number = value.rpartition("-")
                if value not in asked or asked[value].due_ms:
                    continue
                if int(number) <= last.get(writer, -1):
                    yield f"{value} at {partition} behind {last[writer]}"
                last[writer] = int(number)

    def _early(self, topic: str) -> Iterator[str]:
        for value, by_ms in self.waits_ms(topic):
            if by_ms < 0:
                yield f"{value} by {-by_ms:.0f} ms"

    def waits_ms(self, topic: str) -> list[tuple[str, float]]:
        """The delay from each scheduled value's due time to its first delivery."""
        first: dict[str, float] = {}
        for event in self._of("got"):
            if event["topic"] == topic:
                for _, _, value in event["records"]:
                    first.setdefault(value, event["at"])
        asked = self.asked[topic]
        return [(v, at * 1000 - asked[v].due_ms) for v, at in first.items() if v in asked and asked[v].due_ms]

    # -- what readers saw ----------------------------------------------------------------------------------------------

    def reader_flaws(self, topic: str, by: str, log: Log) -> list[str]:
        """Of one group or subscription that has read the topic to its end."""
        at = {(partition, offset): value for partition, rows in log.items() for offset, value in rows}
        positions: dict[int, int] = defaultdict(int)
        done: set[tuple[int, int]] = set()
        strange, again, seen = list[str](), list[str](), set[tuple[int, int]]()
        for event in self.events:
            if (event.get("topic"), event.get("by")) != (topic, by):
                continue
            if event["kind"] == "position":
                for partition, offset in event["positions"].items():
                    positions[int(partition)] = max(positions[int(partition)], offset)
            elif event["kind"] == "done":
                done |= {(partition, offset) for partition, offset in event["records"]}
            elif event["kind"] == "got":
                for partition, offset, value in event["records"]:
                    place = (partition, offset)
                    if at.get(place) != value:
                        strange.append(f"{value} at {place}, where {at.get(place)} is")
                    if offset < positions[partition] or place in done:
                        again.append(f"{value} at {place}")
                    seen.add(place)
        missed = [f"{at[place]} at {place}" for place in sorted(set(at) - seen)]
        found = {"got and not in the log": strange, "got after it was acknowledged": again, "never got": missed}
        return [_sentence(f"{by} on {topic}", what, values) for what, values in found.items() if values]


def made_once(sources: Log, results: Log) -> list[str]:
    """Flaws in results that must hold "out of <value>" once for every value of the sources."""
    wanted = {f"out of {value}" for rows in sources.values() for _, value in rows}
    there = Counter(value for rows in results.values() for _, value in rows)
    found = {
        "made of nothing": sorted(set(there) - wanted),
        "made twice": sorted(value for value, count in there.items() if count > 1),
        "never made": sorted(wanted - set(there)),
    }
    return [_sentence("results", what, values) for what, values in found.items() if values]


def _sentence(where: str, what: str, values: Sequence[str]) -> str:
    shown = ", ".join(values[:SHOWN_MAX])
    return f"{where}: {len(values)} {what}: {shown}{' ...' if len(values) > SHOWN_MAX else ''}"
