"""A receive without an answer is sent again: lua/include/lost_response, cursor/receive, receive_key_shared and nack
(docs/decisions/0052)."""

from __future__ import annotations

import pytest

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import ACK_TIMEOUT, Subscription
from tests.support.key_shared import KeySharedSubscription

KINDS = ["shared", "key_shared"]


@pytest.fixture(params=KINDS)
def sub(request, log):
    """Nine records of one key."""
    log.append(9)
    if request.param == "key_shared":
        return KeySharedSubscription(log, dict.fromkeys(range(9), "k"))
    return Subscription(log, kind="shared")


def leased(sub, request):
    return list(sub.receive("c1", 3, request=request).offsets)


def test_a_further_attempt_takes_over_all_that_the_earlier_ones_have_leased(sub):
    assert leased(sub, "r.0") == [0, 1, 2]
    sub.now += 10
    # Even if it asks for none, as on a partition that had more than its share before
    assert sub.receive("c1", 0, request="r.1", again=1).offsets == {0: 0, 1: 0, 2: 0}
    assert sub.content().leases[0] == ("c1", 0, sub.now + ACK_TIMEOUT)
    sub.now += 10
    sub.ack([0])
    assert sub.receive("c1", 4, request="r.2", again=1).offsets == {1: 0, 2: 0, 3: 0, 4: 0}
    # And not what is of another request, or of another consumer
    for request in ("s.1", "rr.1", "r1.1", "R.1"):
        assert sub.receive("c1", 0, request=request, again=1).offsets == {}
    assert sub.receive("c2", 0, request="r.3", again=1).offsets == {}


def test_a_further_attempt_says_when_the_leases_that_it_took_over_end(sub):
    leased(sub, "r.0")
    sub.now += 10
    assert sub.receive("c1", 0, request="r.1", again=1).next_due == sub.now + ACK_TIMEOUT


@pytest.mark.parametrize("kind", [*KINDS, "exclusive", "failover"])
def test_what_no_attempt_has_delivered_does_not_count_though_its_time_is_over(log, kind):
    log.append(4)
    keys = dict.fromkeys(range(4), "k")
    sub = KeySharedSubscription(log, keys) if kind == "key_shared" else Subscription(log, kind=kind)
    sub.receive("c1", 1)
    more = {"after": 0} if kind in ("exclusive", "failover") else {}
    assert list(sub.receive("c1", 2, request="r.0", **more).offsets) == [1, 2]
    sub.now += ACK_TIMEOUT
    assert sub.receive("c1", 4, request="r.1", again=1, **more).offsets == {0: 1, 1: 0, 2: 0, 3: 0}


def test_an_earlier_record_of_the_key_whose_time_is_over_comes_before_what_the_request_had(log):
    log.append(2)
    sub = KeySharedSubscription(log, {0: "k", 1: "k"})
    assert list(sub.receive("c1", 1).offsets) == [0]
    sub.now += ACK_TIMEOUT - 10
    assert list(sub.receive("c1", 1, request="r.0").offsets) == [1]
    sub.now += 10
    assert list(sub.receive("c1", 5, request="r.1", again=1).offsets.items()) == [(0, 1), (1, 0)]
    sub.checked()


@pytest.mark.parametrize("has_leased", [True, False])
def test_an_attempt_that_was_taken_over_leases_no_more(sub, has_leased):
    """Such as one whose connection is broken, and that its broker does not know of yet."""
    first = leased(sub, "r.2") if has_leased else []
    assert list(sub.receive("c1", 0, request="r.10", again=1).offsets) == first
    reply = sub.receive_raw("c1", 5, request="r.2")
    assert (reply[0], reply[4], reply[6:]) == (Status.OK, 0, [])
    assert sub.receive_raw("c1", 5, request="r.9", again=1)[6:] == []
    # Others do: the attempt itself, a later one, another request, another consumer of a request of that name
    for consumer, request in (("c1", "r.10"), ("c1", "r.11"), ("c1", "s.0")):
        assert len(sub.receive(consumer, 1, request=request).offsets) == 1
    assert sub.receive_raw("c2", 1, request="r.1")[0] == Status.OK
    if sub.kind == "shared":
        assert len(sub.receive("c2", 1, request="r.1").offsets) == 1


@pytest.mark.parametrize(("known", "other"), [("r1.9", "r.2"), ("r.9", "r1.2")])
def test_an_attempt_of_a_request_whose_name_begins_alike_is_not_taken_over(sub, known, other):
    sub.receive("c1", 1, request=known, again=1)
    assert len(sub.receive("c1", 3, request=other).offsets) == 3
    # Nor are its leases those of the other request
    assert len(sub.receive("c1", 0, request=f"{known.partition('.')[0]}.10", again=1).offsets) == 1


def test_an_attempt_that_was_taken_over_returns_nothing_of_it(sub):
    leased(sub, "r.0")
    sub.receive("c1", 0, request="r.1", again=1)
    assert sub.nack([0, 1, 2], unseen=True, request="r.0")[1] == 0
    assert {consumer for consumer, *_ in sub.content().leases.values()} == {"c1"}
    # The attempt that has them now does, and its consumer does
    assert sub.nack([2], unseen=True, request="r.1")[1] == 1
    assert sub.nack([0, 1])[1] == 2


def test_a_request_without_a_name_returns_what_its_consumer_has(sub):
    assert list(sub.receive("c1", 3).offsets) == [0, 1, 2]
    assert sub.nack([0, 1, 2], unseen=True)[1] == 3


def test_a_key_stays_with_the_consumer_whose_request_was_sent_again(log):
    """The first attempt hands its record back late, when the slot of the key is another consumer's."""
    sub = KeySharedSubscription(log, dict.fromkeys(range(9), "k"))
    log.append(2)
    assert list(sub.receive("c1", 1, request="r.0").offsets) == [0]
    assert list(sub.receive("c1", 5, request="r.1", again=1).offsets) == [0, 1]
    others = [f"c{n}" for n in range(2, 9)]
    for other in others:  # one of them gets the slot
        sub.receive(other)
    sub.nack([0], unseen=True, request="r.0")
    assert [offset for other in others for offset in sub.receive(other).offsets] == []
    sub.checked()


@pytest.mark.parametrize("kind", ["exclusive", "failover"])
def test_of_an_ordered_subscription_an_attempt_that_was_taken_over_leases_no_more(log, kind):
    sub = Subscription(log, kind=kind)
    log.append(4)
    assert list(sub.receive("c1", 2, request="r.0").offsets) == [0, 1]
    assert list(sub.receive("c1", 2, request="r.1", again=1).offsets) == [0, 1]
    assert sub.receive("c1", 2, request="r.0", after=1).offsets == {}
    assert sub.nack([0, 1], unseen=True, request="r.0")[1] == 0
    assert list(sub.receive("c1", 2, request="s.0", after=1).offsets) == [2, 3]


def test_the_request_stays_known_while_the_consumer_s_numbers_change(log):
    sub = Subscription(log)
    log.append(9)
    sub.receive("c1", 0, request="r.1", again=1)
    sub.receive("c1", 2, request="s.0")
    sub.ack([0])
    sub.leave("c1")
    assert sub.receive("c1", 2, request="r.0").offsets == {}
