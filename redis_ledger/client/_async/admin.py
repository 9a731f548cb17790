"""Topics, subscriptions and transactions, as an operator sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import monotonic
from typing import Any, Literal, TypeAlias

import msgspec

from redis_ledger.client import arguments
from redis_ledger.client._async.transport import AsyncTransport, path
from redis_ledger.client.models import (
    CommittedAll,
    Isolation,
    Kind,
    OffsetFound,
    Subscription,
    SubscriptionStats,
    Topic,
    TopicDescription,
    TransactionStatus,
)
from redis_ledger.errors import UnknownTopic
from redis_ledger.ids import TxnId

PARTITION_COUNT_S = 60.0

# Methods named `list` would hide the type within their classes.
TopicList: TypeAlias = list[Topic]
SubscriptionList: TypeAlias = list[Subscription]
TransactionList: TypeAlias = list[TransactionStatus]


class _Topics(msgspec.Struct):
    topics: list[Topic]


class _Subscriptions(msgspec.Struct):
    subscriptions: list[Subscription]


class _Transactions(msgspec.Struct):
    transactions: list[TransactionStatus]


class _PutBack(msgspec.Struct):
    put_back: int


class _Once(msgspec.Struct):
    number: int | None


class AsyncTopics:
    """await client.topics.create("orders", partitions=4)"""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport
        self._partitions: dict[str, tuple[int, float]] = {}  # number, and until when it is believed

    async def create(
        self, name: str, partitions: int | None = None, settings: Mapping[str, int | str] | None = None
    ) -> Topic:
        """Raises TopicExists, InvalidTopicName.

        await client.topics.create("orders", partitions=4, settings={"retention_ms": 86_400_000})
        """
        body: dict[str, Any] = {"name": name}
        if partitions is not None:
            body["partitions"] = partitions
        if settings is not None:
            body["settings"] = arguments.mapping("settings", settings)
        return await self._transport.call("POST", path("topics"), body, answer=Topic, idempotency_key=True)

    async def list(self) -> TopicList:
        """[topic.name for topic in await client.topics.list()]"""
        return (await self._transport.call("GET", path("topics"), answer=_Topics)).topics

    async def describe(self, name: str) -> TopicDescription:
        """The topic with the state of each partition.  Raises UnknownTopic.

        (await client.topics.describe("orders")).partition_states[0].end_offset
        """
        return await self._transport.call("GET", path("topics", name), answer=TopicDescription)

    async def offset_at(
        self, name: str, partition: int, timestamp_ms: int, isolation: Isolation = "read_committed"
    ) -> OffsetFound:
        """The first record, in offset order, that is as late as the time; or the end.

        (await client.topics.offset_at("orders", 0, 1_763_720_931_000)).offset
        """
        return await self._transport.call(
            "GET",
            path("topics", name, "partitions", partition, "offsets"),
            answer=OffsetFound,
            params={"timestamp_ms": timestamp_ms, "isolation": isolation},
        )

    async def grow(
        self, name: str, partitions: int | None = None, settings: Mapping[str, int | str] | None = None
    ) -> Topic:
        """More partitions, or other settings; a topic never shrinks.

        await client.topics.grow("orders", partitions=8)
        """
        body: dict[str, Any] = {}
        if partitions is not None:
            body["partitions"] = partitions
        if settings is not None:
            body["settings"] = arguments.mapping("settings", settings)
        topic = await self._transport.call("PATCH", path("topics", name), body, answer=Topic)
        self._partitions.pop(name, None)
        return topic

    async def delete(self, name: str) -> None:
        """Deletes the topic with all its records and subscriptions.

        await client.topics.delete("orders")
        """
        await self._transport.call("DELETE", path("topics", name), answer=type(None))
        self._partitions.pop(name, None)

    async def partition_count(self, name: str) -> int:
        """How many partitions a producer spreads keys over; remembered for a minute.  A topic that is not there yet
        counts as one partition and is asked for again next time: the broker creates it with the first batch, or says
        why not."""
        known, until_s = self._partitions.get(arguments.name(name), (1, 0.0))
        if monotonic() < until_s:
            return known
        try:
            known = (await self.describe(name)).partitions
        except UnknownTopic:
            return 1
        self._partitions[name] = (known, monotonic() + PARTITION_COUNT_S)
        return known

    def forget_partition_count(self, name: str) -> None:
        self._partitions.pop(name, None)


class AsyncSubscriptions:
    """await client.subscriptions.create("orders", "billing")"""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create(
        self, topic: str, name: str, kind: Kind = "shared", start: Literal["earliest", "latest"] = "earliest"
    ) -> SubscriptionStats:
        """Creates it, or finds it when it exists with this kind.  Raises SubscriptionExists when the kind is another.

        await client.subscriptions.create("orders", "billing", kind="exclusive", start="latest")
        """
        body = {"name": name, "kind": kind, "start": start}
        return await self._transport.call(
            "POST", path("topics", topic, "subscriptions"), body, answer=SubscriptionStats, idempotency_key=True
        )

    async def list(self, topic: str) -> SubscriptionList:
        """[(s.name, s.kind) for s in await client.subscriptions.list("orders")]"""
        found = await self._transport.call("GET", path("topics", topic, "subscriptions"), answer=_Subscriptions)
        return found.subscriptions

    async def stats(self, topic: str, name: str) -> SubscriptionStats:
        """(await client.subscriptions.stats("orders", "billing")).backlog"""
        return await self._transport.call("GET", path("topics", topic, "subscriptions", name), answer=SubscriptionStats)

    async def delete(self, topic: str, name: str) -> None:
        """await client.subscriptions.delete("orders", "billing")"""
        await self._transport.call("DELETE", path("topics", topic, "subscriptions", name), answer=type(None))

    async def seek(
        self,
        topic: str,
        name: str,
        to: Literal["earliest", "latest"] | None = None,
        *,
        offsets: Mapping[int, int] | None = None,
        timestamp_ms: int | None = None,
    ) -> SubscriptionStats:
        """Moves the subscription; give one of `to`, `offsets` (by partition) and `timestamp_ms`.

        await client.subscriptions.seek("orders", "billing", offsets={0: 1200})
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
        return await self._transport.call(
            "POST", path("topics", topic, "subscriptions", name, call=":seek"), body, answer=SubscriptionStats
        )

    async def set_dead_letters(
        self, topic: str, name: str, max_deliveries: int, dead_letter_topic: str | None = None
    ) -> SubscriptionStats:
        """What was delivered max_deliveries times goes to the dead-letter topic instead of being delivered again; 0,
        without a topic, removes the rule.

        await client.subscriptions.set_dead_letters("orders", "billing", 5, "orders.dead")
        """
        body: dict[str, Any] = {"max_deliveries": max_deliveries}
        if dead_letter_topic is not None:
            body["topic"] = dead_letter_topic
        return await self._transport.call(
            "POST", path("topics", topic, "subscriptions", name, call=":deadLetters"), body, answer=SubscriptionStats
        )

    async def put_back(self, topic: str, name: str, limit: int = 100) -> int:
        """Of the next `limit` messages of a dead-letter topic's subscription, how many went back to the topics they
        came from.

        await client.subscriptions.put_back("orders.dead", "inspection")
        """
        where = path("topics", topic, "subscriptions", name, call=":putBack")
        found = await self._transport.call("POST", where, {"limit": limit}, answer=_PutBack, idempotency_key=True)
        return found.put_back

    async def note_offsets(
        self, topic: str, name: str, offsets: Mapping[int, int], txn: TxnId | str | None = None
    ) -> SubscriptionStats:
        """How far a reader has come that keeps offsets of its own: by partition, what it reads next.  It shows as a
        subscription of the kind "kafka".  txn: they count when it commits.

        await client.subscriptions.note_offsets("orders", "nightly", {0: 1200}, txn="3-3821040230400")
        """
        body: dict[str, Any] = {
            "offsets": {str(partition): offset for partition, offset in arguments.mapping("offsets", offsets).items()}
        }
        if txn is not None:
            body["transaction"] = _text(txn)
        return await self._transport.call(
            "POST", path("topics", topic, "subscriptions", name, call=":noteOffsets"), body, answer=SubscriptionStats
        )


class AsyncTransactions:
    """await client.transactions.list(status="open", min_age_ms=60_000)"""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(
        self, status: str | None = None, min_age_ms: int = 0, limit: int = 100, owner: str = ""
    ) -> TransactionList:
        """Oldest first.  owner: how it begins.

        [t.id for t in await client.transactions.list(status="open")]
        """
        params: dict[str, str | int] = {"min_age_ms": min_age_ms, "limit": limit}
        if status is not None:
            params["status"] = status
        if owner:
            params["owner"] = owner
        found = await self._transport.call("GET", path("transactions"), answer=_Transactions, params=params)
        return found.transactions

    async def get(self, id: TxnId | str) -> TransactionStatus:
        """(await client.transactions.get("3-3821040230400")).status"""
        return await self._transport.call("GET", path("transactions", _text(id)), answer=TransactionStatus)

    async def begin(self, timeout_ms: int | None = None, *, owner: str = "", together: str = "") -> TransactionStatus:
        """An open transaction; `client.transaction()` is the comfortable way.  owner: who begins it, only shown.
        together: those begun with the same name can be committed by `commit_all`.

        id = (await client.transactions.begin(timeout_ms=10_000)).id
        """
        body: dict[str, Any] = {} if timeout_ms is None else {"timeout_ms": timeout_ms}
        if owner:
            body["owner"] = owner
        if together:
            body["together"] = together
        return await self._transport.call(
            "POST", path("transactions"), body, answer=TransactionStatus, idempotency_key=True
        )

    async def commit(self, id: TxnId | str, wait: Literal["all", "logged"] = "all") -> TransactionStatus:
        """Repeating it is safe: a committed transaction answers committed.

        await client.transactions.commit("3-3821040230400")
        """
        return await self._end(id, ":commit", {"wait": wait})

    async def abort(self, id: TxnId | str) -> TransactionStatus:
        """await client.transactions.abort("3-3821040230400")"""
        return await self._end(id, ":abort", {})

    async def commit_all(
        self, ids: Iterable[TxnId | str], once: tuple[str, int] | None = None, wait: Literal["all", "logged"] = "all"
    ) -> CommittedAll:
        """All of them in one step, or none; repeating it is safe.  once: a name, the `together` they were begun with,
        and the number of this step; status is "already" when a number as high was committed, and nothing was now.

        await client.transactions.commit_all(["3-3821040230400", "3-3821040230401"], once=("nightly", 42))
        """
        body: dict[str, Any] = {"transactions": [_text(id) for id in arguments.sequence("ids", ids)], "wait": wait}
        if once is not None:
            [(together, number)] = arguments.pairs("once", [once])
            body["once"] = {"name": together, "number": number}
        return await self._transport.call("POST", path("transactions", call=":commitAll"), body, answer=CommittedAll)

    async def once(self, name: str) -> int | None:
        """The highest number that was committed under the name.

        await client.transactions.once("nightly")
        """
        found = await self._transport.call(
            "GET", path("transactions", call=":once"), answer=_Once, params={"name": name}
        )
        return found.number

    async def _end(self, id: TxnId | str, call: str, body: dict[str, str]) -> TransactionStatus:
        return await self._transport.call(
            "POST", path("transactions", _text(id), call=call), body, answer=TransactionStatus
        )


def _text(id: TxnId | str) -> str:
    """The id as the broker writes it.  Raises InvalidRequest, or TransactionNotFound for a text that cannot be one."""
    if not isinstance(id, TxnId):
        arguments.check(id=id)
    return str(id if isinstance(id, TxnId) else TxnId.parse(id))
