"""cursor/extend, and leases that are reserved: a delivery counts from the hand-out (docs/decisions/0054)."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import ACK_TIMEOUT, NOW, SESSION, Subscription
from tests.support.fake_log import FakeLog
from tests.support.key_shared import KeySharedSubscription

KINDS = ("shared", "exclusive", "failover", "key_shared")
RESERVED = "~r.0"


@pytest.fixture
def log(client, prefix):
    log = FakeLog(client, prefix)
    log.append(6)
    return log


def subscription(log: FakeLog, kind: str) -> Subscription:
    if kind == "key_shared":
        return KeySharedSubscription(log, {offset: f"k{offset}" for offset in range(6)})
    return Subscription(log, kind=kind)


def extended(reply: list[Any]) -> list[int]:
    assert reply[0] == Status.OK
    return [offset for i in range(2, len(reply), 2) for offset in range(reply[i], reply[i + 1] + 1)]


def received(sub: Subscription, consumer: str = "c1", **more: Any) -> dict[int, int]:
    """Offset → how often it was delivered before.  An owner names nothing that it has."""
    if sub.kind != "key_shared":
        more["unseen"] = False
    return sub.receive(consumer, **more).offsets


@pytest.fixture(params=KINDS)
def sub(log, request):
    return subscription(log, request.param)


def test_a_reserved_lease_that_expires_does_not_count(sub):
    assert set(received(sub, request=RESERVED).values()) == {0}
    sub.now += ACK_TIMEOUT
    assert set(received(sub, most=3, request=RESERVED).values()) == {0}
    sub.now += ACK_TIMEOUT
    assert set(received(sub).values()) == {0}
    sub.now += ACK_TIMEOUT
    assert set(received(sub).values()) == {1}


def test_a_reserved_lease_that_is_extended_counts_and_lasts_from_then_on(sub):
    sub.receive(request=RESERVED)
    sub.now += 20_000
    assert sorted(extended(sub.extend([1, 2]))) == [1, 2]
    assert {o: d for o, (_, _, d) in sub.content().leases.items()} == {
        o: NOW + ACK_TIMEOUT + (20_000 if o in (1, 2) else 0) for o in range(6)
    }
    sub.now = NOW + ACK_TIMEOUT
    if sub.kind in ("shared", "key_shared"):
        assert received(sub, "c2" if sub.kind == "shared" else "c1") == dict.fromkeys((0, 3, 4, 5), 0)
    sub.now += ACK_TIMEOUT + 20_000
    again = received(sub)
    assert (again[1], again[2]) == (1, 1)


def test_a_return_of_all_counts_what_was_extended_and_a_return_by_name_what_it_names(sub):
    sub.receive(request=RESERVED)
    sub.extend([0])
    sub.nack([1])
    assert sub.nack() == [Status.OK, 5]
    assert received(sub) == {0: 1, 1: 1, 2: 0, 3: 0, 4: 0, 5: 0}


def test_a_lease_becomes_no_shorter_and_others_leases_are_left_alone(sub):
    sub.receive()
    assert sorted(extended(sub.extend([0, 1, 9], wait=5_000))) == [0, 1]
    assert sorted(extended(sub.extend([0, 1, 2], "c2"))) == []
    assert {d for _, _, d in sub.content().leases.values() if d} == {NOW + ACK_TIMEOUT}
    sub.ack([0])
    sub.nack([1])
    assert extended(sub.extend([0, 1, 2])) == [2]


def test_all_leases_of_a_consumer_are_extended_in_bounded_calls_and_reserved_ones_stay_so(sub):
    sub.receive(request=RESERVED)
    sub.extend([0, 1, 2])
    sub.now += 10_000
    first, found = 0, list[int]()
    while True:
        reply = sub.extend(None, most=2, first=first)
        found += extended(reply)
        if reply[1] == -2:
            break
        first = reply[1] + 1
    assert sorted(found) == list(range(6))
    assert {d for _, _, d in sub.content().leases.values()} == {sub.now + ACK_TIMEOUT}
    sub.now += ACK_TIMEOUT
    assert received(sub) == {0: 1, 1: 1, 2: 1, 3: 0, 4: 0, 5: 0}


def test_the_wait_of_a_redelivery_rule_is_part_of_an_extended_lease(sub):
    sub.receive()
    sub.extend([0], wait="30000 1000 2 60000")
    assert sub.content().leases[0][2] == NOW + 31_000


def test_a_repeated_request_takes_over_reserved_leases_and_they_stay_reserved(sub):
    sub.receive(request="~r.0")
    assert set(received(sub, request="~r.1", again=1)) == set(range(6))
    assert received(sub, request="~r.0") == {}
    sub.now += ACK_TIMEOUT
    assert set(received(sub).values()) == {0}


def test_an_abort_of_an_acknowledgement_counts_the_delivery(sub):
    sub.receive(request=RESERVED)
    sub.hold("0-1", [0])
    assert 0 not in extended(sub.extend([0, 1]))
    sub.settle("0-1", commit=False)
    assert received(sub).get(0) == 1


def test_a_seek_leaves_nothing_to_extend(sub):
    sub.receive(request=RESERVED)
    sub.seek(3)
    assert extended(sub.extend([0, 4])) == []


def test_an_extension_renews_the_session_of_a_consumer_without_owner(log):
    sub = KeySharedSubscription(log, {})
    sub.receive()
    sub.now += SESSION - 1
    sub.extend([0])
    sub.now += 2
    sub.receive("c2")
    assert set(sub.slots()) == {"c1", "c2"}


def test_records_behind_a_returned_one_of_their_key_keep_their_count_if_they_are_reserved(log):
    sub = KeySharedSubscription(log, dict.fromkeys(range(6), "a"))
    sub.receive(most=2)
    sub.receive(request=RESERVED)
    sub.nack([0])
    assert received(sub) == {0: 1, 1: 1, 2: 0, 3: 0, 4: 0, 5: 0}


def test_leases_of_one_extension_are_stored_as_one(log):
    sub = subscription(log, "shared")
    for _ in range(6):
        sub.receive(most=1)
    sub.now += 1
    sub.extend(range(6))
    assert sorted(int(each) for each in log.client.hkeys(sub.keys.leases) if each) == [0]


def test_a_topic_or_subscription_that_is_gone_is_refused(log):
    sub = subscription(log, "shared")
    sub.delete()
    assert sub.extend([0]) == [Status.UNKNOWN_SUB]
