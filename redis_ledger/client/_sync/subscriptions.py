"""Subscriptions, as an operator sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from redis_ledger.client import arguments
from redis_ledger.client._sync.admin import transaction_text
from redis_ledger.client._sync.transport import Transport, path
from redis_ledger.client.inspection_models import (
    BacklogAnalysis,
    LagPage,
    PendingAcknowledgements,
    RecordState,
    SubscriptionLag,
)
from redis_ledger.client.models import Kind
from redis_ledger.client.snapshots import Snapshot
from redis_ledger.client.subscription_models import Extended, Subscription, SubscriptionStats
from redis_ledger.client.values import IDS_MAX, id_of, ids_of
from redis_ledger.ids import MessageId, TxnId

Reason: TypeAlias = Literal["max_deliveries", "max_attempts", "expired", "explicit"]
# A method named `list` would hide the type within the class.
SubscriptionList: TypeAlias = list[Subscription]


class _Subscriptions(msgspec.Struct):
    subscriptions: list[Subscription]


class _PutBack(msgspec.Struct):
    put_back: int


class Subscriptions:
    """client.subscriptions.create("orders", "billing")"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self, topic: str, name: str, kind: Kind = "shared", start: Literal["earliest", "latest"] = "earliest"
    ) -> SubscriptionStats:
        """Creates it, or finds it when it exists with this kind.  Raises SubscriptionExists when the kind is another.

        client.subscriptions.create("orders", "billing", kind="exclusive", start="latest")
        """
        body = {"name": name, "kind": kind, "start": start}
        return self._transport.call(
            "POST", path("topics", topic, "subscriptions"), body, answer=SubscriptionStats, idempotency_key=True
        )

    def list(self, topic: str) -> SubscriptionList:
        """[(s.name, s.kind) for s in client.subscriptions.list("orders")]"""
        found = self._transport.call("GET", path("topics", topic, "subscriptions"), answer=_Subscriptions)
        return found.subscriptions

    def stats(self, topic: str, name: str) -> SubscriptionStats:
        """(client.subscriptions.stats("orders", "billing")).backlog"""
        return self._transport.call("GET", path("topics", topic, "subscriptions", name), answer=SubscriptionStats)

    def lag(self, topic: str, name: str, *, from_partition: int = 0) -> SubscriptionLag:
        """How far a subscription or Kafka group is behind, by partition.  next_partition of an answer is the
        from_partition of the next page.

        (client.subscriptions.lag("orders", "billing")).lag
        """
        params = {"from_partition": from_partition}
        return self._transport.call("GET", path("topics", topic, "lag", name), answer=SubscriptionLag, params=params)

    def lags(
        self, topic: str | None = None, name: str | None = None, *, limit: int = 100, after: str | None = None
    ) -> LagPage:
        """How far subscriptions and Kafka groups are behind: of a topic, of a name on all topics, or all.  `next` of an
        answer is the `after` of the next page.

        [(each.topic, each.lag) for each in (client.subscriptions.lags(name="billing")).lags]
        """
        params: dict[str, str | int] = {"limit": limit}
        given = {"topic": topic, "name": name, "after": after}
        params |= {each: value for each, value in given.items() if value is not None}
        return self._transport.call("GET", path("lags"), answer=LagPage, params=params)

    def delete(self, topic: str, name: str) -> None:
        """Deletes a subscription, or the offsets of a Kafka group, which must have no members.

        client.subscriptions.delete("orders", "billing")
        """
        self._transport.call("DELETE", path("topics", topic, "subscriptions", name), answer=type(None))

    def seek(
        self,
        topic: str,
        name: str,
        to: Literal["earliest", "latest"] | None = None,
        *,
        offsets: Mapping[int, int] | None = None,
        timestamp_ms: int | None = None,
        snapshot: Snapshot | None = None,
    ) -> SubscriptionStats:
        """Moves a subscription, or a Kafka group without members; give one of `to`, `offsets` (by partition),
        `timestamp_ms` and `snapshot`, which is of a subscription of the same topic and kind.

        client.subscriptions.seek("orders", "billing", offsets={0: 1200})
        """
        body: dict[str, Any] = {}
        if to is not None:
            body["to"] = to
        if offsets is not None:
            body["offsets"] = {
                str(partition): offset for partition, offset in arguments.mapping("offsets", offsets).items()
            }
        if timestamp_ms is not None:
            body["timestamp_ms"] = timestamp_ms
        if snapshot is not None:
            body["snapshot"] = snapshot
        return self._transport.call(
            "POST", path("topics", topic, "subscriptions", name, call=":seek"), body, answer=SubscriptionStats
        )

    def snapshot(self, topic: str, name: str) -> Snapshot:
        """What is acknowledged, for a later seek to this state.  Nothing is stored at the broker.

        before = client.subscriptions.snapshot("orders", "billing")
        client.subscriptions.seek("orders", "billing", snapshot=before)
        """
        return self._transport.call("GET", path("topics", topic, "snapshot", name), answer=Snapshot)

    def extend(
        self,
        topic: str,
        name: str,
        consumer: str,
        ids: Sequence[MessageId | str] | None = None,
        *,
        ack_timeout_ms: int | None = None,
        timeout_ms: int | None = None,
    ) -> Extended:
        """Extends leases of a consumer to ack_timeout_ms from now on; ids None: all of them.  `consumer.extend` does it
        for a consumer of this client.

        client.subscriptions.extend("orders", "billing", "worker-1", ack_timeout_ms=600_000)
        """
        arguments.check_kind("consumer", consumer, arguments.TEXT)
        for given, value in (("ack_timeout_ms", ack_timeout_ms), ("timeout_ms", timeout_ms)):
            arguments.check_kind(given, value, arguments.POSITIVE._replace(may_be_none=True))
        body: dict[str, Any] = {"consumer": consumer}
        if ack_timeout_ms is not None:
            body["ack_timeout_ms"] = ack_timeout_ms
        texts = [] if ids is None else [str(each) for each in ids_of(ids)]
        parts: list[dict[str, Any]] = [{"all": True}] if ids is None else [
            {"ids": texts[at : at + IDS_MAX]} for at in range(0, len(texts), IDS_MAX)
        ]  # fmt: skip
        where, done = path("topics", topic, "subscriptions", name, call=":extend"), Extended(0)
        for part in parts:
            found = self._transport.call("POST", where, {**body, **part}, answer=Extended, timeout_ms=timeout_ms)
            done = Extended(done.extended + found.extended, done.lost + found.lost)
        return done

    def set_dead_letters(
        self,
        topic: str,
        name: str,
        max_deliveries: int,
        dead_letter_topic: str | None = None,
        *,
        retry_topic: str | None = None,
        max_attempts: int = 0,
        expire_ms: int = 0,
    ) -> SubscriptionStats:
        """What was delivered max_deliveries times goes to the dead-letter topic instead of being delivered again; 0,
        without a topic, removes the rule.

        retry_topic    where messages wait that a consumer reconsumes later; made with a subscription of this name
        max_attempts   how often a message goes there before it becomes a dead letter; 0: without a limit
        expire_ms      age of a message that is moved without being delivered; 0: never

        client.subscriptions.set_dead_letters("orders", "billing", 5, "orders.dead")
        """
        body: dict[str, Any] = {"max_deliveries": max_deliveries}
        if dead_letter_topic is not None:
            body["topic"] = dead_letter_topic
        if retry_topic is not None:
            body["retry_topic"] = retry_topic
        if max_attempts:
            body["max_attempts"] = max_attempts
        if expire_ms:
            body["expire_ms"] = expire_ms
        return self._transport.call(
            "POST", path("topics", topic, "subscriptions", name, call=":deadLetters"), body, answer=SubscriptionStats
        )

    def set_redelivery(
        self, topic: str, name: str, min_ms: int, factor: float = 2.0, max_ms: int | None = None
    ) -> SubscriptionStats:
        """How long a message waits that was nacked or not acknowledged in time: min_ms the first time, factor times as
        long each further time, at most max_ms (default 64 times min_ms).  min_ms 0 removes the rule.

        client.subscriptions.set_redelivery("orders", "billing", 1_000, max_ms=60_000)
        """
        body: dict[str, Any] = {"min_ms": min_ms, "factor": factor}
        if max_ms is not None:
            body["max_ms"] = max_ms
        return self._transport.call(
            "POST", path("topics", topic, "subscriptions", name, call=":redelivery"), body, answer=SubscriptionStats
        )

    def put_back(
        self,
        topic: str,
        name: str,
        limit: int = 100,
        *,
        reason: Reason | None = None,
        origin_topic: str | None = None,
        from_ms: int | None = None,
        until_ms: int | None = None,
    ) -> int:
        """Of the next `limit` messages of a dead-letter topic's subscription, how many went back to the topics they
        came from.

        reason, origin_topic, from_ms, until_ms: only those that became dead letters for this reason, came from this
        topic, and died in this time; up to `limit` of the next 10 000.

        client.subscriptions.put_back("orders.dead", "inspection")
        """
        where = path("topics", topic, "subscriptions", name, call=":putBack")
        only = {"reason": reason, "origin_topic": origin_topic, "from_ms": from_ms, "until_ms": until_ms}
        body = {"limit": limit, **{member: value for member, value in only.items() if value is not None}}
        found = self._transport.call("POST", where, body, answer=_PutBack, idempotency_key=True)
        return found.put_back

    def note_offsets(
        self, topic: str, name: str, offsets: Mapping[int, int], txn: TxnId | str | None = None
    ) -> SubscriptionStats:
        """How far a reader has come that keeps offsets of its own: by partition, what it reads next.  It shows as a
        subscription of the kind "kafka".  txn: they count when it commits.

        client.subscriptions.note_offsets("orders", "nightly", {0: 1200}, txn="3-3821040230400")
        """
        body: dict[str, Any] = {
            "offsets": {str(partition): offset for partition, offset in arguments.mapping("offsets", offsets).items()}
        }
        if txn is not None:
            body["transaction"] = transaction_text(txn)
        return self._transport.call(
            "POST", path("topics", topic, "subscriptions", name, call=":noteOffsets"), body, answer=SubscriptionStats
        )

    def pending(
        self,
        topic: str,
        name: str,
        *,
        partition: int | None = None,
        from_partition: int = 0,
        transaction: TxnId | str | None = None,
        max_ranges: int = 100,
        low_watermarks: bool = False,
    ) -> PendingAcknowledgements:
        """What open transactions have acknowledged, by partition.  next_partition of an answer is the from_partition
        of the next page.

        (client.subscriptions.pending("orders", "billing")).partitions[0].transactions
        """
        params: dict[str, str | int] = {"from_partition": from_partition, "max_ranges": max_ranges}
        if partition is not None:
            params["partition"] = partition
        if transaction is not None:
            params["transaction"] = transaction_text(transaction)
        if low_watermarks:
            params["low_watermarks"] = "true"
        where = path("topics", topic, "pending", name)
        return self._transport.call("GET", where, answer=PendingAcknowledgements, params=params)

    def record_state(self, topic: str, name: str, id: MessageId | str, batch_index: int | None = None) -> RecordState:
        """Whether a record was delivered and acknowledged, and if not, why.  id: "partition:offset".  batch_index: of
        the record at this place, from 0, in the batch that has the offset.

        (client.subscriptions.record_state("orders", "billing", "0:17")).state
        """
        at = id_of(id)
        where = path("topics", topic, "partitions", at.partition, "records", at.offset, "subscriptions", name)
        params = None if batch_index is None else {"batch_index": batch_index}
        return self._transport.call("GET", where, answer=RecordState, params=params)

    def analyze_backlog(
        self, topic: str, name: str, partition: int, *, from_offset: int = 0, max_entries: int = 10_000
    ) -> BacklogAnalysis:
        """Counts records, markers and aborted records of the backlog on one partition.  Unless it is complete, go on at
        next_offset.

        (client.subscriptions.analyze_backlog("orders", "billing", 0)).records
        """
        params = {"from_offset": from_offset, "max_entries": max_entries}
        where = path("topics", topic, "partitions", partition, "backlog", name)
        return self._transport.call("GET", where, answer=BacklogAnalysis, params=params)
