"""The protobuf of lua/include/txn_log.lua is that of proto/redis_ledger/v1/txn_log.proto."""

from __future__ import annotations

from pathlib import Path

import lupa
import pytest

from redis_ledger.proto.txn_log_pb2 import (
    TransactionLogEntry,
    TransactionLogOp,
    TransactionLogRecord,
    TransactionLogStatus,
)

INCLUDE = Path(__file__).resolve().parents[3] / "lua" / "include" / "txn_log.lua"


@pytest.fixture(scope="module")
def lua():
    runtime = lupa.LuaRuntime(encoding=None)
    source = (
        INCLUDE.read_text()
        + """
        return { new = NEW, add = ADD_PARTITION, update = UPDATE, head = log_head, states = log_states, varint = varint,
                 participant = log_participant, begin = log_begin, suffix = log_suffix }"""
    )
    return runtime.execute(source.encode())


def test_a_new_transaction_reads_back(lua):
    # Given what a begin logs
    rest = lua[b"begin"](60_000, 1_700_000_000_123, "Zoë".encode())
    rest += lua[b"suffix"](1_700_000_000_124, b"281474976710655")
    # When it is read
    record = TransactionLogRecord.FromString(lua[b"head"](lua[b"new"], b"17") + rest)
    # Then every field is in its place
    assert record == TransactionLogRecord(
        op=TransactionLogOp.NEW,
        serial="17",
        new_status=TransactionLogStatus.OPEN,
        timeout_ms=60_000,
        started_ms=1_700_000_000_123,
        time_ms=1_700_000_000_124,
        max_serial="281474976710655",
        owner="Zoë",
    )


@pytest.mark.parametrize(
    ("expected", "new", "names"),
    [
        (b"O", b"C", ("OPEN", "COMMITTING")),
        (b"C", b"D", ("COMMITTING", "COMMITTED")),
        (b"O", b"T", ("OPEN", "ABORTING")),
        (b"T", b"B", ("ABORTING", "ABORTED")),
        (b"A", b"B", ("ABORTING", "ABORTED")),
    ],
)
def test_a_change_of_status_reads_back(lua, expected, new, names):
    record = TransactionLogRecord.FromString(lua[b"head"](lua[b"update"], b"9") + lua[b"states"](expected, new))
    assert record.op == TransactionLogOp.UPDATE
    assert (TransactionLogStatus.Name(record.expected_status), TransactionLogStatus.Name(record.new_status)) == names


def test_participants_of_one_record_keep_their_order(lua):
    named = [b"orders/t1/0", b"orders/t1/1", b"audit/t2/0"]
    record = TransactionLogRecord.FromString(
        lua[b"head"](lua[b"add"], b"9") + b"".join(lua[b"participant"](n) for n in named)
    )
    assert record.op == TransactionLogOp.ADD_PARTITION
    assert [name.encode() for name in record.participants] == named


def test_a_bare_record_cannot_be_taken_for_a_batched_entry(lua):
    # Given a bare record and the entry it would be in
    bare = lua[b"head"](lua[b"new"], b"1") + lua[b"begin"](1, 1, b"-")
    entry = TransactionLogEntry(records=[TransactionLogRecord.FromString(bare)])
    # Then their first bytes differ from the magic 0x0E01, and the entry reads back
    assert bare[0] == 0x08
    assert TransactionLogEntry.FromString(entry.SerializeToString()).records[0].serial == "1"


@pytest.mark.parametrize("number", [0, 1, 127, 128, 16_383, 16_384, 2**31, 2**42, 2**53 - 1])
def test_numbers_survive_the_varint_of_lua(lua, number):
    assert TransactionLogRecord.FromString(b"\x40" + lua[b"varint"](number)).time_ms == number
