"""Batches of the sidecar buffer: which of them belong to a reference in the log, page by page."""

from __future__ import annotations

from typing import Any, cast

import pytest

from redis_ledger.errors import LedgerError
from redis_ledger.ledger import sidecar
from redis_ledger.ledger.entries import SIDECAR, LogEntry
from redis_ledger.ledger.sidecar import Sidecar
from redis_ledger.store.keys import PartitionKeys
from tests.support.stored_names import SortedNames

SERIALS = (1, 10, 7, 70, 700)


def member(txn: str, before: int, entry: int) -> bytes:
    """A batch of two records."""
    return b"%s %012d -1 %d 2 20 0" % (txn.encode(), before, entry)


def reference(serial: int, base: int = 0, records: int = 6, coordinator: int = 3) -> LogEntry:
    return LogEntry(coordinator, serial, base, records, 60, 5, 0, 0, SIDECAR, 0, 0)


@pytest.fixture
def buffer() -> Sidecar:
    """Three batches of each transaction; entry numbers tell them apart."""
    txns = [
        (f"{coordinator}-{serial}", coordinator * 10_000 + serial * 10) for coordinator in (3, 33) for serial in SERIALS
    ]
    members = [member(txn, 2 * n, first + n) for txn, first in txns for n in range(3)]
    store = SortedNames(sidecar=[b"!A 3-1", *members, b""])
    return Sidecar(cast("Any", store), PartitionKeys("p", "orders", 0))


@pytest.mark.parametrize("serial", SERIALS)
async def test_a_reference_stands_for_the_batches_of_its_transaction_and_of_none_that_begins_alike(buffer, serial):
    found = await buffer.resolved([reference(serial, base=100)], 100, 1 << 20)
    assert [(each.base_offset, each.entry) for each in found] == [
        (100 + 2 * n, 30_000 + serial * 10 + n) for n in range(3)
    ]


@pytest.mark.parametrize("serial", SERIALS)
@pytest.mark.parametrize("offset", [102, 103])
async def test_a_read_begins_with_the_batch_that_has_the_offset(buffer, serial, offset):
    found = await buffer.resolved([reference(serial, base=100)], offset, 1 << 20)
    assert [each.base_offset for each in found] == [102, 104]
    assert found[0].entry == 30_000 + serial * 10 + 1


async def test_a_page_without_the_batch_is_damage(buffer):
    with pytest.raises(LedgerError, match="are missing in the sidecar buffer"):
        await buffer.resolved([reference(2)], 0, 1 << 20)


async def test_a_transaction_is_read_page_by_page(buffer, monkeypatch):
    monkeypatch.setattr(sidecar, "PAGE", 2)
    found = await buffer.within(reference(7, base=100), 100, 105)
    assert [each.entry for each in found] == [30_070, 30_071, 30_072]
