"""The decoder of the transaction log: golden bytes, both formats, the live bitmap, unknown versions."""

from __future__ import annotations

import pytest

from redis_ledger.proto.txn_log_pb2 import (
    TransactionLogEntry,
    TransactionLogOp,
    TransactionLogRecord,
    TransactionLogStatus,
)
from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.store.store import Store
from redis_ledger.txn.log import (
    MAGIC,
    VERSION,
    LiveRecord,
    LoggedRecord,
    UnsupportedVersion,
    decode,
    live_records,
    logged_records,
    read,
)

# op NEW, serial "17", new status OPEN, timeout 60000, started 1700000000000, time the same, highest "42", owner "al"
NEW = bytes.fromhex("0801 1202 3137 2001 30e0d403 3880d095ffbc31 4080d095ffbc31 4a02 3432 5202 616c")
# op UPDATE, serial "17", OPEN to COMMITTING, time 1700000000000, highest serial "42"
UPDATE = bytes.fromhex("0804 1202 3137 1801 2002 4080d095ffbc31 4a02 3432")
BATCH = bytes.fromhex("0e01 0001") + b"\n" + bytes([len(NEW)]) + NEW + b"\n" + bytes([len(UPDATE)]) + UPDATE

NEW_RECORD = TransactionLogRecord(
    op=TransactionLogOp.NEW, serial="17", new_status=TransactionLogStatus.OPEN, timeout_ms=60_000,
    started_ms=1_700_000_000_000, time_ms=1_700_000_000_000, max_serial="42", owner="al",
)  # fmt: skip
UPDATE_RECORD = TransactionLogRecord(
    op=TransactionLogOp.UPDATE, serial="17", expected_status=TransactionLogStatus.OPEN,
    new_status=TransactionLogStatus.COMMITTING, time_ms=1_700_000_000_000, max_serial="42",
)  # fmt: skip


def bare(serial: str) -> bytes:
    return TransactionLogRecord(op=TransactionLogOp.NEW, serial=serial).SerializeToString()


def batch(*serials: str) -> bytes:
    records = [TransactionLogRecord(op=TransactionLogOp.NEW, serial=serial) for serial in serials]
    return MAGIC + VERSION + TransactionLogEntry(records=records).SerializeToString()


@pytest.mark.parametrize(
    ("data", "records"),
    [(NEW, [NEW_RECORD]), (UPDATE, [UPDATE_RECORD]), (BATCH, [NEW_RECORD, UPDATE_RECORD]), (MAGIC + VERSION, [])],
    ids=["bare new", "bare update", "batched", "empty batch"],
)
def test_golden_bytes_read_as_they_always_did(data, records):
    """BW-07"""
    assert decode(data) == records


@pytest.mark.parametrize("version", ["0002", "0000", "0100", "ffff"])
def test_an_unknown_version_is_refused_and_never_misread(version):
    """BW-07."""
    """BW-07"""
    with pytest.raises(UnsupportedVersion, match=str(int(version, 16))):
        decode(MAGIC + bytes.fromhex(version) + BATCH[4:])


def test_an_entry_cut_short_is_of_no_version():
    with pytest.raises(UnsupportedVersion):
        decode(MAGIC)


def test_the_bitmap_decides_what_is_alive():
    """BW-10."""
    """BW-10"""
    entries = [(b"1-1", {b"r": batch("a", "b", "c", "d")}), (b"2-1", {b"r": bare("e")}), (b"3-1", {b"r": bare("f")})]
    found = live_records(entries, {b"1": b"0101", b"2": b"0", b"3": b"1", b"": b""})
    assert [(p.entry, p.position, p.record.serial) for p in found] == [(1, 1, "b"), (1, 3, "d"), (3, 0, "f")]


def test_an_entry_without_a_bitmap_is_dead():
    assert list(live_records([(b"1-1", [b"r", bare("a")])], {})) == []


async def test_a_log_of_several_pages_is_read_once_and_in_order(redis_url, prefix):
    # Given more entries than one page, of both formats, some of them dead
    store = await Store.open(redis_url, prefix=prefix)
    keys = CoordinatorKeys(prefix, 3)
    calls = []
    for n in range(1, 1203):
        data = batch(f"{n}a", f"{n}b") if n % 2 else bare(str(n))
        calls.append(store.command("XADD", keys.log, f"{n}-1", "r", data, key=keys.state))
        calls.append(store.command("HSET", keys.live, n, "01" if n % 2 else "1", key=keys.state))
    for call in calls:
        await call
    # When it is read
    found: list[LiveRecord] = [placed async for placed in read(store, keys)]
    await store.close()
    # Then every living record comes once, in order
    assert [p.entry for p in found] == list(range(1, 1203))
    assert [p.record.serial for p in found[:3]] == ["1b", "2", "3b"]


def test_all_records_of_an_entry_are_shown_with_the_dead_ones():
    shown = logged_records(5, BATCH, b"01")
    assert shown == [LoggedRecord(5, 0, 2, False, NEW_RECORD), LoggedRecord(5, 1, 2, True, UPDATE_RECORD)]
    assert logged_records(6, NEW, b"") == [LoggedRecord(6, 0, 1, False, NEW_RECORD)]


def test_an_entry_of_a_newer_release_is_shown_as_one_record_without_content():
    assert logged_records(5, MAGIC + b"\x00\x02future", b"010") == [LoggedRecord(5, 0, 3, True, None)]
