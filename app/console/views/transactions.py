"""Transactions: those that are open or ended lately, one with whom it holds up, and ending one by force."""

from __future__ import annotations

from functools import partial
from typing import Literal

import msgspec

from redis_ledger.app.console.health import HELD_MS_BAD
from redis_ledger.app.console.pages import Done, Nothing, Visit, act, href, page
from redis_ledger.app.console.rendering import counted
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.broker.types import Transaction
from redis_ledger.errors import UnknownTopic
from redis_ledger.ids import TxnId

SHOWN_MAX = 200
FINISHED_MAX = 50


class Line(msgspec.Struct):
    """left_ms: until its deadline, negative when that has passed; 0 when it has ended.  partitions, subscriptions: how
    many take part, None when it has ended: that is not remembered."""

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
async def transactions(visit: Visit, query: Nothing) -> Transactions:
    """Who may not see the cluster sees its own."""
    may_see_all = visit.may(Op.DESCRIBE, Resource.CLUSTER)
    sees = None if may_see_all else partial(visit.broker.transaction_owners.sees, visit.caller)
    live, ended = await visit.broker.transactions.latest(SHOWN_MAX + 1, FINISHED_MAX, sees)
    lines = [line(each, visit.now_ms) for each in live[:SHOWN_MAX]]
    return Transactions(
        [each for each in lines if each.status == "open"], [each for each in lines if each.status != "open"],
        [line(each, visit.now_ms) for each in ended], may_see_all, len(live) > SHOWN_MAX,
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


class Touched(msgspec.Struct):
    """held: records behind the stable position that readers of committed records do not get because of it."""

    topic: str
    partition: int
    first_offset: int
    held: int
    is_holding: bool
    waiting: list[str]  # subscriptions and groups that read there


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
    touched: list[Touched]
    acknowledged: list[tuple[str, int, str]]
    may_abort: bool


@page("transaction", "Transaction", nav="transactions")
async def transaction(visit: Visit, query: TransactionQuery) -> TransactionPage:
    txn, owners = TxnId.parse(query.id), visit.broker.transaction_owners
    await owners.check(visit.caller, txn, Op.DESCRIBE)
    found = await visit.broker.transactions.get(txn)
    touched = await _touched(visit, found)
    shown = line(found, visit.now_ms)
    owner = await owners.of(txn)
    may_abort = owners.is_own(visit.caller, owner, Op.WRITE) or owners.may(visit.caller, owner, Op.ALTER)
    return TransactionPage(
        shown.id, found.status, shown.owner, shown.age_ms, shown.left_ms, found.timeout_ms, found.timed_out,
        sentence(found.status, touched), level(shown.age_ms, touched), touched, found.subscriptions,
        may_abort and found.status == "open",
    )  # fmt: skip


async def _touched(visit: Visit, found: Transaction) -> list[Touched]:
    topics = visit.broker.topics
    touched = []
    for topic in dict.fromkeys(name for name, _ in found.partitions):
        if not visit.may(Op.DESCRIBE, Resource.TOPIC, topic):
            continue
        try:
            _, states = await topics.describe(topic)
            opened = await topics.holding(topic)
            listed = await visit.broker.subscriptions.list(topic)
            names = [name for name, _ in listed if visit.may(Op.DESCRIBE, Resource.GROUP, name)]
        except UnknownTopic:
            continue
        for state in states:
            here = [each for each in opened if each.partition == state.partition]
            own = [each for each in here if each.transaction == found.id]
            if not own:
                continue
            is_first = here[0].transaction == found.id
            held = state.end_offset - state.stable_offset if is_first else 0
            touched.append(Touched(topic, state.partition, own[0].first_offset, held, is_first, names))
    return touched


def sentence(status: str, touched: list[Touched]) -> str:
    """What it means for others."""
    held = [each for each in touched if each.is_holding]
    if status not in ("open", "committing", "aborting"):
        return f"It was {status}; nobody waits for it."
    if not held:
        return "It holds nobody up: it has written nothing that others would get next."
    names = sorted({name for each in held for name in each.waiting})
    held_back = sum(each.held for each in held)
    where = ", ".join(f"{each.topic}:{each.partition}" for each in held[:5])
    who = f"Waiting there: {', '.join(names[:5])}{' and others' if len(names) > 5 else ''}." if names else ""
    return f"Readers of {where} do not get {counted(held_back, 'record')} until it ends. {who}".strip()


def level(age_ms: int, touched: list[Touched]) -> Literal["good", "look", "bad"]:
    if not any(each.is_holding for each in touched):
        return "good"
    return "bad" if age_ms >= HELD_MS_BAD else "look"


class Abort(msgspec.Struct):
    id: str
    confirm: Literal["abort"]


@act("transaction/abort", "transaction.abort", "id")
async def abort(visit: Visit, form: Abort) -> Done:
    txn = TxnId.parse(form.id)
    await visit.broker.transaction_owners.check(visit.caller, txn, Op.ALTER)
    found = await visit.broker.transactions.get(txn)
    await visit.broker.transactions.abort(txn)
    said = f"Aborted transaction {form.id}; what it wrote is not seen by anybody."
    return Done(said, href("transaction", id=form.id), facts={"owner": found.owner})
