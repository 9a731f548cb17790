"""lua/include/cursor: the writes of receive and ack, and the time of the next receive."""

from __future__ import annotations

import pytest

from tests.support.cursor_scripts import ACK_TIMEOUT, Subscription


@pytest.fixture
def sub(log):
    return Subscription(log)


def test_receive_returns_the_first_lease_deadline(log, sub):
    log.append(3)
    assert sub.receive(most=1).next_due == sub.now + ACK_TIMEOUT
    sub.now += 10
    assert sub.receive(most=1).next_due == sub.now - 10 + ACK_TIMEOUT
    assert sub.receive(most=1).next_due == sub.now - 10 + ACK_TIMEOUT
    assert sub.receive().next_due == sub.now - 10 + ACK_TIMEOUT
    # When the first one has run out and is delivered again
    sub.now += ACK_TIMEOUT - 10
    assert list(sub.receive().offsets) == [0]
    assert sub.receive().next_due == sub.now + 10
    # And when all are acknowledged
    sub.ack([0, 1, 2])
    assert sub.receive().next_due == -1


def test_a_lease_of_a_broker_whose_clock_is_behind_runs_out_first(log, sub):
    log.append(2)
    sub.receive(most=1)
    sub.now -= 500
    assert sub.receive(most=1).next_due == sub.now + ACK_TIMEOUT


def test_fields_of_a_cursor_that_do_not_change_are_not_written(log, sub):
    log.append(2)
    log.client.hset(sub.keys.cursor, mapping={"taken": "00", "redelivered": "00"})
    sub.receive(most=1)
    sub.ack([0])
    stored = log.client.hgetall(sub.keys.cursor)
    assert (stored[b"taken"], stored[b"redelivered"]) == (b"00", b"00")
    assert (stored[b"mark"], stored[b"read"], stored[b"leased"], stored[b"delivered"]) == (b"1", b"1", b"0", b"1")
