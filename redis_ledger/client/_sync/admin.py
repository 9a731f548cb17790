"""Topics and transactions, as an operator sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import monotonic
from typing import Any, Literal, TypeAlias

import msgspec

from redis_ledger.client import arguments
from redis_ledger.client._sync.transport import Transport, path
from redis_ledger.client.inspection_models import PartitionTransaction, PartitionTransactions, TopicDescription
from redis_ledger.client.models import (
    CommittedAll,
    Isolation,
    OffsetFound,
    Topic,
    TransactionStatus,
)
from redis_ledger.client.transaction_models import HeldTopic, TransactionParticipants
from redis_ledger.errors import UnknownTopic
from redis_ledger.ids import TxnId

PARTITION_COUNT_S = 60.0

# Methods named `list` would hide the type within their classes.
TopicList: TypeAlias = list[Topic]
TransactionList: TypeAlias = list[TransactionStatus]


class _Topics(msgspec.Struct):
    topics: list[Topic]


class _Transactions(msgspec.Struct):
    transactions: list[TransactionStatus]


class _Once(msgspec.Struct):
    number: int | None


class Topics:
    """client.topics.create("orders", partitions=4)"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._partitions: dict[str, tuple[int, float]] = {}  # number, and until when it is believed

    def create(
        self, name: str, partitions: int | None = None, settings: Mapping[str, int | str] | None = None
    ) -> Topic:
        """Raises TopicExists, InvalidTopicName.

        client.topics.create("orders", partitions=4, settings={"retention_ms": 86_400_000})
        """
        body: dict[str, Any] = {"name": name}
        if partitions is not None:
            body["partitions"] = partitions
        if settings is not None:
            body["settings"] = arguments.mapping("settings", settings)
        return self._transport.call("POST", path("topics"), body, answer=Topic, idempotency_key=True)

    def list(self, *, internal: bool = False) -> TopicList:
        """internal: with the internal topic `__consumer_offsets`, if it exists.

        [topic.name for topic in client.topics.list()]
        """
        params = {"internal": "true"} if internal else None
        return (self._transport.call("GET", path("topics"), answer=_Topics, params=params)).topics

    def describe(self, name: str, *, subscriptions: bool = False) -> TopicDescription:
        """The topic with the state of each partition; subscriptions: also the unacknowledged records of each.
        Raises UnknownTopic.

        (client.topics.describe("orders")).partition_states[0].end_offset
        """
        params = {"subscriptions": "true"} if subscriptions else None
        return self._transport.call("GET", path("topics", name), answer=TopicDescription, params=params)

    def transactions(
        self,
        name: str,
        partition: int,
        *,
        limit: int = 100,
        open_from: int = 0,
        aborted_from: int = 0,
        low_watermarks: bool = False,
    ) -> PartitionTransactions:
        """The transaction buffer of a partition.  limit: of open and of aborted transactions; open_next and
        aborted_next of an answer are the open_from and aborted_from of the next page.

        (client.topics.transactions("orders", 0)).held_by
        """
        params: dict[str, str | int] = {"limit": limit, "open_from": open_from, "aborted_from": aborted_from}
        if low_watermarks:
            params["low_watermarks"] = "true"
        where = path("topics", name, "partitions", partition, "transactions")
        return self._transport.call("GET", where, answer=PartitionTransactions, params=params)

    def transaction(self, name: str, partition: int, id: TxnId | str) -> PartitionTransaction:
        """One transaction in a partition.  Raises TransactionNotFound.

        (client.topics.transaction("orders", 0, "3-3821040230400")).aborted
        """
        where = path("topics", name, "partitions", partition, "transactions", transaction_text(id))
        return self._transport.call("GET", where, answer=PartitionTransaction)

    def offset_at(
        self, name: str, partition: int, timestamp_ms: int, isolation: Isolation = "read_committed"
    ) -> OffsetFound:
        """The first record, in offset order, that is as late as the time; or the end.

        (client.topics.offset_at("orders", 0, 1_763_720_931_000)).offset
        """
        return self._transport.call(
            "GET",
            path("topics", name, "partitions", partition, "offsets"),
            answer=OffsetFound,
            params={"timestamp_ms": timestamp_ms, "isolation": isolation},
        )

    def grow(self, name: str, partitions: int | None = None, settings: Mapping[str, int | str] | None = None) -> Topic:
        """More partitions, or other settings; a topic never shrinks.

        client.topics.grow("orders", partitions=8)
        """
        body: dict[str, Any] = {}
        if partitions is not None:
            body["partitions"] = partitions
        if settings is not None:
            body["settings"] = arguments.mapping("settings", settings)
        topic = self._transport.call("PATCH", path("topics", name), body, answer=Topic)
        self._partitions.pop(name, None)
        return topic

    def delete(self, name: str) -> None:
        """Deletes the topic with all its records and subscriptions.

        client.topics.delete("orders")
        """
        self._transport.call("DELETE", path("topics", name), answer=type(None))
        self._partitions.pop(name, None)

    def partition_count(self, name: str) -> int:
        """How many partitions a producer spreads keys over; remembered for a minute.  A topic that is not there yet
        counts as one partition and is asked for again next time: the broker creates it with the first batch, or says
        why not."""
        known, until_s = self._partitions.get(arguments.name(name), (1, 0.0))
        if monotonic() < until_s:
            return known
        try:
            known = (self.describe(name)).partitions
        except UnknownTopic:
            return 1
        self._partitions[name] = (known, monotonic() + PARTITION_COUNT_S)
        return known

    def forget_partition_count(self, name: str) -> None:
        self._partitions.pop(name, None)


class Transactions:
    """client.transactions.list(status="open", min_age_ms=60_000)"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(
        self,
        status: str | None = None,
        min_age_ms: int = 0,
        limit: int = 100,
        owner: str = "",
        *,
        min_timeout_ms: int = 0,
        coordinator: int | None = None,
    ) -> TransactionList:
        """Oldest first.  owner: how it begins.  min_timeout_ms: only those with at least this timeout.

        [t.id for t in client.transactions.list(status="open")]
        """
        params: dict[str, str | int] = {"min_age_ms": min_age_ms, "limit": limit}
        if status is not None:
            params["status"] = status
        if owner:
            params["owner"] = owner
        if min_timeout_ms:
            params["min_timeout_ms"] = min_timeout_ms
        if coordinator is not None:
            params["coordinator"] = coordinator
        found = self._transport.call("GET", path("transactions"), answer=_Transactions, params=params)
        return found.transactions

    def get(self, id: TxnId | str) -> TransactionStatus:
        """(client.transactions.get("3-3821040230400")).status"""
        return self._transport.call("GET", path("transactions", transaction_text(id)), answer=TransactionStatus)

    def participants(self, id: TxnId | str, first: int = 0, limit: int = 100) -> TransactionParticipants:
        """What it did: its records on each partition, its acknowledgements on each subscription; read from the logs.

        sum(p.records for p in (client.transactions.participants("3-3821040230400")).partitions)
        """
        return self._transport.call(
            "GET",
            path("transactions", transaction_text(id), "participants"),
            answer=TransactionParticipants,
            params={"first": first, "limit": limit},
        )

    def why(self, topic: str) -> HeldTopic:
        """Why readers of committed records of a topic do not advance: the transactions that hold them up.

        [p.transaction.id for p in (client.transactions.why("orders")).partitions]
        """
        return self._transport.call("GET", path("topics", topic, "why"), answer=HeldTopic)

    def begin(self, timeout_ms: int | None = None, *, owner: str = "", together: str = "") -> TransactionStatus:
        """An open transaction; `client.transaction()` is the comfortable way.  owner: who begins it, only shown.
        together: those begun with the same name can be committed by `commit_all`.

        id = (client.transactions.begin(timeout_ms=10_000)).id
        """
        body: dict[str, Any] = {} if timeout_ms is None else {"timeout_ms": timeout_ms}
        if owner:
            body["owner"] = owner
        if together:
            body["together"] = together
        return self._transport.call("POST", path("transactions"), body, answer=TransactionStatus, idempotency_key=True)

    def commit(self, id: TxnId | str, wait: Literal["all", "logged"] = "all") -> TransactionStatus:
        """Repeating it is safe: a committed transaction answers committed.

        client.transactions.commit("3-3821040230400")
        """
        return self._end(id, ":commit", {"wait": wait})

    def abort(self, id: TxnId | str) -> TransactionStatus:
        """client.transactions.abort("3-3821040230400")"""
        return self._end(id, ":abort", {})

    def commit_all(
        self, ids: Iterable[TxnId | str], once: tuple[str, int] | None = None, wait: Literal["all", "logged"] = "all"
    ) -> CommittedAll:
        """All of them in one step, or none; repeating it is safe.  once: a name, the `together` they were begun with,
        and the number of this step; status is "already" when a number as high was committed, and nothing was now.

        client.transactions.commit_all(["3-3821040230400", "3-3821040230401"], once=("nightly", 42))
        """
        body: dict[str, Any] = {
            "transactions": [transaction_text(id) for id in arguments.sequence("ids", ids)],
            "wait": wait,
        }
        if once is not None:
            [(together, number)] = arguments.pairs("once", [once])
            body["once"] = {"name": together, "number": number}
        return self._transport.call("POST", path("transactions", call=":commitAll"), body, answer=CommittedAll)

    def once(self, name: str) -> int | None:
        """The highest number that was committed under the name.

        client.transactions.once("nightly")
        """
        found = self._transport.call("GET", path("transactions", call=":once"), answer=_Once, params={"name": name})
        return found.number

    def _end(self, id: TxnId | str, call: str, body: dict[str, str]) -> TransactionStatus:
        return self._transport.call(
            "POST", path("transactions", transaction_text(id), call=call), body, answer=TransactionStatus
        )


def transaction_text(id: TxnId | str) -> str:
    """The id as the broker writes it.  Raises InvalidRequest, or TransactionNotFound for a text that cannot be one."""
    if not isinstance(id, TxnId):
        arguments.check(id=id)
    return str(id if isinstance(id, TxnId) else TxnId.parse(id))
