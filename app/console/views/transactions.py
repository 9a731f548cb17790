"""Transactions: open and recently ended ones, details with the blocked consumers, abort."""

from __future__ import annotations

from functools import partial
from typing import Literal

import msgspec

from redis_ledger.app.console.health import HELD_MS_BAD
from redis_ledger.app.console.pages import ActionResult, NoParameters, PageContext, action, href, page
from redis_ledger.app.console.rendering import counted
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.types import Transaction
from redis_ledger.errors import UnknownTopic
from redis_ledger.ids import TxnId

SHOWN_MAX = 200
FINISHED_MAX = 50


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
    """held: records above the last stable offset that the transaction blocks."""

    topic: str
    partition: int
    first_offset: int
    held: int
    is_holding: bool
    consumers: list[str]  # subscriptions and groups of the topic


class TransactionPage(msgspec.Struct):
    id: str
    status: str
    owner: str
    age_ms: int
    left_ms: int
    timeout_ms: int
    timed_out: bool
    sentence: str
    level: Literal["good", "look", "bad"]
    txn_partitions: list[TxnPartition]
    acknowledged: list[tuple[str, int, str]]
    may_abort: bool


@page("transaction", "Transaction", nav="transactions")
async def transaction(context: PageContext, query: TransactionQuery) -> TransactionPage:
    txn, owners = TxnId.parse(query.id), context.broker.transaction_owners
    await owners.check(context.caller, txn, Op.DESCRIBE)
    found = await context.broker.transactions.get(txn)
    txn_partitions = await _txn_partitions(context, found)
    shown = line(found, context.now_ms)
    owner = await owners.of(txn)
    may_abort = owners.is_own(context.caller, owner, Op.WRITE) or owners.may(context.caller, owner, Op.ALTER)
    return TransactionPage(
        shown.id, found.status, shown.owner, shown.age_ms, shown.left_ms, found.timeout_ms, found.timed_out,
        sentence(found.status, txn_partitions), level(shown.age_ms, txn_partitions), txn_partitions,
        found.subscriptions, may_abort and found.status == "open",
    )  # fmt: skip


async def _txn_partitions(context: PageContext, found: Transaction) -> list[TxnPartition]:
    topics = context.broker.topics
    txn_partitions = []
    for topic in dict.fromkeys(name for name, _ in found.partitions):
        if not context.may(Op.DESCRIBE, Resource.TOPIC, topic):
            continue
        try:
            _, states = await topics.describe(topic)
            opened = await topics.open_transactions(topic)
            listed = await context.broker.subscriptions.list(topic)
            names = [name for name, _ in listed if context.may(Op.DESCRIBE, Resource.GROUP, name)]
        except UnknownTopic:
            continue
        for state in states:
            here = [each for each in opened if each.partition == state.partition]
            own = [each for each in here if each.transaction == found.id]
            if not own:
                continue
            is_first = here[0].transaction == found.id
            held = state.end_offset - state.stable_offset if is_first else 0
            txn_partitions.append(TxnPartition(topic, state.partition, own[0].first_offset, held, is_first, names))
    return txn_partitions


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
