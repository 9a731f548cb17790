"""Fetch sessions: a consumer sends all partitions once, and then only changes (KIP-227).

    request    id 0, epoch 0: all partitions, new session     id, epoch n: changes to the session's partitions
    response   all partitions                                 partitions with records, errors, a new start or end

A session belongs to its connection and ends with it.  On another connection the client gets FETCH_SESSION_ID_NOT_FOUND
and sends a full request, as after a restart of the broker.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import NamedTuple

from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest
from redis_ledger.kafka.protocol.messages.fetch_response import PartitionData
from redis_ledger.ledger.partition import Partition
from redis_ledger.ledger.partition_offsets import PartitionHead

NOT_FOUND, INVALID_EPOCH = 70, 71
FINAL_EPOCH, FIRST_EPOCH = -1, 0
PARTITIONS_MAX = 10_000  # larger sessions are not stored

Key = tuple[str, bytes, int]  # topic by name or by id, partition


class CaughtUp(NamedTuple):
    partition: Partition
    head: PartitionHead
    committed: bool


@dataclass(slots=True)
class SessionPartition:
    """A partition of a session.

    asked       its fetch parameters
    end, start  as last sent to the client
    rest        the state of the partition if it had no records for the client
    """

    parameters: FetchPartition
    end: int = -1
    start: int = -1
    caught_up: CaughtUp | None = None


@dataclass(slots=True)
class FetchSession:
    id: int
    epoch: int = 1
    partitions: dict[Key, SessionPartition] = field(default_factory=dict)

    def apply(self, request: FetchRequest) -> None:
        for topic in request.topics:
            for parameters in topic.partitions:
                key = (topic.topic, topic.topic_id, parameters.partition)
                partition = self.partitions.get(key)
                if partition is None:
                    self.partitions[key] = SessionPartition(parameters)
                else:
                    partition.parameters, partition.caught_up = parameters, None
        for gone in request.forgotten_topics_data:
            for number in gone.partitions:
                self.partitions.pop((gone.topic, gone.topic_id, number), None)

    def follows(self, epoch: int) -> bool:
        """Whether the request has the next epoch; advances the epoch."""
        if epoch != self.epoch:
            return False
        self.epoch = self.epoch + 1 if self.epoch < 0x7FFFFFFF else 1
        return True

    def is_news(self, key: Key, data: PartitionData) -> bool:
        """Whether an incremental response must contain the partition.  Stores the values that are sent."""
        partition = self.partitions[key]
        news = bool(data.records) or bool(data.error_code) or data.diverging_epoch is not None
        news = news or data.high_watermark != partition.end or data.log_start_offset != partition.start
        partition.end, partition.start = data.high_watermark, data.log_start_offset
        if data.error_code:  # repeated in every response until the error is over
            partition.end = -1
        return news

    def rotate(self, keys: list[Key]) -> None:
        """Moves returned partitions to the end, so that a small limit starves none."""
        for key in keys:
            if (partition := self.partitions.pop(key, None)) is not None:
                self.partitions[key] = partition


def opened(request: FetchRequest, session: FetchSession | None) -> FetchSession | int | None:
    """Returns the session of the request, None for a request without a session, or an error code."""
    if request.session_epoch == FINAL_EPOCH:
        return None
    if request.session_epoch == FIRST_EPOCH:  # ends an earlier session of the connection
        fresh = FetchSession(secrets.randbelow(0x7FFFFFFE) + 1)
        fresh.apply(request)
        return fresh if 0 < len(fresh.partitions) <= PARTITIONS_MAX else None
    if session is None or session.id != request.session_id:
        return NOT_FOUND
    if not session.follows(request.session_epoch):
        return INVALID_EPOCH
    session.apply(request)
    return session
