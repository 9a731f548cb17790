"""Positions of groups and subscriptions: reset to an end of the log, a time or a snapshot, and the snapshot itself."""

from __future__ import annotations

from typing import Literal

import msgspec

from redis_ledger.app.console.pages import ActionResult, PageContext, action, href, page
from redis_ledger.app.console.rights import DESCRIBES, ONE, READS
from redis_ledger.app.console.time_inputs import moment, shown
from redis_ledger.app.http.cursor_snapshots import document, snapshot_of
from redis_ledger.app.http.schemas.subscriptions import SubscriptionSnapshot
from redis_ledger.broker.subscriptions.cursor_snapshots import CursorSnapshot
from redis_ledger.broker.types import SubscriptionStats
from redis_ledger.errors import InvalidRequest


class Seek(msgspec.Struct):
    """time: ISO 8601, by default UTC, if to is "time".  snapshot: the document, if to is "snapshot"."""

    topic: str
    name: str
    to: Literal["earliest", "latest", "time", "snapshot"]
    time: str = ""
    snapshot: str = ""


@action("subscription/seek", "subscription.seek", *ONE, requires=READS)
async def seek(context: PageContext, form: Seek) -> ActionResult:
    where: str = form.to
    cursors = context.broker.cursors
    if form.to == "time":
        at_ms = moment(form.time)
        where, stats = shown(at_ms), await cursors.seek(form.topic, form.name, timestamp_ms=at_ms)
    elif form.to == "snapshot":
        given, taken = _parsed(form.snapshot)
        where = f"the snapshot of {given.subscription} from {taken}"
        stats = await context.broker.cursor_snapshots.seek(form.topic, form.name, given)
    else:
        stats = await cursors.seek(form.topic, form.name, to=form.to)
    return ActionResult(f"Reset {form.name} on {form.topic} to {where}.", _back(stats), facts={"to": where})


class SnapshotQuery(msgspec.Struct):
    topic: str
    name: str


class SnapshotPage(msgspec.Struct):
    topic: str
    name: str
    kind: str
    taken_ms: int
    text: str


@page("snapshot", "Snapshot", nav="groups", requires=DESCRIBES)
async def snapshot(context: PageContext, query: SnapshotQuery) -> SnapshotPage:
    found = await context.broker.cursor_snapshots.take(query.topic, query.name)
    text = msgspec.json.encode(document(found)).decode()
    return SnapshotPage(found.topic, found.subscription, found.kind, found.taken_ms, text)


def _parsed(text: str) -> tuple[CursorSnapshot, str]:
    """The snapshot, and when it was taken."""
    if not text.strip():
        raise InvalidRequest("Paste the snapshot to return to.")
    try:
        given = snapshot_of(msgspec.json.decode(text, type=SubscriptionSnapshot))
        return given, shown(given.taken_ms)
    except (msgspec.MsgspecError, ValueError, OverflowError) as error:  # these two: of a year above 9999
        raise InvalidRequest(f"This is not a snapshot of a subscription: {error}.") from None


def _back(stats: SubscriptionStats) -> str:
    if stats.kind == "kafka":
        return href("group", name=stats.name)
    return href("subscription", topic=stats.topic, name=stats.name)
