"""A replay, decided: what it is called, which offsets its next step takes, and when that may begin.

    orders:0    begin ├──step 1──┼──step 2──┼────·····────┤ end        each step takes about `size` offsets in all, of
    orders:1    begin ├────1────┼────2────┼─·····─────────┤ end        each partition in proportion to what is left

    position    a subscription of the source: where the next step begins; noted by the decision that commits a step
    end         another one: where the range ends, noted once

The broker has both, so a step is cut from what is committed and from nothing else: whoever runs it, with whichever
size, begins where the last one that counts has ended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TopicPartition, check_subscription_name
from redis_ledger.spark.offset_options import Offsets
from redis_ledger.spark.plan import Range, limited

BURST_S = 5  # how long a step's records last at the rate asked for
STEP_OFFSETS = 500_000


class Names(NamedTuple):
    """position: also what steps are counted under."""

    position: str
    end: str


def names(name: str, source_id: str, target_id: str) -> Names:
    """Of the job from this topic to that one: a topic that was made anew is another one.  Raises InvalidRequest."""
    if not 1 <= len(name) <= 100:
        raise InvalidRequest(f"The name has {len(name)} characters; it can have 1 to 100.")
    job = f"replay {name} {_digest([source_id, target_id])}"
    return Names(check_subscription_name(job), f"{job} end")


def derived_name(said: Mapping[str, object]) -> str:
    """The same for the same arguments.  said: those that decide what is replayed."""
    return _digest(said)


def _digest(subject: object) -> str:
    return hashlib.sha256(json.dumps(subject, sort_keys=True).encode()).hexdigest()[:8]


def named_offsets(topic: str, text: str) -> str:
    """{"0": 12} as the option of the source has it, {"orders": {"0": 12}}; which may be given as well."""
    try:
        read = json.loads(text)
    except ValueError:
        return text  # the option says what is wrong with it
    is_short = isinstance(read, dict) and not any(isinstance(value, dict) for value in read.values())
    return json.dumps({topic: read}) if is_short else text


def left(position: Offsets, end: Offsets) -> int:
    """Offsets of the range that are still to be replayed."""
    return sum(max(0, end[partition] - position[partition]) for partition in end)


def following(position: Offsets, end: Offsets, size: int) -> Offsets:
    """Where the step that begins at `position` ends."""
    ranges = [Range(partition, at, max(at, end[partition])) for partition, at in sorted(position.items())]
    return limited(ranges, size, None)


def all_named(offsets: Offsets, topic: str, partitions: int) -> str:
    """As an option of the source, which wants every partition: those that came after the job began are not read."""
    places = {str(number): offsets.get(TopicPartition(topic, number), 0) for number in range(partitions)}
    return json.dumps({topic: places})


def step_size(asked: int | None, rate: int | None) -> int:
    if asked is not None:
        return asked
    return STEP_OFFSETS if rate is None else max(1, rate * BURST_S)


class Pace:
    """Lets so many records through in a second, and makes up for nothing: a step that took long is not followed by
    one that comes early.  rate None: as fast as it goes."""

    def __init__(self, rate: int | None, clock_s: Callable[[], float], sleep_s: Callable[[float], None]) -> None:
        self._rate, self._clock_s, self._sleep_s = rate, clock_s, sleep_s
        self._due_s = clock_s()

    def wait(self) -> None:
        """Until the next step may begin."""
        if (pause_s := self._due_s - self._clock_s()) > 0:
            self._sleep_s(pause_s)
        self._due_s = max(self._due_s, self._clock_s())

    def wrote(self, records: int) -> None:
        if self._rate is not None:
            self._due_s += records / self._rate
