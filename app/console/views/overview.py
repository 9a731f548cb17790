"""The overview page: health findings, totals, records per second, consumer lag."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from redis_ledger.app.console.cluster_snapshot import Sample, snapshot_collector
from redis_ledger.app.console.health import BlockedPartition, ConsumerLag, Facts, Finding, LostPartition, findings
from redis_ledger.app.console.pages import NoParameters, PageContext, page
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import LedgerError
from redis_ledger.ids import TxnId

LAGGING_MAX = 8


class Rate(msgspec.Struct):
    at_ms: int
    records_per_s: float


class Overview(msgspec.Struct):
    health: list[Finding]
    brokers: int
    topics: int
    partitions: int
    records: int
    bytes: int
    open_transactions: int
    lagging: list[ConsumerLag]
    rates: list[Rate]
    is_cut: bool


@page("overview", "Overview")
async def overview(context: PageContext, query: NoParameters) -> Overview:
    broker = context.broker
    collector = snapshot_collector(broker)
    snapshot = await collector.look()
    topics = [each for each in snapshot.topics if context.may(Op.DESCRIBE, Resource.TOPIC, each.name)]
    names = {each.name for each in topics}
    behind = [
        each for each in snapshot.behind
        if each.topic in names and context.may(Op.DESCRIBE, Resource.GROUP, each.name)
    ]  # fmt: skip
    held = [await _as_seen(context, each) for each in snapshot.held if each.topic in names]
    sees_all = context.may(Op.DESCRIBE, Resource.CLUSTER)
    refusal = broker.store.admission.refusal()
    facts = Facts(
        brokers=len(broker.live_brokers.live),
        topics=len(topics),
        held=held,
        behind=behind,
        overdue=sum(each.overdue for each in topics),
        overdue_ms=max((each.overdue_ms for each in topics), default=0),
        memory=snapshot.memory if sees_all else None,
        durability=str(broker.readiness.get("durability", "")) if sees_all else "",
        unfit=refusal.detail if refusal else "",
        unread=snapshot.unread,
        is_cut=snapshot.is_cut,
        sees_all=sees_all,
        open_brokers=len(broker.live_brokers.unauthenticated) if sees_all else 0,
        lost=[
            LostPartition(each.topic, each.partition, each.first_offset, each.end_offset - 1)
            for each in broker.lost_writes.partitions
            if context.may(Op.DESCRIBE, Resource.TOPIC, each.topic)
        ],
        lost_ms=broker.clock.now_ms() - broker.lost_writes.found_ms if broker.lost_writes.found_ms else None,
    )
    lagging = sorted((each for each in behind if each.lag), key=lambda each: -each.lag)[:LAGGING_MAX]
    return Overview(
        health=findings(facts),
        brokers=len(broker.live_brokers.live),
        topics=len(topics),
        partitions=sum(each.partitions for each in topics),
        records=sum(each.records for each in topics),
        bytes=sum(each.bytes for each in topics),
        open_transactions=snapshot.transactions if sees_all else len({each.transaction for each in held}),
        lagging=lagging,
        rates=rates(list(collector.samples)) if sees_all else [],
        is_cut=snapshot.is_cut,
    )


def rates(samples: list[Sample]) -> list[Rate]:
    """Records per second between successive samples."""
    return [
        Rate(late.at_ms, (late.appended - early.appended) * 1000 / (late.at_ms - early.at_ms))
        for early, late in pairwise(samples)
        if late.at_ms > early.at_ms
    ]


async def _as_seen(context: PageContext, held: BlockedPartition) -> BlockedPartition:
    """Removes the owner if the caller may not describe the transaction."""
    try:
        is_shown = await context.broker.transaction_owners.is_shown(context.caller, TxnId.parse(held.transaction))
    except LedgerError:
        is_shown = False  # it has ended
    return held if is_shown else msgspec.structs.replace(held, owner="")
