"""Coordinators: participants that are not in the row of their transaction are read page by page."""

from __future__ import annotations

from typing import Any, cast

import pytest

from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.ids import TxnId
from redis_ledger.store.group_commit import Turnstile
from redis_ledger.txn import coordinator
from redis_ledger.txn.coordinator import Coordinators, Decision
from redis_ledger.txn.states import TxnState
from tests.support.stored_names import SortedNames

SERIALS = (7, 70, 700, 8)


class Store(SortedNames):
    async def call(self, *args: Any, **more: Any) -> list[int]:
        return [0]

    async def write_allow_oom(self, *args: Any, **more: Any) -> None: ...

    def turnstile(self, key: bytes) -> Turnstile:
        return Turnstile(1)


@pytest.fixture
async def store() -> Store:
    """Five participants of each transaction: partitions from ten times its serial on."""
    members = [f"{serial} orders/id/{10 * serial + n}".encode() for serial in SERIALS for n in range(5)]
    return Store(wide=[b"", *members])


@pytest.fixture
async def coordinators(store: Store) -> Coordinators:
    made = Coordinators(cast("Any", store), "b1", Config(coordinators=1, one_call_transactions=False), ManualClock())
    await made.refresh()
    return made


@pytest.mark.parametrize("page", [100, 5, 3, 1])
@pytest.mark.parametrize("serial", SERIALS)
async def test_a_decision_has_its_participants_and_none_of_a_transaction_whose_serial_begins_alike(
    coordinators, store, monkeypatch, serial, page
):
    monkeypatch.setattr(coordinator, "READ_AT_ONCE", page)
    decided = Decision.decode(TxnId(0, serial), ["C", "", "orders/id/1 +"], -1)
    assert decided.has_more
    whole = await coordinators.whole(decided)
    assert [each.partition for each in whole.participants] == [1, *range(10 * serial, 10 * serial + 5)]
    assert not whole.has_more
    assert max(store.ranges) <= page


async def test_a_decision_that_is_whole_reads_nothing(coordinators, store):
    decided = Decision(TxnId(0, 7), TxnState.COMMITTING, [], -1)
    assert await coordinators.whole(decided) == decided
    assert store.ranges == []
