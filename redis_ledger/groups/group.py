"""The interface of consumer groups of any kind for the coordinator."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from enum import Enum
from math import inf
from typing import Protocol

from redis_ledger.errors import LedgerError
from redis_ledger.groups.member import Changes, Reply
from redis_ledger.groups.ownership import Stored, Summary


class Group(Protocol):
    """A group of any kind; times in ms.  `check_commit` and `check_fetch` return the fence for the partitions and raise
    the errors of OffsetCommit and OffsetFetch."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def state(self) -> Enum: ...  # its value is the state in ListGroups
    @property
    def generation(self) -> int: ...
    @property
    def protocol_type(self) -> str: ...
    @property
    def wants_generation(self) -> bool: ...
    @property
    def due(self) -> float: ...
    @property
    def is_empty(self) -> bool: ...  # no members: offsets may expire, and the kind may change
    @property
    def is_idle(self) -> bool: ...  # empty, and no member id is pending
    @property
    def size(self) -> int: ...
    def begin(self, generation: int, now: float) -> list[Reply]: ...
    def take_changes(self, *, everything: bool = False) -> Changes | None: ...
    def tick(self, now: float) -> list[Reply]: ...
    def put_off(self, ms: float) -> None: ...
    def die(self, error: LedgerError) -> list[Reply]: ...
    def check_commit(
        self, member_id: str, instance_id: str | None, generation: int, now: float, *, transactional: bool = False
    ) -> int: ...
    def check_fetch(self, member_id: str | None, member_epoch: int) -> int: ...


Maker = Callable[[str, Stored, Mapping[str, bytes], float], Group]  # name, stored state, member rows, time


class HeldGroup:
    """A group in the memory of its owner, with its timer and pending answers.

    is_excused  its deadlines have been extended once; the next ones count
    unsent      answers that wait until the changes they depend on are stored
    stored      generation, membership and number of members as last stored
    is_lost     Redis has lost part of the stored state
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
        self.unsent: list[Reply] = []
        self.size = 0
        self.idle_since = inf
        self.is_excused = self.is_lost = False
