"""Any history of a Kafka group's offset on a partition, against a model that keeps every write.

The model has no write numbers: the last write in its list that has taken effect counts.
"""

from __future__ import annotations

from itertools import count
from typing import Any

import redis
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from redis_ledger.store.script_status import Status
from tests.support.examples import examples
from tests.support.group_offset_scripts import Group
from tests.support.ledger_scripts import Ledger

TXNS = [(0, 5), (0, 6), (32, 2**53), (32, 2**53 + 1)]  # the last two are one double


class Model:
    def __init__(self) -> None:
        self.writes: list[list[Any]] = []  # [offset, transaction or None when it has taken effect]
        self.ended: set[tuple[int, int]] = set()
        self.fence = -1
        self.is_there = False
        self.seen = 0

    @property
    def offset(self) -> int:
        return next((offset for offset, txn in reversed(self.writes) if txn is None), -1)

    @property
    def pending(self) -> set[tuple[int, int]]:
        return {txn for _, txn in self.writes if txn is not None}

    def commit(self, offset: int, generation: int, txn: tuple[int, int] | None, now: int) -> Status:
        if 0 <= generation < self.fence:
            return Status.FENCED
        if txn in self.ended:
            return Status.TXN_ENDED
        if txn is not None:
            self.writes = [write for write in self.writes if write[1] != txn]
        self.writes.append([offset, txn])
        self.fence, self.is_there, self.seen = max(self.fence, generation), True, now
        return Status.OK

    def end(self, txn: tuple[int, int], commit: bool) -> None:
        self.ended.add(txn)
        self.writes = [write for write in self.writes if commit or write[1] != txn]
        for write in self.writes:
            if write[1] == txn:
                write[1] = None

    def fetch(self, generation: int, make: bool, now: int) -> None:
        if generation >= 0 or (make and not self.is_there):
            self.seen = now
        self.is_there = self.is_there or make or generation >= 0
        self.fence = max(self.fence, generation)

    def forget(self, what: str, when: str, before: int) -> None:
        keeps = {"always": False, "empty": self.offset != -1, "idle": self.seen >= before}[when]
        if not self.is_there or (when != "always" and self.pending) or keeps:
            return
        self.writes = []
        if what == "register":
            self.fence, self.is_there = -1, False


def step(name: str, *args: Any) -> Any:
    return st.tuples(st.just(name), *args)


generations = st.sampled_from([-1, -1, 0, 1, 2, 3])
steps = st.one_of(
    step("commit", st.integers(0, 9), generations, st.just(None)),
    step("commit", st.integers(0, 9), generations, st.sampled_from(TXNS)),
    step("commit", st.integers(0, 9), st.just(-1), st.sampled_from(TXNS)),
    step("end", st.sampled_from(TXNS), st.booleans()),
    step("fetch", generations, st.booleans()),
    step("forget", st.sampled_from(["offset", "register"]), st.sampled_from(["always", "empty", "idle", "idle"])),
    step("wait"),
)


class Run:
    def __init__(self, client: Any, prefix: str) -> None:
        self.ledger, self.model = Ledger(client, prefix), Model()
        self.ledger.create()
        self.ledger.append(5)
        self.group = Group(self.ledger)

    def step(self, name: str, *args: Any) -> None:
        event(name)
        getattr(self, name)(*args)
        model, held = self.model, self.group.held()
        assert bool(held) is model.is_there
        assert self.group.offset == model.offset
        assert self.group.pending == {f"{c}-{s}" for c, s in model.pending}
        if held:
            assert int(held["cursor"][b"fence"]) == model.fence
            stats = self.group.stats()
            assert (stats["mark"], stats["held"]) == (str(model.offset), len(model.pending))
            assert stats["backlog"] == (0 if model.offset < 0 else max(5 - model.offset, 0))

    def commit(self, offset: int, generation: int, txn: tuple[int, int] | None) -> None:
        name = "-" if txn is None else f"{txn[0]}-{txn[1]}"
        expected = self.model.commit(offset, generation, txn, self.group.now)
        assert self.group.commit(offset, generation=generation, txn=name)[0] == expected

    def end(self, txn: tuple[int, int], commit: bool) -> None:
        if txn not in self.model.ended:  # a decision is never contradicted, but it may be carried twice
            self.model.end(txn, commit)
            self.ledger.end(*[{"txn": txn, "commit": commit, "subs": ["g"]}] * 2)

    def fetch(self, generation: int, make: bool) -> None:
        self.model.fetch(generation, make, self.group.now)
        assert self.group.fetch(generation, make=make)[0] == Status.OK

    def forget(self, what: str, when: str) -> None:
        before = self.group.now - 1500
        self.model.forget(what, when, before)
        assert self.group.forget(what, when, before) == [Status.OK, int(self.model.is_there)]

    def wait(self) -> None:
        self.group.now += 1000


def test_any_history_leaves_the_offset_that_the_model_has(redis_url, prefix):
    numbers = count()

    @settings(max_examples=examples(200), suppress_health_check=list(HealthCheck))
    @given(st.lists(steps, min_size=10, max_size=40))
    def check(history: list[tuple[Any, ...]]) -> None:
        run = Run(client, f"{prefix}-{next(numbers)}")
        for each in history:
            run.step(*each)

    with redis.Redis.from_url(redis_url) as client:
        check()
