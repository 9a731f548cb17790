"""A fetch session of a Kafka consumer (KIP-227): the first request names all partitions, later ones the changed
ones."""

from __future__ import annotations

from collections.abc import Mapping

from bench.delay.kafka import FETCH, FETCH_VERSION, Connection
from bench.processes import BenchFailed
from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tests.support.kafka_codec import read_response, request

PARTITION_BYTES_MAX, BYTES_MAX = 1 << 20, 50 << 20  # the defaults of Kafka's consumers
READ_COMMITTED = 1


class Session:
    """A session over one topic.  wait_ms: how long a response may wait for records."""

    def __init__(self, connection: Connection, topic: str, wait_ms: int) -> None:
        self._connection, self._topic, self._wait_ms = connection, topic, wait_ms
        self._id = self._epoch = 0

    async def fetch(self, changed: Mapping[int, int]) -> dict[int, bytes]:
        """Returns the records of the session's partitions.  changed: partition → next offset, for partitions that are
        new or have advanced."""
        entries = [
            FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=PARTITION_BYTES_MAX)
            for number, offset in changed.items()
        ]
        message = FetchRequest(
            max_wait_ms=self._wait_ms, min_bytes=1, max_bytes=BYTES_MAX, isolation_level=READ_COMMITTED,
            session_id=self._id, session_epoch=self._epoch, topics=[FetchTopic(topic=self._topic, partitions=entries)],
        )  # fmt: skip
        arrival = await self._connection.ask(b"".join(request(FETCH, FETCH_VERSION, 0, "bench", message)))
        _, answer = read_response(FETCH, FETCH_VERSION, arrival.frame)
        if answer.error_code:
            raise BenchFailed(f"A fetch was refused with error {answer.error_code}.")
        self._id, self._epoch = answer.session_id, self._epoch + 1
        parts = [part for topic in answer.responses for part in topic.partitions]
        if failed := next((part.error_code for part in parts if part.error_code), 0):
            raise BenchFailed(f"A partition was refused with error {failed}.")
        return {part.partition_index: bytes(part.records) for part in parts if part.records}


def following(records: bytes) -> int:
    """Returns the offset after the last complete batch."""
    at, offset = 0, -1
    while at + 61 <= len(records):
        size = 12 + int.from_bytes(records[at + 8 : at + 12], "big")
        if at + size > len(records):
            break
        base, delta = records[at : at + 8], records[at + 23 : at + 27]
        offset = int.from_bytes(base, "big") + int.from_bytes(delta, "big") + 1
        at += size
    assert offset >= 0, "there is a batch"
    return offset
