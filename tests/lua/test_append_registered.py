"""lua/ledger/append: a batch whose transaction is known from the stored reply to its registration."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.msgpack import encode

from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import Ledger

CALLS = b"calls"
PID = 77


def append(ledger: Ledger, calls: bytes, where: str) -> Any:
    return ledger.append(pid=PID, sequence=0, txn=(3, "?"), verified=f"10:{where}", owner="t", further=[calls])


@pytest.fixture
def calls(ledger: Ledger) -> bytes:
    """The replies of a coordinator to two brokers: an OK with serial 41, and a refusal; and an OK with 42."""
    key = ledger.keys.state + CALLS
    rows = {
        "b:1": b"7 40 43\n" + encode([[0, "41"], [-6, "9"]]),
        "b:2": b"9  43\n" + encode([[0, "42"]]),
    }
    ledger.client.hset(key, mapping=rows)
    return key


@pytest.mark.parametrize(("where", "serial"), [("7:1:b:1", "41"), ("9:1:b:2", "42")])
def test_the_batch_joins_the_transaction_of_the_reply(ledger, calls, where, serial):
    assert append(ledger, calls, where)[:2] == [Status.OK, "0"]
    assert ledger.client.hget(ledger.keys.open, str(PID)) == f"0 3 {serial} 0".encode()
    (entry,) = ledger.log()
    assert entry.flags == 1


@pytest.mark.parametrize(
    "where",
    [
        "7:2:b:1",  # refused
        "7:3:b:1",  # no such operation
        "6:1:b:1",  # not the newest call
        "8:1:b:1",
        "7:1:b:2",  # of another broker
        "7:1:b:3",  # which has not called
    ],
)
def test_what_is_not_registered_is_not_written(ledger, calls, where):
    before = ledger.client.xlen(ledger.keys.log)
    assert append(ledger, calls, where) == [Status.NOT_VERIFIED]
    assert (ledger.client.xlen(ledger.keys.log), ledger.client.xlen(ledger.keys.data(1))) == (before, 0)
    assert ledger.client.hget(ledger.keys.open, str(PID)) is None


def test_an_open_transaction_of_the_producer_is_named(ledger, calls):
    ledger.append(pid=PID, sequence=0, txn=(3, "40"), owner="t")
    refused = ledger.append(pid=PID, sequence=1, txn=(3, "?"), verified="10:7:1:b:1", owner="t", further=[calls])
    assert refused == [Status.OTHER_OPEN, "3", "40"]
