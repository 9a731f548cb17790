"""Plan of a replay: the names of the job, the offsets of its next step, and when that may begin.

    orders:0    begin ├──step 1──┼──step 2──┼────·····────┤ end        each step has about `size` offsets in total, of
    orders:1    begin ├────1────┼────2────┼─·····─────────┤ end        each partition in proportion to the rest

    position    a subscription of the source: the start of the next step; committed together with a step
    end         another one: the end of the range, committed once

The broker has both, so a step depends only on committed state: any run, with any size, continues at the end of the last
committed step.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TopicPartition, check_subscription_name
from redis_ledger.spark.offset_options import Offsets
from redis_ledger.spark.plan import Range, batch_ends

BURST_S = 5  # records of a step, in seconds of the rate
STEP_OFFSETS = 500_000


class Names(NamedTuple):
    """position: also the name under which steps are counted."""

    position: str
    end: str


def names(name: str, source_id: str, target_id: str) -> Names:
    """Names of the job between these two topics; a topic that was created again is another one.  Raises
    InvalidRequest."""
    if not 1 <= len(name) <= 100:
        raise InvalidRequest(f"The name has {len(name)} characters; expected 1 to 100.")
    job = f"replay {name} {_digest([source_id, target_id])}"
    return Names(check_subscription_name(job), f"{job} end")


def derived_name(said: Mapping[str, object]) -> str:
    """The same for the same arguments.  said: the arguments that select what is replayed."""
    return _digest(said)


def _digest(subject: object) -> str:
    return hashlib.sha256(json.dumps(subject, sort_keys=True).encode()).hexdigest()[:8]


def named_offsets(topic: str, text: str) -> str:
    """Converts {"0": 12} to the option of the source, {"orders": {"0": 12}}, which is also accepted."""
    try:
        read = json.loads(text)
    except ValueError:
        return text  # the option reports the error
    is_short = isinstance(read, dict) and not any(isinstance(value, dict) for value in read.values())
    return json.dumps({topic: read}) if is_short else text


def left(position: Offsets, end: Offsets) -> int:
    """Returns the number of offsets still to replay."""
    return sum(max(0, end[partition] - position[partition]) for partition in end)


def following(position: Offsets, end: Offsets, size: int) -> Offsets:
    """Returns the end of the step that begins at `position`."""
    ranges = [Range(partition, at, max(at, end[partition])) for partition, at in sorted(position.items())]
    return batch_ends(ranges, size, None)


def all_named(offsets: Offsets, topic: str, partitions: int) -> str:
    """Returns the option of the source, which must have every partition: later partitions are not read."""
    places = {str(number): offsets.get(TopicPartition(topic, number), 0) for number in range(partitions)}
    return json.dumps({topic: places})


def step_size(asked: int | None, rate: int | None) -> int:
    if asked is not None:
        return asked
    return STEP_OFFSETS if rate is None else max(1, rate * BURST_S)


class Pace:
    """Limits records per second.  Does not catch up: a slow step does not make the next one earlier.
    rate None: no limit."""

    def __init__(self, rate: int | None, clock_s: Callable[[], float], sleep_s: Callable[[float], None]) -> None:
        self._rate, self._clock_s, self._sleep_s = rate, clock_s, sleep_s
        self._due_s = clock_s()

    def wait(self) -> None:
        """Waits until the next step may begin."""
        if (pause_s := self._due_s - self._clock_s()) > 0:
            self._sleep_s(pause_s)
        self._due_s = max(self._due_s, self._clock_s())

    def wrote(self, records: int) -> None:
        if self._rate is not None:
            self._due_s += records / self._rate
