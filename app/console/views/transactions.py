"""Transactions: open and recently ended ones, details with the blocked consumers, abort."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import msgspec

from redis_ledger.app.console.health import HELD_MS_BAD
from redis_ledger.app.console.pages import ActionResult, NoParameters, PageContext, action, href, page
from redis_ledger.app.console.rendering import counted
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.transactions.participant_details import PartitionDetails, SubscriptionDetails
from redis_ledger.broker.transactions.service import to_transaction
from redis_ledger.broker.types import Transaction
from redis_ledger.errors import UnknownTopic
from redis_ledger.ids import TxnId
from redis_ledger.txn.trace import Step

SHOWN_MAX = 200
FINISHED_MAX = 50
PARTICIPANTS_MAX = 100
ENTRIES_MAX = 5_000  # log entries that a page reads: it is renewed every three seconds
RANGES_MAX = 10


class Line(msgspec.Struct):
    """left_ms: until the deadline; negative if it has passed, 0 if the transaction has ended.
    partitions, subscriptions: participants; None if the transaction has ended."""

    id: str
    status: str
    owner: str
    age_ms: int
    left_ms: int
    partitions: int | None
    subscriptions: int | None


class Transactions(msgspec.Struct):
    open: list[Line]
    ending: list[Line]
    finished: list[Line]
    may_see_all: bool
    is_cut: bool


@page("transactions", "Transactions")
async def transactions(context: PageContext, query: NoParameters) -> Transactions:
    """All transactions with DESCRIBE on the cluster, else the caller's own."""
    may_see_all = context.may(Op.DESCRIBE, Resource.CLUSTER)
    sees = None if may_see_all else partial(context.broker.transaction_owners.sees, context.caller)
    live, ended = await context.broker.transactions.latest(SHOWN_MAX + 1, FINISHED_MAX, sees)
    lines = [line(each, context.now_ms) for each in live[:SHOWN_MAX]]
    return Transactions(
        [each for each in lines if each.status == "open"], [each for each in lines if each.status != "open"],
        [line(each, context.now_ms) for each in ended], may_see_all, len(live) > SHOWN_MAX,
    )  # fmt: skip


def line(each: Transaction, now_ms: int) -> Line:
    is_live = each.status in ("open", "committing", "aborting")
    return Line(
        str(each.id), each.status, each.principal or each.owner, max(now_ms - each.started_ms, 0),
        each.deadline_ms - now_ms if is_live else 0, len(each.partitions) if is_live else None,
        len(each.subscriptions) if is_live else None,
    )  # fmt: skip


class TransactionQuery(msgspec.Struct):
    id: str


class TxnPartition(msgspec.Struct):
    """held: records above the last stable offset that the transaction blocks.  is_cut: it wrote more than was counted.
    marker: commit or abort, if it has ended here."""

    topic: str
    partition: int
    first_offset: int | None
    held: int
    is_holding: bool
    consumers: list[str]  # subscriptions and groups of the topic
    last_offset: int | None = None
    records: int = 0
    batches: int = 0
    bytes: int = 0
    marker: str = ""
    is_cut: bool = False


class Acknowledged(msgspec.Struct):
    """pending: offsets that the transaction holds.  ranges: the first of them."""

    topic: str
    partition: int
    subscription: str
    pending: int
    ranges: list[str]
    group_offset: int | None
    is_cut: bool


class ShownStep(msgspec.Struct):
    """participant: "" for a step of the coordinator.  after_ms: since the begin; None if the time is not known."""

    name: str
    participant: str
    after_ms: int | None


class TransactionPage(msgspec.Struct):
    """are_steps_cut: the trace lacks steps of further participants, or those that the caller may not see."""

    id: str
    status: str
    owner: str
    age_ms: int
    left_ms: int
    timeout_ms: int
    timed_out: bool
    sentence: str
    level: Literal["good", "look", "bad"]
    steps: list[ShownStep]
    are_steps_cut: bool
    txn_partitions: list[TxnPartition]
    acknowledged: list[Acknowledged]
    has_more: bool
    may_abort: bool


@page("transaction", "Transaction", nav="transactions")
async def transaction(context: PageContext, query: TransactionQuery) -> TransactionPage:
    txn, owners = TxnId.parse(query.id), context.broker.transaction_owners
    await owners.check(context.caller, txn, Op.DESCRIBE)
    details = await context.broker.participant_details.of(txn, 0, PARTICIPANTS_MAX, ENTRIES_MAX)
    found = to_transaction(details.record)
    txn_partitions = await _txn_partitions(context, txn, details.partitions)
    shown = line(found, context.now_ms)
    _, trace = await context.broker.participant_details.traced(txn)
    steps = [_step(each, found.started_ms) for each in trace.steps if _sees_step(context, each)]
    owner = await owners.of(txn)
    may_abort = owners.is_own(context.caller, owner, Op.WRITE) or owners.may(context.caller, owner, Op.ALTER)
    return TransactionPage(
        shown.id, found.status, shown.owner, shown.age_ms, shown.left_ms, found.timeout_ms, found.timed_out,
        sentence(found.status, txn_partitions), level(shown.age_ms, txn_partitions), steps,
        trace.is_cut or len(steps) < len(trace.steps), txn_partitions,
        [_acknowledged(each) for each in details.subscriptions if _sees(context, each)], details.following is not None,
        may_abort and found.status == "open",
    )  # fmt: skip


async def _txn_partitions(context: PageContext, txn: TxnId, details: Sequence[PartitionDetails]) -> list[TxnPartition]:
    found = []
    for topic in dict.fromkeys(each.topic for each in details):
        if not context.may(Op.DESCRIBE, Resource.TOPIC, topic):
            continue
        try:
            held, names = await _held(context, txn, topic)
        except UnknownTopic:
            held, names = {}, []
        for each in details:
            if each.topic == topic:
                wrote, here = each.written, held.get(each.partition)
                found.append(
                    TxnPartition(
                        topic, each.partition, wrote.first_offset, here or 0, here is not None, names,
                        wrote.last_offset, wrote.records, wrote.batches, wrote.bytes, wrote.marker or "", each.is_cut,
                    )
                )  # fmt: skip
    return found


async def _held(context: PageContext, txn: TxnId, topic: str) -> tuple[dict[int, int], list[str]]:
    """The partitions whose stable offset the transaction holds, with the number of records that wait; and the topic's
    consumers."""
    _, states = await context.broker.topics.describe(topic)
    opened = await context.broker.topics.open_transactions(topic)
    listed = await context.broker.subscriptions.list(topic)
    first: dict[int, TxnId] = {}
    for each in opened:
        if each.holds_readers:
            first.setdefault(each.partition, each.transaction)
    held = {s.partition: s.end_offset - s.stable_offset for s in states if first.get(s.partition) == txn}
    return held, [name for name, _ in listed if context.may(Op.DESCRIBE, Resource.GROUP, name)]


def _sees(context: PageContext, each: SubscriptionDetails) -> bool:
    return context.may(Op.DESCRIBE, Resource.TOPIC, each.topic) and context.may(
        Op.DESCRIBE, Resource.GROUP, each.subscription
    )


def _sees_step(context: PageContext, step: Step) -> bool:
    return (not step.topic or context.may(Op.DESCRIBE, Resource.TOPIC, step.topic)) and (
        step.subscription is None or context.may(Op.DESCRIBE, Resource.GROUP, step.subscription)
    )


def _step(step: Step, began_ms: int) -> ShownStep:
    participant = f"{step.topic}:{step.partition} {step.subscription or ''}".rstrip() if step.topic else ""
    return ShownStep(step.name, participant, None if step.at_ms is None else max(step.at_ms - began_ms, 0))


def _acknowledged(each: SubscriptionDetails) -> Acknowledged:
    ranges = [f"{first}-{last}" if first < last else f"{first}" for first, last in each.ranges[:RANGES_MAX]]
    is_cut = each.is_cut or len(each.ranges) > RANGES_MAX
    return Acknowledged(
        each.topic, each.partition, each.subscription, each.pending, ranges, each.group_offset, is_cut
    )  # fmt: skip


def sentence(status: str, txn_partitions: list[TxnPartition]) -> str:
    """The effect on consumers."""
    held = [each for each in txn_partitions if each.is_holding]
    if status not in ("open", "committing", "aborting"):
        return f"The transaction is {status} and blocks no consumer."
    if not held:
        return "The transaction blocks no consumer: other records are not behind its own."
    names = sorted({name for each in held for name in each.consumers})
    held_back = sum(each.held for each in held)
    where = ", ".join(f"{each.topic}:{each.partition}" for each in held[:5])
    who = f"Blocked consumers: {', '.join(names[:5])}{' and others' if len(names) > 5 else ''}." if names else ""
    return f"It blocks {counted(held_back, 'record')} of {where} until it ends. {who}".strip()


def level(age_ms: int, txn_partitions: list[TxnPartition]) -> Literal["good", "look", "bad"]:
    if not any(each.is_holding for each in txn_partitions):
        return "good"
    return "bad" if age_ms >= HELD_MS_BAD else "look"


class Abort(msgspec.Struct):
    id: str
    confirm: Literal["abort"]


@action("transaction/abort", "transaction.abort", "id")
async def abort(context: PageContext, form: Abort) -> ActionResult:
    txn = TxnId.parse(form.id)
    await context.broker.transaction_owners.check(context.caller, txn, Op.ALTER)
    found = await context.broker.transactions.get(txn)
    await context.broker.transactions.abort(txn)
    message = f"Aborted transaction {form.id}; its records are discarded."
    return ActionResult(message, href("transaction", id=form.id), facts={"owner": found.owner})
