"""The first page: how things are, in words, then in numbers."""

from __future__ import annotations

from itertools import pairwise

import msgspec

from redis_ledger.app.console.cluster_snapshot import Sample, surveyor
from redis_ledger.app.console.health import Behind, Facts, Held, Sentence, sentences
from redis_ledger.app.console.pages import Nothing, Visit, page
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import LedgerError
from redis_ledger.ids import TxnId

LAGGING_MAX = 8


class Rate(msgspec.Struct):
    at_ms: int
    records_per_s: float


class Overview(msgspec.Struct):
    health: list[Sentence]
    brokers: int
    topics: int
    partitions: int
    records: int
    bytes: int
    open_transactions: int
    behind: list[Behind]
    rates: list[Rate]
    is_cut: bool


@page("overview", "Overview")
async def overview(visit: Visit, query: Nothing) -> Overview:
    broker = visit.broker
    watching = surveyor(broker)
    survey = await watching.look()
    topics = [each for each in survey.topics if visit.may(Op.DESCRIBE, Resource.TOPIC, each.name)]
    names = {each.name for each in topics}
    behind = [
        each for each in survey.behind
        if each.topic in names and visit.may(Op.DESCRIBE, Resource.GROUP, each.name)
    ]  # fmt: skip
    held = [await _as_seen(visit, each) for each in survey.held if each.topic in names]
    sees_all = visit.may(Op.DESCRIBE, Resource.CLUSTER)
    refusal = broker.store.admission.refusal()
    facts = Facts(
        brokers=len(broker.live_brokers.live),
        topics=len(topics),
        held=held,
        behind=behind,
        overdue=sum(each.overdue for each in topics),
        overdue_ms=max((each.overdue_ms for each in topics), default=0),
        memory=survey.memory if sees_all else None,
        durability=str(broker.readiness.get("durability", "")) if sees_all else "",
        unfit=refusal.detail if refusal else "",
        unread=survey.unread,
        is_cut=survey.is_cut,
        sees_all=sees_all,
        open_brokers=len(broker.live_brokers.open) if sees_all else 0,
    )
    lagging = sorted((each for each in behind if each.lag), key=lambda each: -each.lag)[:LAGGING_MAX]
    return Overview(
        health=sentences(facts),
        brokers=len(broker.live_brokers.live),
        topics=len(topics),
        partitions=sum(each.partitions for each in topics),
        records=sum(each.records for each in topics),
        bytes=sum(each.bytes for each in topics),
        open_transactions=survey.transactions if sees_all else len({each.transaction for each in held}),
        behind=lagging,
        rates=rates(list(watching.samples)) if sees_all else [],
        is_cut=survey.is_cut,
    )


def rates(samples: list[Sample]) -> list[Rate]:
    """What was appended between two looks, a second."""
    return [
        Rate(late.at_ms, (late.appended - early.appended) * 1000 / (late.at_ms - early.at_ms))
        for early, late in pairwise(samples)
        if late.at_ms > early.at_ms
    ]


async def _as_seen(visit: Visit, held: Held) -> Held:
    """Without the owner for who may not see the transaction."""
    try:
        is_shown = await visit.broker.transaction_owners.is_shown(visit.caller, TxnId.parse(held.transaction))
    except LedgerError:
        is_shown = False  # it ended meanwhile
    return held if is_shown else msgspec.structs.replace(held, owner="")
