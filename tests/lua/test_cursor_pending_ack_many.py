"""lua/cursor/pending_ack_many: simple acknowledgements of several transactions in one call, or nothing."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.fake_log import TOPIC_ID

OK, STALE = Status.OK, Status.STALE


def hold_many(sub, *holds, topic_id=TOPIC_ID):
    """holds: consumer, transaction, first and last offset; by offset."""
    p, acks, ranges = sub.log.keys, [], []
    for number, (consumer, txn, first, last) in enumerate(holds, 1):
        acks += [consumer, *txn.split("-"), last - first + 1]
        ranges += [first, last, number]
    keys = (p.state, p.ended, p.watermarks, *sub.keys.all())
    return sub.run("cursor/pending_ack_many", keys, topic_id, sub.now, len(holds), *acks, *ranges)


def pending(sub):
    held: dict[str, list[int]] = {}
    for offset, (txn, _) in sorted(sub.content().pending.items()):
        held.setdefault(txn, []).append(offset)
    return held


def test_each_transaction_holds_its_offsets(sub):
    assert hold_many(sub, ("c1", "0-9", 0, 1), ("c1", "0-10", 2, 2), ("c1", "1-9", 5, 7)) == [OK, 0]
    assert pending(sub) == {"0-9": [0, 1], "0-10": [2], "1-9": [5, 6, 7]}
    sub.settle("0-9", commit=True)
    assert pending(sub) == {"0-10": [2], "1-9": [5, 6, 7]}


@pytest.mark.parametrize(
    "other",
    [("c2", "0-2", 3, 3), ("c1", "0-1", 3, 3), ("c1", "0-3", 3, 3), ("c1", "0-2", 4, 5), ("c1", "0-2", 9, 10)],
    ids=["of another consumer", "holds already", "has ended", "is acknowledged", "was not delivered"],
)
def test_if_one_is_not_simple_nothing_changes(sub, other):
    sub.hold("0-1", [0])
    sub.ack([5])
    sub.log.client.zadd(sub.log.keys.ended, {"0-3": 1})
    before = sub.content()
    assert hold_many(sub, ("c1", "0-20", 1, 2), other) == [STALE]
    assert sub.content() == before


def test_serials_of_any_length_are_compared_with_the_watermark(sub):
    sub.log.client.hset(sub.log.keys.watermarks, mapping={"0": 10, "1": 9, "2": 99})
    for txn in ("0-9", "0-10", "1-9", "2-98"):
        assert hold_many(sub, ("c1", txn, 0, 0), ("c1", "3-1", 1, 1)) == [STALE]
    assert hold_many(sub, ("c1", "0-11", 0, 0), ("c1", "1-10", 1, 1), ("c1", "2-100", 2, 2)) == [OK, 0]


def test_a_topic_that_was_created_again_is_left_alone(sub):
    assert hold_many(sub, ("c1", "0-1", 0, 0), topic_id="another") == [Status.UNKNOWN_TOPIC]
    assert pending(sub) == {}
