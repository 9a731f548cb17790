"""What transactions hold: the transaction buffer of a partition, and pending acknowledgements, single records and the
backlog of a subscription."""

from __future__ import annotations

import msgspec

from redis_ledger.app.console.pages import PageContext, page
from redis_ledger.app.console.rights import DESCRIBES
from redis_ledger.app.http.routers import partition_transactions, subscription_state
from redis_ledger.app.http.schemas import inspection as bodies
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.auth.requirement import named
from redis_ledger.ids import MessageId

ROWS = 50  # transactions of a page
RANGES = 5  # of a transaction


class BufferQuery(msgspec.Struct):
    topic: str
    partition: int = 0
    open_from: int = 0
    aborted_from: int = 0


class BufferPage(msgspec.Struct):
    buffer: bodies.PartitionTransactions


@page("buffer", "Transaction buffer", nav="topics", requires=named(Op.DESCRIBE, Resource.TOPIC, "topic"))
async def buffer(context: PageContext, query: BufferQuery) -> BufferPage:
    found = await context.broker.partition_transactions.describe(
        query.topic, query.partition, limit=ROWS, open_from=query.open_from, aborted_from=query.aborted_from,
        low_watermarks=True,
    )  # fmt: skip
    return BufferPage(partition_transactions.to_body(query.topic, query.partition, found))


class PendingQuery(msgspec.Struct):
    """record: the id of a record to look up, partition:offset.  partition: whose backlog to analyze, from an offset
    on; empty for none."""

    topic: str
    name: str
    record: str = ""
    partition: str = ""
    from_offset: int = 0


class PendingPage(msgspec.Struct):
    pending: bodies.PendingAcknowledgements
    record: bodies.RecordState | None
    backlog: bodies.BacklogAnalysis | None


@page("pending", "Pending acknowledgements", nav="groups", requires=DESCRIBES)
async def pending(context: PageContext, query: PendingQuery) -> PendingPage:
    inspection, topic, name = context.broker.inspection, query.topic, query.name
    held = subscription_state.pending_body(topic, name, await inspection.pending(topic, name, ranges_max=RANGES))
    record = backlog = None
    if query.record:
        found = await inspection.record(topic, name, MessageId.parse(query.record.strip()))
        record = subscription_state.record_body(topic, name, found)
    if query.partition.isascii() and query.partition.isdigit():
        analysis = await inspection.analyze_backlog(topic, name, int(query.partition), from_offset=query.from_offset)
        backlog = subscription_state.backlog_body(topic, name, analysis)
    return PendingPage(held, record, backlog)
