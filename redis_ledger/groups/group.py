"""A consumer group of any kind, as the coordinator drives it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from enum import Enum
from math import inf
from typing import Protocol

from redis_ledger.errors import LedgerError
from redis_ledger.groups.member import Changes, Tell
from redis_ledger.groups.ownership import Stored, Summary


class Group(Protocol):
    """One group of any kind; times in ms.  `check_commit` and `check_fetch` return the fence: what the commit
    carries, and what reading offsets raises in the partitions; they raise what OffsetCommit and OffsetFetch tell."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def state(self) -> Enum: ...  # whose value is what ListGroups tells
    @property
    def generation(self) -> int: ...
    @property
    def protocol_type(self) -> str: ...
    @property
    def wants_generation(self) -> bool: ...
    @property
    def due(self) -> float: ...
    @property
    def is_empty(self) -> bool: ...  # it has no members, so its offsets may go, and its kind change
    @property
    def is_idle(self) -> bool: ...  # and no member id waits to be used
    @property
    def size(self) -> int: ...
    def begin(self, generation: int, now: float) -> list[Tell]: ...
    def take_changes(self, *, everything: bool = False) -> Changes | None: ...
    def tick(self, now: float) -> list[Tell]: ...
    def put_off(self, ms: float) -> None: ...
    def die(self, error: LedgerError) -> list[Tell]: ...
    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, now: float, *, transactional: bool = False
    ) -> int: ...
    def check_fetch(self, member_id: str | None, member_epoch: int) -> int: ...


Maker = Callable[[str, Stored, Mapping[str, bytes], float], Group]  # name, what is stored, rows of members, time


class HeldGroup:
    """A group in the memory of its owner, and what drives it.

    is_excused  its deadlines have been put off, and the next time they count
    unsent      answers that wait until what they depend on is stored
    stored      generation, membership and number of members, as they were stored last
    is_lost     Redis has lost some of that
    """

    __slots__ = (
        "advancing", "group", "idle_since", "is_excused", "is_lost", "size", "stored", "storing", "timer", "timer_due",
        "unsent",
    )  # fmt: skip

    def __init__(self, group: Group, stored: Summary) -> None:
        self.group, self.stored = group, stored
        self.timer: asyncio.TimerHandle | None = None
        self.timer_due = inf
        self.advancing: asyncio.Task[None] | None = None
        self.storing: asyncio.Task[None] | None = None
        self.unsent: list[Tell] = []
        self.size = 0
        self.idle_since = inf
        self.is_excused = self.is_lost = False
