"""/v1/transactions: begin, add, get, list, commit, abort, and :execute for a transaction in one request."""

from __future__ import annotations

from functools import partial

import msgspec
from msgspec import UNSET, UnsetType

from redis_ledger.app.http.authorization import (
    BEGIN_TRANSACTION,
    EACH_OWN,
    OWN,
    OWN_OR_ALTER,
    OWN_OR_DESCRIBE,
    WRITE_TRANSACTIONAL_ID,
    create_check,
    own_transaction,
    path_transaction,
    transaction_principal,
)
from redis_ledger.app.http.idempotency import REPLAYED
from redis_ledger.app.http.operations import TRANSACTION_ERRORS, Routes
from redis_ledger.app.http.request import HttpRequest, HttpResponse, reply
from redis_ledger.app.http.routers.records import parse_records, scheduled_to_body
from redis_ledger.app.http.routers.subscriptions import message_ids
from redis_ledger.app.http.schemas import commit_all as bodies_together
from redis_ledger.app.http.schemas import core, examples, transaction_views
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.auth.requirement import each_name
from redis_ledger.broker.security.transaction_owners import Owner
from redis_ledger.broker.transactions.service import to_transaction
from redis_ledger.broker.types import ExecuteAcks, Executed, ExecuteRecords, Transaction
from redis_ledger.errors import (
    AlreadyCommitted,
    CoordinatorNotFound,
    DelayTooLong,
    InvalidDelay,
    InvalidPosition,
    InvalidRequest,
    InvalidTimeout,
    InvalidTopicName,
    InvalidTxnStatus,
    NotDelivered,
    NotYourMessage,
    RequestTooLarge,
    TooManyTransactions,
    TransactionAbortOnly,
    TransactionConflict,
    TransactionNotFound,
    TransactionQuotaExceeded,
    TransactionsDisabled,
    TransactionTimedOut,
    UnknownPartition,
    UnknownSubscription,
    UnknownTopic,
    WrongSubscriptionKind,
)
from redis_ledger.ids import TxnId
from redis_ledger.txn.commit_all import CommitNumber
from redis_ledger.txn.trace import Step

routes = Routes("transactions")
_READ_TOPICS, _WRITE_TOPICS = each_name(Op.READ, Resource.TOPIC), each_name(Op.WRITE, Resource.TOPIC)
_UNKNOWN = (TransactionNotFound, CoordinatorNotFound)
BEGIN_SLACK_MS = 60_000  # how long the key of a begin outlives its transaction


@routes.post(
    "/v1/transactions",
    requires=(BEGIN_TRANSACTION, WRITE_TRANSACTIONAL_ID),
    status=201,
    keyed=True,
    hot=True,
    optional=True,
    errors=(InvalidTimeout, TooManyTransactions, TransactionQuotaExceeded, TransactionsDisabled),
    examples=examples.BEGIN,
)
async def begin(request: HttpRequest, body: core.Begin) -> core.Transaction:
    """Begin a transaction.

    Produce and acknowledge with its id, then commit or abort it. It is aborted when its timeout expires.
    """
    request.broker.transactions.check_enabled()
    if body.together:
        request.check(Op.WRITE, Resource.TRANSACTIONAL_ID, body.together)
    owner = transaction_principal(request)
    begun = await request.broker.transactions.begin(
        body.timeout_ms, owner=body.owner, nonce=_nonce(request), together=body.together, principal=owner,
        quota_of=request.caller.principal,
    )  # fmt: skip
    _remember(request, begun.id, owner)
    if request.claim is not None:
        request.claim.keep(begun.timeout_ms + BEGIN_SLACK_MS)
    return to_body(request, begun)


@routes.get("/v1/transactions", requires=(), errors=(CoordinatorNotFound,), examples=examples.LIST_TRANSACTIONS)
async def list_transactions(request: HttpRequest, query: core.TransactionsQuery) -> core.Transactions:
    """List transactions, oldest first: the caller's own, or all with DESCRIBE on the cluster."""
    status = None if query.status is UNSET else query.status
    sees = partial(request.broker.transaction_owners.sees, request.caller) if request.broker.security.is_on else None
    found = await request.broker.transactions.list(
        status, query.min_age_ms, query.limit, query.owner, sees, min_timeout_ms=query.min_timeout_ms,
        coordinator=None if query.coordinator is UNSET else query.coordinator,
    )  # fmt: skip
    return core.Transactions(transactions=[to_body(request, transaction) for transaction in found])


@routes.get("/v1/transactions/{id}", requires=(OWN_OR_DESCRIBE,), errors=_UNKNOWN, examples=examples.TRANSACTION)
async def get_transaction(request: HttpRequest, id: str) -> transaction_views.TracedTransaction:
    """Show a transaction and its steps; ended transactions are retained for a limited time."""
    record, trace = await request.broker.participant_details.traced(TxnId.parse(id))
    steps = [_step(step) for step in trace.steps if _sees(request, step.topic, step.subscription)]
    return transaction_views.TracedTransaction(
        **msgspec.structs.asdict(to_body(request, to_transaction(record))), steps=steps,
        steps_cut=trace.is_cut or len(steps) < len(trace.steps),
    )  # fmt: skip


@routes.post(
    "/v1/transactions/{id}/partitions",
    requires=(OWN, each_name(Op.WRITE, Resource.TOPIC)),
    keyed=True,
    errors=(*TRANSACTION_ERRORS, InvalidTopicName, UnknownTopic, UnknownPartition),
    examples=examples.ADD_PARTITIONS,
)
async def add_partitions(request: HttpRequest, id: str, body: core.AddPartitions) -> core.Transaction:
    """Register partitions with a transaction before the first record; optional, producing registers them too."""
    named = [(each.topic, each.partition) for each in body.partitions]
    for topic, _ in named:
        request.check(Op.WRITE, Resource.TOPIC, topic)
    return to_body(request, await request.broker.transactions.add_partitions(path_transaction(request, id), named))


@routes.post(
    "/v1/transactions/{id}/subscriptions",
    requires=(OWN, each_name(Op.READ, Resource.TOPIC), each_name(Op.READ, Resource.GROUP)),
    keyed=True,
    errors=(*TRANSACTION_ERRORS, InvalidTopicName, UnknownTopic, UnknownSubscription),
    examples=examples.ADD_SUBSCRIPTIONS,
)
async def add_subscriptions(request: HttpRequest, id: str, body: core.AddSubscriptions) -> core.Transaction:
    """Register subscriptions with a transaction before the first acknowledgement; optional, as for partitions."""
    named = [(each.topic, each.subscription) for each in body.subscriptions]
    for topic, name in named:
        _check_acks(request, topic, name)
    return to_body(request, await request.broker.transactions.add_subscriptions(path_transaction(request, id), named))


@routes.post(
    "/v1/transactions/{id}:commit",
    requires=(OWN_OR_ALTER,),
    act="transaction.commit",
    keyed=True,
    hot=True,
    optional=True,
    errors=TRANSACTION_ERRORS,
    examples=examples.COMMIT,
)
async def commit(request: HttpRequest, id: str, body: core.Commit) -> core.Ended:
    """Commit a transaction; idempotent.

    The response is sent when all partitions and subscriptions have applied the commit, or with `"wait": "logged"` as
    soon as the decision is durable.
    """
    return _ended(await request.broker.transactions.commit(path_transaction(request, id), wait=body.wait))


@routes.post(
    "/v1/transactions/{id}:abort",
    requires=(OWN_OR_ALTER,),
    act="transaction.abort",
    keyed=True,
    optional=True,
    errors=(*_UNKNOWN, AlreadyCommitted, InvalidTxnStatus, TransactionsDisabled),
    examples=examples.ABORT,
)
async def abort(request: HttpRequest, id: str, body: core.Empty) -> core.Ended:
    """Abort a transaction; idempotent. Its records stay invisible, its acknowledgements are undone."""
    return _ended(await request.broker.transactions.abort(path_transaction(request, id)))


@routes.post(
    "/v1/transactions:commitAll",
    requires=(EACH_OWN, WRITE_TRANSACTIONAL_ID),
    keyed=True,
    errors=TRANSACTION_ERRORS,
    examples=examples.COMMIT_ALL,
)
async def commit_all(request: HttpRequest, body: bodies_together.CommitAll) -> bodies_together.CommittedAll:
    """Commit several transactions atomically; idempotent.

    All must have been begun with the same `together`. With `once`, under the same name, nothing is committed if an
    equal or higher number was committed before: the response has `already`, and the caller should abort its
    transactions. An error names the first transaction that cannot be committed.
    """
    request.broker.transactions.check_enabled()
    if isinstance(body.once, bodies_together.Once):
        request.check(Op.WRITE, Resource.TRANSACTIONAL_ID, body.once.name)
    txns = [txn for each in body.transactions if (txn := await own_transaction(request, each)) is not None]
    once = CommitNumber(body.once.name, body.once.number) if isinstance(body.once, bodies_together.Once) else None
    done = await request.broker.transactions.commit_all(txns, once, wait=body.wait)
    number = UNSET if done.number is None else done.number
    return bodies_together.CommittedAll(status=done.status, number=number)


@routes.get(
    "/v1/transactions:once", requires=(each_name(Op.DESCRIBE, Resource.TRANSACTIONAL_ID),), examples=examples.ONCE
)
async def once(request: HttpRequest, query: bodies_together.OnceQuery) -> bodies_together.OnceNumber:
    """Show the highest number committed under a name.

    It expires after `transactional_id_expiration_ms` without a commit under the name.
    """
    request.check(Op.DESCRIBE, Resource.TRANSACTIONAL_ID, query.name)
    number = await request.broker.transactions.together.number(query.name)
    return bodies_together.OnceNumber(name=query.name, number=number)


@routes.post(
    "/v1/transactions:execute",
    requires=(_READ_TOPICS, each_name(Op.READ, Resource.GROUP), _WRITE_TOPICS),
    keyed=True,
    hot=True,
    answers={200: core.Executed},
    errors=(
        InvalidTimeout, InvalidTopicName, UnknownTopic, UnknownPartition, UnknownSubscription, InvalidPosition,
        NotYourMessage, NotDelivered, WrongSubscriptionKind, TransactionConflict, TransactionAbortOnly,
        TransactionTimedOut, TooManyTransactions, TransactionsDisabled, InvalidDelay, DelayTooLong,
    ),
    examples=examples.EXECUTE,
)  # fmt: skip
async def execute(request: HttpRequest, body: core.Execute) -> HttpResponse:
    """Acknowledge and produce atomically, in one request.

    With an Idempotency-Key, a repeated request is not executed again. Without one, a request that only produces, and
    whose records are due now and form one batch of one partition, is appended without a transaction; its response has
    no `id`.
    """
    request.broker.transactions.check_enabled()
    if request.claim is not None and request.claim.resumed:
        earlier = await request.broker.execute.earlier(request.claim.nonce)
        if earlier is not None:
            return _executed(request, Executed(earlier, {}, True))
    if not body.acks and not body.records:
        raise InvalidRequest("$ is empty; give acks, records, or both.")
    for ack in body.acks:
        _check_acks(request, ack.topic, ack.subscription)
    for each in body.records:
        request.check(Op.WRITE, Resource.TOPIC, each.topic)
    acks = [
        ExecuteAcks(each.topic, each.subscription, each.consumer, message_ids(request, each.ids)) for each in body.acks
    ]
    records = [
        ExecuteRecords(
            each.topic,
            await parse_records(request, each.records, f"$.records[{index}].records"),
            create_check(request, each.topic),
        )
        for index, each in enumerate(body.records)
    ]
    limit = request.config.records_per_request_max
    if (count := sum(len(a.ids) for a in acks) + sum(len(r.records) for r in records)) > limit:
        raise RequestTooLarge(
            f"The request has {count} records and ids; at most {limit} are allowed. Split it; nothing was written.",
            records_per_request_max=limit,
        )
    done = await request.broker.execute.run(
        acks,
        records,
        timeout_ms=body.timeout_ms,
        nonce=_nonce(request),
        principal=transaction_principal(request),
        may_begin=lambda: request.claim is None or request.claim.is_ours,
    )
    return _executed(request, done)


def _executed(request: HttpRequest, done: Executed) -> HttpResponse:
    results = [
        core.ExecuteResult(
            topic=topic, partition=a.partition, base_offset=a.base_offset, records=a.records,
            scheduled=scheduled_to_body(a.scheduled),
        )
        for topic, appended in done.appended.items()
        for a in appended
    ]  # fmt: skip
    if request.claim is not None:
        request.claim.when_kept(partial(request.broker.execute.answered, request.claim.nonce))
    answer = reply(core.Executed(id=_id(done.transaction), status="committed", results=results))
    if done.replayed:
        answer.headers.append(REPLAYED)
    return answer


def _check_acks(request: HttpRequest, topic: str, subscription: str) -> None:
    request.check(Op.READ, Resource.GROUP, subscription)
    request.check(Op.READ, Resource.TOPIC, topic)


def _remember(request: HttpRequest, txn: TxnId, owner: str) -> None:
    if owner:
        request.broker.transaction_owners.remember(txn, Owner(owner))


def _id(transaction: TxnId | None) -> str | UnsetType:
    return UNSET if transaction is None else str(transaction)


def _nonce(request: HttpRequest) -> str:
    return "" if request.claim is None else request.claim.nonce


def _ended(transaction: Transaction) -> core.Ended:
    return core.Ended(id=str(transaction.id), status=transaction.status)


def _sees(request: HttpRequest, topic: str, subscription: str | None = None) -> bool:
    return not topic or (
        request.allows(Op.DESCRIBE, Resource.TOPIC, topic)
        and (subscription is None or request.allows(Op.DESCRIBE, Resource.GROUP, subscription))
    )


def _step(step: Step) -> transaction_views.TransactionStep:
    return transaction_views.TransactionStep(
        name=step.name,
        at_ms=UNSET if step.at_ms is None else step.at_ms,
        topic=step.topic or UNSET,
        partition=step.partition if step.topic else UNSET,
        subscription=step.subscription or UNSET,
    )


def to_body(request: HttpRequest, transaction: Transaction) -> core.Transaction:
    """Includes only topics and subscriptions that the caller may describe."""

    return core.Transaction(
        id=str(transaction.id), status=transaction.status, timeout_ms=transaction.timeout_ms,
        started_ms=transaction.started_ms, deadline_ms=transaction.deadline_ms, timed_out=transaction.timed_out,
        owner=transaction.owner, principal=transaction.principal or UNSET,
        partitions=[
            core.TopicPartition(topic=topic, partition=number)
            for topic, number in transaction.partitions
            if _sees(request, topic)
        ],
        subscriptions=[
            core.TransactionSubscription(topic=topic, partition=number, subscription=name)
            for topic, number, name in transaction.subscriptions
            if _sees(request, topic, name)
        ],
    )  # fmt: skip
