"""Record batches as a Kafka producer would send them, and what a consumer finds in an answer."""

from __future__ import annotations

from collections.abc import Sequence

from redis_ledger.kafka.protocol.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from redis_ledger.kafka.protocol.messages.fetch_response import FetchResponse, PartitionData
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from redis_ledger.kafka.protocol.messages.produce_response import PartitionProduceResponse, ProduceResponse
from redis_ledger.records.batch import split
from redis_ledger.records.build import encode
from redis_ledger.records.control import read_marker
from redis_ledger.records.read import decode

NOW_MS = 1_700_000_000_000


def batch(
    *values: str, producer: tuple[int, int, int] = (-1, -1, -1), transactional: bool = False, at_ms: int = NOW_MS
) -> bytes:
    """producer: id, epoch, first sequence."""
    rows = [(None, value.encode(), (), at_ms + n) for n, value in enumerate(values)]
    pid, epoch, sequence = producer
    return encode(rows, producer_id=pid, epoch=epoch, sequence=sequence, transactional=transactional)


def produce(
    topic: str, data: bytes | None, *, partition: int = 0, transactional_id: str | None = None, acks: int = -1
) -> ProduceRequest:
    return ProduceRequest(
        transactional_id, acks, 5_000, [TopicProduceData(topic, partition_data=[PartitionProduceData(partition, data)])]
    )


def produced(answer: ProduceResponse) -> PartitionProduceResponse:
    return answer.responses[0].partition_responses[0]


def fetch(
    topic: str,
    offset: int = 0,
    *,
    partitions: Sequence[int] = (0,),
    committed: bool = True,
    wait_ms: int = 0,
    bytes_min: int = 1,
    bytes_max: int = 1 << 20,
    session: tuple[int, int] = (0, -1),
) -> FetchRequest:
    asked = [FetchPartition(number, -1, offset, partition_max_bytes=bytes_max) for number in partitions]
    return FetchRequest(
        max_wait_ms=wait_ms, min_bytes=bytes_min, max_bytes=bytes_max, isolation_level=int(committed),
        session_id=session[0], session_epoch=session[1], topics=[FetchTopic(topic, partitions=asked)],
    )  # fmt: skip


def fetched(answer: FetchResponse) -> PartitionData:
    return answer.responses[0].partitions[0]


def values(data: PartitionData, *, committed: bool = True) -> list[str]:
    """The records a consumer returns: no markers and, as in read_committed clients, none that were aborted."""
    assert data.error_code == 0, f"error {data.error_code}"
    assert isinstance(data.records, memoryview | bytes | bytearray)
    return [value for _, value in with_offsets(data, committed=committed)]


def with_offsets(data: PartitionData, *, committed: bool = True) -> list[tuple[int, str]]:
    """As `values`, with the offset of each record, of which a batch may have some below the requested one."""
    aborted = sorted((a.first_offset, a.producer_id) for a in data.aborted_transactions or ()) if committed else []
    bad: set[int] = set()
    found = []
    records = data.records or b""
    assert isinstance(records, memoryview | bytes | bytearray)
    for header, view in split(records):
        while aborted and aborted[0][0] <= header.last_offset:
            bad.add(aborted.pop(0)[1])
        if header.is_control:
            if not read_marker(view).commit:
                bad.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in bad):
            found += [(record.offset, (record.value or b"").decode()) for record in decode(view)]
    return found
