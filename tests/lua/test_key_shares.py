"""lua/cursor/key_shares: how the consumers of a key_shared subscription share its slots (docs/decisions/0046)."""

from __future__ import annotations

import pytest
from redis.exceptions import ResponseError

from redis_ledger.cursor import slot_queues
from redis_ledger.cursor.key_shared import hash_of
from redis_ledger.cursor.key_shares import KeyShare, total
from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import NOW, SESSION, Subscription
from tests.support.fake_log import TOPIC_ID
from tests.support.key_shared import KeySharedSubscription

NAMES = [f"k{n}" for n in range(10)]


@pytest.fixture
def keyed(log):
    """Two consumers and a record of each key."""
    keys: dict[int, str] = {}
    sub = KeySharedSubscription(log, keys)
    for consumer in ("c1", "c2"):
        sub.receive(consumer)
    for name in NAMES:
        keys[log.append()] = name
    return sub


def reply_of(sub, first=0, most=4_000):
    return sub.run("cursor/key_shares", (sub.log.keys.state, *sub.keys.all()), TOPIC_ID, first, most)


def shares(sub, first=0, most=4_000, reached=256):
    """consumer → slots, unacked, waiting, returned, end of its session."""
    status, following, *values = reply_of(sub, first, most)
    assert (status, following) == (Status.OK, reached)
    return {values[at]: tuple(values[at + 1 : at + 6]) for at in range(0, len(values), 6)}


def test_what_waits_is_counted_where_its_slot_is(keyed):
    assert shares(keyed) == {"c1": (128, 0, 0, 0, NOW + SESSION), "c2": (128, 0, 0, 0, NOW + SESSION)}
    # When c1 has read all records: those of c2 wait, and no consumer has got them yet
    own = sorted(keyed.receive("c1").offsets)
    others = len(NAMES) - len(own)
    assert (keyed.stats()["waiting"], keyed.stats()["leased"]) == (others, len(own))
    assert shares(keyed)["c1"][:4] == (128, len(own), 0, 0)
    assert shares(keyed)["c2"][:4] == (128, 0, others, 0)
    # When c2 gets them, and returns one, which waits again: this time as returned
    got = sorted(keyed.receive("c2").offsets)
    keyed.nack(got[:1], "c2", delay=5)
    assert shares(keyed)["c2"][:4] == (128, others - 1, 1, 1)
    assert keyed.stats()["waiting"] == 1
    # Then it is with a consumer again
    keyed.now += 5
    assert keyed.receive("c2").offsets == {got[0]: 1}
    assert shares(keyed)["c2"][:4] == (128, others, 0, 0)
    assert keyed.stats()["waiting"] == 0


def test_what_was_returned_unseen_waits_but_was_not_delivered(keyed):
    got = keyed.receive("c1").offsets
    keyed.nack(sorted(got), "c1", unseen=True)
    assert shares(keyed)["c1"][:4] == (128, 0, len(got), 0)


def test_the_slots_of_a_consumer_that_has_left_go_to_the_others(keyed):
    got = sorted(keyed.receive("c2").offsets)
    keyed.leave("c2")
    # Given no receive since: it has its slots, and no session
    assert shares(keyed)["c2"] == (128, len(got), 0, 0, 0)
    keyed.receive("c1")
    # Then c1 has all slots, and c2 is shown as long as it has records
    assert [shares(keyed)[name][:2] for name in ("c1", "c2")] == [(256, len(NAMES) - len(got)), (0, len(got))]
    keyed.ack(got, "c2")
    assert list(shares(keyed)) == ["c1"]


def test_records_that_a_transaction_holds_do_not_wait(keyed):
    got = sorted(keyed.receive("c1").offsets)
    keyed.hold("1-5", got, "c1")
    assert shares(keyed)["c1"][:4] == (128, len(got), 0, 0)
    keyed.settle("1-5", commit=False)
    assert shares(keyed)["c1"][:4] == (128, 0, len(got), len(got))


@pytest.mark.parametrize("damage", [b"\xff", b"", lambda text: text[:-1], lambda text: text + b"x"])
def test_a_damaged_queue_is_named(keyed, damage):
    keyed.receive("c1")
    slot = hash_of(NAMES[0].encode(), 0)[-1]
    field = f"s{slot}"
    text = keyed.log.client.hget(keyed.keys.leases, field)
    assert slot_queues.is_readable(field.encode(), text)
    keyed.log.client.hset(keyed.keys.leases, field, damage(text) if callable(damage) else damage)
    with pytest.raises(ResponseError, match=f"^DAMAGED The queue of hash slot {slot} of the subscription( script|$)"):
        reply_of(keyed)


def test_a_call_ends_after_so_many_grants_and_the_next_one_goes_on(keyed):
    got = sorted(keyed.receive("c1").offsets)
    keyed.nack(got, "c1")
    whole = shares(keyed)
    at, found = 0, []
    while at < 256:
        _, following, *_ = reply_of(keyed, at, 1)
        found.append(shares(keyed, at, 1, following))
        assert following == 256 or following > at
        at = following
    assert len(found) == 256
    for name, row in whole.items():
        assert tuple(sum(page[name][n] for page in found) for n in range(4)) == row[:4]


def test_a_subscription_of_another_kind_has_no_slots(log):
    assert reply_of(Subscription(log)) == [Status.WRONG_KIND, "shared"]


def test_shares_of_partitions_are_added_by_consumer():
    some = [KeyShare("a", 128, 1, 2, 1, 50), KeyShare("b", 128, 0, 0, 0, 70), KeyShare("a", 256, 1, 3, 0, 40)]
    assert total(some) == [KeyShare("a", 384, 2, 5, 1, 50), KeyShare("b", 128, 0, 0, 0, 70)]
