"""A consumer's fetch session: it names its partitions once, and afterwards only what has changed (KIP-227).

    request    id 0, epoch 0: everything; a session is made        id, epoch n: changes to what the session knows
    answer     everything                                          partitions with records, errors, or another end or
    start

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
PARTITIONS_MAX = 10_000  # a session that would know more is not kept

Key = tuple[str, bytes, int]  # topic by name or by id, partition


class Rest(NamedTuple):
    partition: Partition
    head: PartitionHead
    committed: bool


@dataclass(slots=True)
class Known:
    """asked: how the partition is to be read.  end, start: as the client was told.  rest: None, or where the partition
    stood when it had nothing for the client."""

    asked: FetchPartition
    end: int = -1
    start: int = -1
    rest: Rest | None = None


@dataclass(slots=True)
class FetchSession:
    id: int
    epoch: int = 1
    partitions: dict[Key, Known] = field(default_factory=dict)

    def apply(self, request: FetchRequest) -> None:
        for topic in request.topics:
            for asked in topic.partitions:
                key = (topic.topic, topic.topic_id, asked.partition)
                known = self.partitions.get(key)
                if known is None:
                    self.partitions[key] = Known(asked)
                else:
                    known.asked, known.rest = asked, None
        for gone in request.forgotten_topics_data:
            for number in gone.partitions:
                self.partitions.pop((gone.topic, gone.topic_id, number), None)

    def follows(self, epoch: int) -> bool:
        """Whether the request is the next one; counts it."""
        if epoch != self.epoch:
            return False
        self.epoch = self.epoch + 1 if self.epoch < 0x7FFFFFFF else 1
        return True

    def is_news(self, key: Key, data: PartitionData) -> bool:
        """Whether an incremental answer has to name the partition.  Remembers what the client is told by it."""
        known = self.partitions[key]
        news = bool(data.records) or bool(data.error_code)
        news = news or data.high_watermark != known.end or data.log_start_offset != known.start
        known.end, known.start = data.high_watermark, data.log_start_offset
        if data.error_code:  # it is to be told again until it is over
            known.end = -1
        return news

    def rotate(self, keys: list[Key]) -> None:
        """Partitions that were answered go to the end, so that a small limit starves none."""
        for key in keys:
            if (known := self.partitions.pop(key, None)) is not None:
                self.partitions[key] = known


def opened(request: FetchRequest, session: FetchSession | None) -> FetchSession | int | None:
    """The session to answer under; None for a request that stands alone; an error code."""
    if request.session_epoch == FINAL_EPOCH:
        return None
    if request.session_epoch == FIRST_EPOCH:  # an earlier session of the connection, if there is one, ends
        fresh = FetchSession(secrets.randbelow(0x7FFFFFFE) + 1)
        fresh.apply(request)
        return fresh if 0 < len(fresh.partitions) <= PARTITIONS_MAX else None
    if session is None or session.id != request.session_id:
        return NOT_FOUND
    if not session.follows(request.session_epoch):
        return INVALID_EPOCH
    session.apply(request)
    return session
