from __future__ import annotations

from redis_ledger.client.models import Message
from redis_ledger.client.prefetched import Prefetched
from redis_ledger.ids import MessageId


def messages(*offsets: int, until_s: float = 100.0, redelivered: int = 0, partition: int = 0) -> list[Message]:
    return [
        Message("t", partition, o, None, b"x", {}, 1, redelivery_count=redelivered, leased_until_s=until_s)
        for o in offsets
    ]


def ids(*offsets: int) -> list[MessageId]:
    return [MessageId(0, offset) for offset in offsets]


def offsets(found: list[Message] | list[MessageId]) -> list[int]:
    return [each.offset for each in found]


def prefetched(*reserved: int, is_ordered: bool = False) -> Prefetched:
    ahead = Prefetched(is_ordered)
    ahead.add(messages(*reserved), is_reserved=True)
    return ahead


def test_reserved_messages_are_handed_out_when_they_are_opened():
    ahead = prefetched(1, 2, 3)
    assert ahead.take(5) == []
    assert ahead.unopened(2, 0) == ids(1, 2)
    assert not ahead.open(ids(1, 2), [], 130.0)
    assert [(each.offset, each.leased_until_s) for each in ahead.take(5)] == [(1, 130.0), (2, 130.0)]
    assert ahead.unopened(2, 0) == ids(3)


def test_messages_that_count_already_are_handed_out_up_to_the_first_reserved_one():
    ahead = Prefetched(is_ordered=False)
    ahead.add(messages(1, 2), is_reserved=False)
    ahead.add(messages(3), is_reserved=True)
    assert ahead.unopened(2, 3) == ids(3)
    assert offsets(ahead.take(1)) == [1]
    assert ahead.clear() == ids(2)
    assert len(ahead) == 0


def test_what_is_handed_out_soon_is_opened_with_the_next_one_unless_it_was_delivered_before():
    ahead = prefetched(1, 2)
    ahead.add(messages(3, redelivered=1), is_reserved=True)
    ahead.add(messages(4), is_reserved=True)
    assert ahead.unopened(1, 10) == ids(1, 2)
    assert ahead.unopened(3, 10) == ids(1, 2, 3)


def test_a_lost_message_is_not_handed_out():
    ahead = prefetched(1, 2, 3)
    assert ahead.open(ids(1, 2), ids(1), 130.0)
    assert offsets(ahead.take(5)) == [2]
    assert offsets(list(ahead)) == [3]


def test_a_lost_or_expired_message_takes_the_later_ones_of_its_partition_with_it_where_order_counts():
    ahead = prefetched(1, 2, 3, is_ordered=True)
    ahead.add(messages(9, partition=1), is_reserved=True)
    assert ahead.open(ids(1, 2), ids(1), 130.0)
    assert offsets(list(ahead)) == [9]
    ahead = prefetched(1, is_ordered=True)
    ahead.add(messages(2, until_s=200.0), is_reserved=True)
    assert not ahead.drop_expired(99.0)
    assert ahead.drop_expired(100.0)
    assert len(ahead) == 0


def test_an_expired_message_leaves_later_ones_where_order_does_not_count():
    ahead = prefetched(1)
    ahead.add(messages(2, until_s=200.0), is_reserved=True)
    assert ahead.drop_expired(150.0)
    assert offsets(list(ahead)) == [2]


def test_a_message_that_comes_again_keeps_its_place_and_is_what_it_came_as():
    ahead = prefetched(1, 2, 3)
    ahead.add(messages(2, 4, redelivered=1), is_reserved=False)
    assert offsets(list(ahead)) == [1, 2, 3, 4]
    assert ahead.clear() == ids(2, 4)
