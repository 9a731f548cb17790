"""/v1/topics/{topic}/partitions/{partition}/transactions: the transaction buffer of a partition."""

from __future__ import annotations

from msgspec import UNSET

from redis_ledger.app.http.authorization import DESCRIBE_TOPIC
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.routers.records import partition_number
from redis_ledger.app.http.schemas import examples_inspection as examples
from redis_ledger.app.http.schemas import inspection as bodies
from redis_ledger.broker.transactions.partition_transactions import OpenHere, PartitionTransactions
from redis_ledger.errors import (
    CoordinatorNotFound,
    TransactionForbidden,
    TransactionNotFound,
    UnknownPartition,
    UnknownTopic,
)
from redis_ledger.ids import TxnId

routes = Routes("topics")
_BUFFER = "/v1/topics/{topic}/partitions/{partition}/transactions"


@routes.get(
    _BUFFER, requires=(DESCRIBE_TOPIC,), errors=(UnknownTopic, UnknownPartition),
    examples=examples.PARTITION_TRANSACTIONS,
)  # fmt: skip
async def describe_partition_transactions(
    request: HttpRequest, topic: str, partition: str, query: bodies.BufferQuery
) -> bodies.PartitionTransactions:
    """Show the transaction buffer of a partition: open and aborted transactions, and what holds the stable offset.

    Nothing is loaded or recovered before it takes effect, so a buffer has no state of its own.
    """
    number = partition_number(partition)
    found = await request.broker.partition_transactions.describe(
        topic, number, limit=query.limit, open_from=query.open_from, aborted_from=query.aborted_from,
        low_watermarks=query.low_watermarks,
    )  # fmt: skip
    return to_body(topic, number, found)


@routes.get(
    _BUFFER + "/{id}", requires=(DESCRIBE_TOPIC,),
    errors=(UnknownTopic, UnknownPartition, TransactionNotFound, CoordinatorNotFound, TransactionForbidden),
    examples=examples.PARTITION_TRANSACTION,
)  # fmt: skip
async def get_partition_transaction(
    request: HttpRequest, topic: str, partition: str, id: str
) -> bodies.PartitionTransaction:
    """Show one transaction in a partition: its first offset while it is open, then whether it was aborted.

    Unless it is open there, a transaction of another principal needs DESCRIBE on the cluster.
    """
    number, txn = partition_number(partition), TxnId.parse(id)
    found = await request.broker.partition_transactions.get(topic, number, txn)
    if found.state != "open" and not await _is_shown(request, txn):
        raise TransactionForbidden(
            f"Transaction {txn} was not begun by {request.caller.principal}, and is not open in {topic}:{number}.",
            transaction=str(txn),
        )
    return bodies.PartitionTransaction(
        topic=topic, partition=number, transaction=str(txn), state=found.state,
        first_offset=UNSET if found.first_offset is None else found.first_offset,
        last_offset=UNSET if found.last_offset is None else found.last_offset,
        aborted=found.state == "aborted",
    )  # fmt: skip


async def _is_shown(request: HttpRequest, txn: TxnId) -> bool:
    """Of a transaction that its coordinator has forgotten, only the partition knows anything."""
    try:
        return await request.broker.transaction_owners.is_shown(request.caller, txn)
    except TransactionNotFound:
        return True


def to_body(topic: str, number: int, found: PartitionTransactions) -> bodies.PartitionTransactions:
    snapshot = found.snapshot
    return bodies.PartitionTransactions(
        topic=topic, partition=number, start_offset=found.start_offset, stable_offset=found.stable_offset,
        end_offset=found.end_offset, held_by=UNSET if found.held_by is None else _opened(found.held_by),
        open_transactions=found.open_transactions, open=[_opened(each) for each in found.open],
        open_next=UNSET if found.open_next is None else found.open_next,
        committed_transactions=found.committed, aborted_transactions=found.aborted, aborted_set=found.aborted_set,
        aborted=[bodies.AbortedRange(**each._asdict()) for each in found.aborted_ranges],
        aborted_next=UNSET if found.aborted_next is None else found.aborted_next, tombstones=found.tombstones,
        snapshot=UNSET if snapshot is None else bodies.BufferSnapshot(**snapshot._asdict()),
        low_watermarks=UNSET if found.low_watermarks is None else low_watermarks(found.low_watermarks),
    )  # fmt: skip


def low_watermarks(found: dict[int, int]) -> list[bodies.LowWatermark]:
    return [bodies.LowWatermark(coordinator=number, serial=serial) for number, serial in found.items()]


def _opened(each: OpenHere) -> bodies.OpenTransaction:
    return bodies.OpenTransaction(
        transaction=str(each.transaction), producer_id=each.producer_id, first_offset=each.first_offset,
        started_ms=each.transaction.begun_ms, buffer=each.buffer,
    )  # fmt: skip
