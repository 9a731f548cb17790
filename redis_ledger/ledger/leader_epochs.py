"""The history of a partition's leader epochs. An epoch begins when a broker finds that Redis has lost records.

    epoch 0   0 ........ 42                         the log ended at 42; 42 to 99 were answered, and are lost
    epoch 1                    100 + gap ........   continues above all that was answered

    state field `epochs`   "epoch:first offset:end of the log before it:remembered end:time" for each epoch above 0

A client asks where the last epoch that it read ends (OffsetForLeaderEpoch). An answer below its own position tells it
that records it has read are lost. Pure.
Source: KIP-101, KIP-320; lua/ledger/takeover.lua.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

GAP = 1 << 20  # offsets between the remembered end and the new epoch; docs/decisions/0028
ITEMS_MAX = 32  # of the stored history


class EpochStart(NamedTuple):
    """The beginning of a leader epoch. ended_at: the end of the log before it; answered: the remembered end."""

    epoch: int
    first_offset: int
    ended_at: int
    answered: int
    at_ms: int


class EpochEnd(NamedTuple):
    epoch: int
    end_offset: int


UNDEFINED = EpochEnd(-1, -1)


class Comparison(NamedTuple):
    """The stored end of a partition against the remembered one.

    lost_from    first offset that is lost, or -1
    takes_over   the log has to continue above the remembered end
    """

    lost_from: int
    takes_over: bool


INTACT = Comparison(-1, False)


@lru_cache(maxsize=1024)
def parse_epochs(text: str) -> tuple[EpochStart, ...]:
    """text: the state field `epochs`; "" without one."""
    return tuple(EpochStart._make(map(int, item.split(":"))) for item in text.split())


def epoch_at(starts: Sequence[EpochStart], offset: int) -> int:
    """The leader epoch in which the offset was assigned."""
    for start in reversed(starts):
        if start.first_offset <= offset:
            return start.epoch
    return 0


def end_of_epoch(starts: Sequence[EpochStart], asked: int, current: EpochEnd) -> EpochEnd:
    """The highest epoch up to `asked`, and where it ends; UNDEFINED for one that has not begun.
    current: the current epoch and the end offset."""
    if asked >= current.epoch or asked < 0 or not starts:
        return current if asked == current.epoch else UNDEFINED
    before = 0
    for start in starts:
        if start.epoch > asked:
            return EpochEnd(min(before, asked), start.ended_at)
        before = start.epoch
    return UNDEFINED


def compare(starts: Sequence[EpochStart], remembered: EpochEnd, stored: EpochEnd) -> Comparison:
    """Decides what ledger/takeover decides."""
    ended, following = stored.end_offset, -1
    for start in starts:
        if start.epoch > remembered.epoch:
            ended, following = start.ended_at, start.first_offset
            break
    lost_from = ended if ended < remembered.end_offset else -1
    if remembered.epoch > stored.epoch:
        return Comparison(lost_from, True)
    if lost_from < 0:
        return INTACT
    return Comparison(lost_from, following < remembered.end_offset)
