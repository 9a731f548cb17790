"""Fetch sessions: what each request means to the session of its connection (KIP-227)."""

from __future__ import annotations

import pytest

from redis_ledger.kafka.fetch_session import INVALID_EPOCH, NOT_FOUND, FetchSession, opened
from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from redis_ledger.kafka.protocol.messages.fetch_response import PartitionData
from redis_ledger.kafka.protocol.primitives import NO_UUID


def request(
    session_id: int, epoch: int, *partitions: int, forget: tuple[int, ...] = (), offset: int = 0
) -> FetchRequest:
    topics = (
        [FetchTopic("t", partitions=[FetchPartition(n, fetch_offset=offset) for n in partitions])] if partitions else []
    )
    forgotten = [ForgottenTopic("t", partitions=list(forget))] if forget else []
    return FetchRequest(session_id=session_id, session_epoch=epoch, topics=topics, forgotten_topics_data=forgotten)


def made(*partitions: int) -> FetchSession:
    session = opened(request(0, 0, *partitions), None)
    assert isinstance(session, FetchSession)
    return session


def key(number: int) -> tuple[str, bytes, int]:
    return ("t", NO_UUID, number)


def test_a_first_request_makes_a_session_that_knows_its_partitions():
    session = made(0, 1)
    assert session.id > 0
    assert list(session.partitions) == [key(0), key(1)]


@pytest.mark.parametrize(("session_id", "epoch"), [(0, -1), (7, -1)])
def test_a_final_epoch_stands_alone(session_id, epoch):
    assert opened(request(session_id, epoch, 0), None) is None


def test_a_request_without_partitions_makes_no_session():
    assert opened(request(0, 0), None) is None


def test_changes_are_applied_in_the_order_of_epochs():
    session = made(0, 1)
    assert opened(request(session.id, 1, 1, 2, forget=(0,), offset=5), session) is session
    assert {k: known.parameters.fetch_offset for k, known in session.partitions.items()} == {key(1): 5, key(2): 5}
    assert opened(request(session.id, 1), session) == INVALID_EPOCH
    assert opened(request(session.id, 3), session) == INVALID_EPOCH
    assert opened(request(session.id, 2), session) is session


def test_a_session_that_is_not_this_connections_is_not_found():
    session = made(0)
    assert opened(request(session.id + 1, 1), session) == NOT_FOUND
    assert opened(request(session.id, 1), None) == NOT_FOUND


def test_a_full_request_on_a_connection_with_a_session_replaces_it():
    session = made(0)
    other = opened(request(session.id, 0, 3), session)
    assert isinstance(other, FetchSession)
    assert list(other.partitions) == [key(3)]


def test_epochs_begin_again_after_the_last():
    session = made(0)
    session.epoch = 0x7FFFFFFF
    assert opened(request(session.id, 0x7FFFFFFF), session) is session
    assert session.epoch == 1


def test_news_are_records_errors_and_another_end_or_start():
    session = made(0)
    assert session.is_news(key(0), PartitionData(0, 0, 5, 5, 0, records=b""))
    assert not session.is_news(key(0), PartitionData(0, 0, 5, 5, 0, records=b""))
    assert session.is_news(key(0), PartitionData(0, 0, 6, 5, 0, records=b""))
    assert session.is_news(key(0), PartitionData(0, 0, 6, 6, 2, records=b""))
    assert session.is_news(key(0), PartitionData(0, 0, 6, 6, 2, records=b"x"))
    assert session.is_news(key(0), PartitionData(0, 3, 6, 6, 2, records=b""))
    assert session.is_news(key(0), PartitionData(0, 3, 6, 6, 2, records=b""))


def test_partitions_that_were_answered_go_to_the_end():
    session = made(0, 1, 2)
    session.rotate([key(0)])
    assert list(session.partitions) == [key(1), key(2), key(0)]
