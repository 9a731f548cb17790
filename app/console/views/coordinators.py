"""Transaction coordinators: the list, and one with its log."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from redis_ledger.app.console.pages import PageContext, page
from redis_ledger.app.console.paging import Paged, PageNumber, paged
from redis_ledger.auth.acl import Op
from redis_ledger.auth.requirement import cluster
from redis_ledger.ids import COORDINATORS_MAX
from redis_ledger.proto.txn_log_pb2 import TransactionLogOp, TransactionLogStatus
from redis_ledger.txn.coordinator_stats import CoordinatorStats
from redis_ledger.txn.log import LoggedRecord

RECORDS_MAX = 200
PARTICIPANTS_MAX = 10  # shown of one record


class CoordinatorLine(msgspec.Struct):
    stats: CoordinatorStats
    oldest_age_ms: int | None


class CoordinatorsQuery(msgspec.Struct):
    page: PageNumber = 1


class CoordinatorsPage(msgspec.Struct):
    coordinators: list[CoordinatorLine]
    shown: Paged


@page("coordinators", "Coordinators", nav="brokers", requires=cluster(Op.DESCRIBE))
async def coordinators(context: PageContext, query: CoordinatorsQuery) -> CoordinatorsPage:
    views = context.broker.coordinator_views
    chosen, shown = paged(range(views.count), query.page)
    found = await views.page(chosen[0], len(chosen)) if chosen else []
    return CoordinatorsPage([CoordinatorLine(each, views.age_ms(each)) for each in found], shown)


class CoordinatorQuery(msgspec.Struct):
    number: Annotated[int, Meta(ge=0, lt=COORDINATORS_MAX)]
    first: Annotated[int, Meta(ge=0)] = 0


class LogLine(msgspec.Struct):
    """place: of the record among those of its entry."""

    entry: int
    place: str
    kind: str
    transaction: str
    status: str
    participants: str
    time_ms: int | None
    is_live: bool


class CoordinatorPage(msgspec.Struct):
    line: CoordinatorLine
    records: list[LogLine]
    following: int | None


@page("coordinator", "Coordinator", nav="brokers", requires=cluster(Op.DESCRIBE))
async def coordinator(context: PageContext, query: CoordinatorQuery) -> CoordinatorPage:
    views = context.broker.coordinator_views
    stats = await views.stats(query.number)
    found = await views.log(query.number, query.first, RECORDS_MAX)
    records = [log_line(query.number, each) for each in found.records]
    return CoordinatorPage(CoordinatorLine(stats, views.age_ms(stats)), records, found.following)


def log_line(coordinator: int, logged: LoggedRecord) -> LogLine:
    place, record = f"{logged.position + 1} of {logged.size}", logged.record
    if record is None:
        return LogLine(logged.entry, place, "unreadable", "", "", "", None, logged.is_live)
    states = [TransactionLogStatus.Name(each).lower() for each in (record.expected_status, record.new_status) if each]
    names = [*record.participants[:PARTICIPANTS_MAX]]
    more = len(record.participants) - len(names)
    return LogLine(
        logged.entry, place, TransactionLogOp.Name(record.op).lower().replace("_", " "),
        f"{coordinator}-{record.serial}", " to ".join(states),
        ", ".join(names) + (f" and {more} more" if more else ""), record.time_ms, logged.is_live,
    )  # fmt: skip
