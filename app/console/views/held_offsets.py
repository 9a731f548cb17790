"""Why readers of committed records of a topic do not advance."""

from __future__ import annotations

import msgspec

from redis_ledger.app.console.pages import PageContext, page
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.auth.requirement import named
from redis_ledger.broker.security import transaction_owners
from redis_ledger.broker.transactions.held_offsets import HeldPartition, advice


class WhyQuery(msgspec.Struct):
    name: str


class Held(msgspec.Struct):
    """owner: empty if the caller may not see it.  age_ms: None if the coordinator does not have the transaction."""

    partition: int
    stable_offset: int
    held_records: int
    transaction: str
    owner: str
    age_ms: int | None
    waiting: list[str]
    advice: str


class WhyPage(msgspec.Struct):
    name: str
    held: list[Held]
    is_cut: bool


@page("why", "Held records", nav="topics", requires=named(Op.DESCRIBE, Resource.TOPIC, "name"))
async def why(context: PageContext, query: WhyQuery) -> WhyPage:
    found = await context.broker.held_offsets.of(query.name)
    return WhyPage(query.name, [_line(context, each, found.now_ms) for each in found.partitions], found.is_cut)


def _line(context: PageContext, held: HeldPartition, now_ms: int) -> Held:
    record, owner = held.record, ""
    if record is not None and context.broker.transaction_owners.sees(context.caller, record):
        principal, label = transaction_owners.read(record.owner)
        owner = principal or label if record.producer is None else record.producer.transactional_id
    return Held(
        held.partition, held.stable_offset, held.held_records, str(held.transaction), owner,
        None if record is None else max(now_ms - record.started_ms, 0),
        [each.name for each in held.waiting if context.may(Op.DESCRIBE, Resource.GROUP, each.name)],
        advice(held.transaction, record, now_ms),
    )  # fmt: skip
