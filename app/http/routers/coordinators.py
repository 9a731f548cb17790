"""/v1/coordinators: statistics and logs of the transaction coordinators, and their number."""

from __future__ import annotations

from functools import partial
from urllib.parse import unquote

from msgspec import UNSET

from redis_ledger.app.http.authorization import ALTER_CLUSTER, DESCRIBE_CLUSTER
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.schemas import examples_transaction_views as examples
from redis_ledger.app.http.schemas import transaction_views as bodies
from redis_ledger.broker.security import transaction_owners
from redis_ledger.broker.transactions.coordinator_views import CoordinatorViews
from redis_ledger.errors import CoordinatorNotFound, TransactionNotFound
from redis_ledger.ids import TxnId
from redis_ledger.proto.txn_log_pb2 import TransactionLogRecord
from redis_ledger.store.keys import CoordinatorKeys
from redis_ledger.txn.coordinator import Participant
from redis_ledger.txn.coordinator_stats import CoordinatorStats
from redis_ledger.txn.log import LoggedRecord

routes = Routes("coordinators")
_ONE = "/v1/coordinators/{coordinator}"
_KINDS: dict[int, bodies.LogKind] = {1: "new", 2: "add_partition", 3: "add_subscription", 4: "update"}
_STATUS: dict[int, bodies.LogStatus] = {1: "open", 2: "committing", 3: "committed", 4: "aborting", 5: "aborted"}


@routes.get("/v1/coordinators", requires=(DESCRIBE_CLUSTER,), examples=examples.LIST_COORDINATORS)
async def list_coordinators(request: HttpRequest, query: bodies.CoordinatorsQuery) -> bodies.Coordinators:
    """List the transaction coordinators with their statistics.

    Coordinators have no owner: their state is in Redis, and every broker serves all of them.
    """
    views = request.broker.coordinator_views
    found = await views.page(query.first, query.limit)
    return bodies.Coordinators(count=views.count, coordinators=[_to_body(request, views, each) for each in found])


@routes.patch(
    "/v1/coordinators", requires=(ALTER_CLUSTER,), act="coordinators.raise", examples=examples.RAISE_COORDINATORS
)
async def raise_coordinators(request: HttpRequest, body: bodies.RaiseCount) -> bodies.CoordinatorCount:
    """Raise the number of transaction coordinators; it cannot be lowered.

    Other brokers use the new ones within a second. Transactional ids stay where they are.
    """
    request.target, request.facts = "coordinators", {"count": body.count}
    return bodies.CoordinatorCount(count=await request.broker.coordinator_views.raise_count(body.count))


@routes.get(_ONE, requires=(DESCRIBE_CLUSTER,), errors=(CoordinatorNotFound,), examples=examples.COORDINATOR)
async def get_coordinator(request: HttpRequest, coordinator: str) -> bodies.Coordinator:
    """Show the statistics of a transaction coordinator."""
    views = request.broker.coordinator_views
    return _to_body(request, views, await views.stats(_number(coordinator)))


@routes.get(
    f"{_ONE}/log",
    requires=(DESCRIBE_CLUSTER,),
    errors=(CoordinatorNotFound, TransactionNotFound),
    examples=examples.COORDINATOR_LOG,
)
async def coordinator_log(request: HttpRequest, coordinator: str, query: bodies.LogQuery) -> bodies.LogPage:
    """Show the transaction log of a coordinator, decoded, oldest first.

    Records of ended transactions are deleted with the last live record of their entry. A response may have fewer
    records than the limit, or none, and still `next`.
    """
    number = _number(coordinator)
    txn = None if query.transaction is UNSET else TxnId.parse(query.transaction)
    found = await request.broker.coordinator_views.log(number, query.first, query.limit, txn)
    return bodies.LogPage(records=[to_log_record(number, each) for each in found.records], next=found.following)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 5:
        raise CoordinatorNotFound(f"{text[:80]!r} is not a coordinator; coordinators are numbered from 0.")
    return int(text)


def _to_body(request: HttpRequest, views: CoordinatorViews, found: CoordinatorStats) -> bodies.Coordinator:
    log = bodies.CoordinatorLog(
        key=CoordinatorKeys(request.config.prefix, found.number).log.decode(), entries=found.log_entries,
        entries_written=found.log_entries_written, first_entry=found.log_first_entry, last_entry=found.log_last_entry,
        bytes=found.log_bytes,
    )  # fmt: skip
    return bodies.Coordinator(
        number=found.number, since_ms=found.since_ms, last_serial=found.last_serial, low_watermark=found.low_watermark,
        open=found.live, created=found.created, committed=found.committed, aborted=found.aborted,
        timed_out=found.timed_out, oldest_age_ms=views.age_ms(found), takeovers=found.takeovers, log=log,
    )  # fmt: skip


def to_log_record(coordinator: int, logged: LoggedRecord) -> bodies.LogRecord:
    record = logged.record
    found = partial(bodies.LogRecord, entry=logged.entry, index=logged.position, size=logged.size, live=logged.is_live)
    if record is None:
        return found(kind="unreadable")
    principal, owner = transaction_owners.read(unquote(record.owner))
    return found(
        kind=_KINDS.get(record.op, "unreadable"),
        transaction=f"{coordinator}-{record.serial}",
        from_status=_STATUS.get(record.expected_status, UNSET),
        to_status=_STATUS.get(record.new_status, UNSET),
        participants=_participants(record) or UNSET,
        timeout_ms=record.timeout_ms or UNSET,
        started_ms=record.started_ms or UNSET,
        time_ms=record.time_ms,
        max_serial=int(record.max_serial),
        owner=owner or UNSET,
        principal=principal or UNSET,
    )


def _participants(record: TransactionLogRecord) -> list[bodies.LogParticipant]:
    found = map(Participant.parse, record.participants)
    return [
        bodies.LogParticipant(topic=p.topic, partition=p.partition, subscription=p.subscription or UNSET) for p in found
    ]
