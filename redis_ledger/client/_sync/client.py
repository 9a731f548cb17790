"""Client: the entry to everything below it; closing it closes what it made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeAlias

import httpx

from redis_ledger.client import arguments
from redis_ledger.client._sync.admin import Topics, Transactions
from redis_ledger.client._sync.batched_writes import BatchedWrites
from redis_ledger.client._sync.closing import close_after
from redis_ledger.client._sync.consumer import Consumer
from redis_ledger.client._sync.coordinators import Coordinators
from redis_ledger.client._sync.deferred import Deferral, Deferred
from redis_ledger.client._sync.joint_commits import JointCommits
from redis_ledger.client._sync.large import LargeMessages, LargeValue
from redis_ledger.client._sync.leases import Leases
from redis_ledger.client._sync.offload import Offload
from redis_ledger.client._sync.producer import Producer
from redis_ledger.client._sync.reader import Reading, read
from redis_ledger.client._sync.scheduled import Scheduled
from redis_ledger.client._sync.security import Acls, Audit, Tokens
from redis_ledger.client._sync.sender import Sender
from redis_ledger.client._sync.subscriptions import Subscriptions
from redis_ledger.client._sync.transaction import Transaction
from redis_ledger.client._sync.transport import POLLS_MAX, REQUESTS_MAX, Transport, path
from redis_ledger.client._sync.waiting_acks import WaitingAcks
from redis_ledger.client.batches import BatchingOptions
from redis_ledger.client.bearer import given
from redis_ledger.client.bodies import body_of
from redis_ledger.client.deadline import TIMEOUT_MS
from redis_ledger.client.forks import in_child
from redis_ledger.client.models import Executed, Isolation, Kind, Message, Record
from redis_ledger.client.sources import Source, where
from redis_ledger.client.values import ids_of
from redis_ledger.errors import InvalidRequest, LedgerError, UnknownPartition, UnknownTopic
from redis_ledger.ids import TxnId
from redis_ledger.records.batch import COMPRESSIONS

Acks: TypeAlias = "Sequence[tuple[Source, Any]]"
BUFFER_BYTES = 32 << 20
TXN_IN_FLIGHT_MAX = 16


class Client:
    """The connection to one or more brokers.

    with Client("http://127.0.0.1:8080") as client:
        with client.consumer("orders", "billing") as orders, client.transaction() as txn:
            for order in orders.receive():
                txn.send("invoices", {"order": order.json()}, key=order.key)
                txn.ack(orders, order)

    urls         any broker serves anything: with several, another is asked when one does not answer
    timeout_ms   total time of one operation, repeats included; then Unavailable, or OutcomeUnknown when it may have
                 been carried out
    attempt_ms   how long one broker may take to answer before it counts as lost
    requests_max  requests under way at once; further calls wait for their turn, within timeout_ms, then Unavailable
    polls_max    requests under way that wait for records; each consumer and each reader with wait_ms needs one
    token        who calls: an API token or a JWT
    token_file   a file with it, read again when a broker refuses what it held; with neither, the environment's
                 REDIS_LEDGER_TOKEN_FILE or REDIS_LEDGER_TOKEN, if there is one
    headers      sent with every request
    ca_file      PEM authorities that https is checked with; else those of SSL_CERT_FILE, or the public ones
    cert_file    PEM certificate that is shown to brokers, with its chain; else that of REDIS_LEDGER_CERT_FILE, if set
    key_file     its key, if it is not in the same file; else that of REDIS_LEDGER_KEY_FILE
    http         takes the place of the network: an httpx transport, for tests and special routes
    """

    def __init__(
        self,
        urls: str | Sequence[str] = "http://127.0.0.1:8080",
        *,
        timeout_ms: int = 30_000,
        attempt_ms: int = 10_000,
        requests_max: int = REQUESTS_MAX,
        polls_max: int = POLLS_MAX,
        token: str | None = None,
        token_file: str | None = None,
        headers: Mapping[str, str] | None = None,
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        http: httpx.BaseTransport | None = None,
    ) -> None:
        token, token_file = given(token, token_file)
        transport = Transport(
            [urls] if isinstance(urls, str) else urls,
            timeout_ms=timeout_ms,
            attempt_ms=attempt_ms,
            requests_max=requests_max,
            polls_max=polls_max,
            token=token,
            token_file=token_file,
            headers=headers,
            ca_file=ca_file,
            cert_file=cert_file,
            key_file=key_file,
            http=http,
        )
        self._begin(transport)
        in_child(self, Client._begin_anew)

    def _begin_anew(self) -> None:
        """In a process that was forked: forgets the connections, threads and objects of the parent, which goes on."""
        self._begin(self._transport.anew())

    def _begin(self, transport: Transport) -> None:
        self._transport = transport
        self.topics = Topics(self._transport)
        self.subscriptions = Subscriptions(self._transport)
        self.transactions = Transactions(self._transport)
        self.batched_writes = BatchedWrites(self._transport)
        self.coordinators = Coordinators(self._transport)
        self.scheduled = Scheduled(self._transport)
        self.offload = Offload(self._transport)
        self.acls = Acls(self._transport)
        self.tokens = Tokens(self._transport)
        self.audit = Audit(self._transport)
        self._waiting_acks = WaitingAcks()
        self._leases = Leases(self._transport, self._waiting_acks)
        self._large = LargeMessages(self._transport)
        self._txn_sender = self._sender(TXN_IN_FLIGHT_MAX, BUFFER_BYTES)
        self._deferral = Deferral(self._txn_sender, JointCommits(self._transport), self._leases, BUFFER_BYTES)
        self._txn_producers: dict[str, Producer] = {}
        self._open: list[Producer | Consumer] = []

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        close_after(error, self.close)

    def close(self) -> None:
        """Closes its producers, flushing them, and its consumers, giving back what they hold.  Raises the first error
        that a producer's flush raises, after all is closed.

        client.close()
        """
        failures: list[LedgerError] = []
        opened, self._open = self._open, []
        for closable in (*opened, self._txn_sender):
            try:
                closable.close()
            except LedgerError as error:
                failures.append(error)
        self._waiting_acks.close()
        self._transport.close()
        if failures:
            raise failures[0]

    def producer(
        self,
        topic: str,
        *,
        linger_ms: float = 5,
        batch_bytes: int = 1 << 20,
        max_in_flight: int = 8,
        buffer_bytes: int = BUFFER_BYTES,
        compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none",
    ) -> Producer:
        """A producer for one topic; records in a transaction go through it with `send(..., txn=txn)`.

        linger_ms      how long a record waits for company, unless its batch is full before
        batch_bytes    when a batch is full
        max_in_flight  requests on their way at once; one of each partition
        buffer_bytes   what may wait to be sent before `send` waits

        producer = client.producer("orders", linger_ms=20, compression="lz4")
        """
        arguments.check(
            topic=topic, linger_ms=linger_ms, batch_bytes=batch_bytes, max_in_flight=max_in_flight,
            buffer_bytes=buffer_bytes,
        )  # fmt: skip
        arguments.choice("compression", compression, COMPRESSIONS)
        batching = BatchingOptions(linger_ms / 1000, batch_bytes, COMPRESSIONS.index(compression))
        sender = self._sender(max_in_flight, buffer_bytes)
        producer = Producer(topic, self.topics, sender, self._large, batching)
        self._open.append(producer)
        return producer

    def consumer(
        self,
        topic: str,
        subscription: str,
        *,
        name: str | None = None,
        kind: Kind = "shared",
        start: Literal["earliest", "latest"] = "earliest",
        prefetch: int = 500,
        ack_timeout_ms: int = 30_000,
        lease_max_ms: int = 3_600_000,
    ) -> Consumer:
        """A consumer of a subscription.  The first receive creates the subscription if it does not exist, and the topic
        too where producing would create it.

        name            under which messages are leased; give each process its own, or none
        start           where a new subscription begins
        prefetch        most messages to buffer, and never more than the consumer handles in about a second; 0: none is
                        fetched before it is received
        ack_timeout_ms  if this process ends, a message is delivered again after that time at the latest
        lease_max_ms    as long as it is not acknowledged, the lease of a message is extended for this time after it was
                        handed out; 0: it ends after ack_timeout_ms

        consumer = client.consumer("orders", "billing", kind="exclusive", prefetch=100)
        """
        arguments.check(
            topic=topic, subscription=subscription, name=name, prefetch=prefetch, ack_timeout_ms=ack_timeout_ms,
            lease_max_ms=lease_max_ms,
        )  # fmt: skip
        consumer = Consumer(
            topic,
            subscription,
            self.subscriptions,
            self._leases,
            name=name,
            kind=kind,
            start=start,
            prefetch=prefetch,
            ack_timeout_ms=ack_timeout_ms,
            lease_max_ms=lease_max_ms,
        )
        self._open.append(consumer)
        return consumer

    def transaction(self, *, timeout_ms: int = TIMEOUT_MS) -> Transaction:
        """A transaction.  timeout_ms: it is aborted when it is open for longer, counted from `with` or from its
        first operation.

        Records and acknowledgements that fit one request wait in this client, and the commit sends that request; see
        `txn.begin`.

        with client.transaction(timeout_ms=10_000) as txn:
            txn.send("invoices", {"total": 12})
        """
        arguments.check_kind("timeout_ms", timeout_ms, arguments.COUNT)
        return self._transaction(timeout_ms, None)

    def resume_transaction(self, id: TxnId | str) -> Transaction:
        """A transaction that another process began, by its id.

        client.resume_transaction("3-3821040230400").commit()
        """
        if not isinstance(id, TxnId):
            arguments.check(id=id)
        return self._transaction(TIMEOUT_MS, id if isinstance(id, TxnId) else TxnId.parse(id))

    def execute(
        self,
        *,
        acks: Acks = (),
        records: Mapping[str, Sequence[Any]] | None = None,
        timeout_ms: int | None = None,
        idempotency_key: str | None = None,
    ) -> Executed:
        """One consume-transform-produce step in one request: all of it, or nothing.

        acks             pairs of a consumer, or (topic, subscription[, consumer's name]), and messages
        records          topic → values, or `Record`s where a key, headers or a partition matter
        idempotency_key  repeated with the same key, by any process, the step is not carried out again and the first
                         answer is returned.  The broker keeps keys for a day.  Raises IdempotencyKeyReused if the step
                         is another one

        client.execute(acks=[(orders, messages)], records={"invoices": [Record(invoice, key="order-7")]})
        """
        arguments.check(idempotency_key=idempotency_key)
        body: dict[str, Any] = {"acks": [], "records": []}
        for source, messages in arguments.pairs("acks", acks):
            topic, subscription, consumer = where(source)
            ids = [str(id) for id in ids_of(messages)]
            body["acks"].append({"topic": topic, "subscription": subscription, "consumer": consumer, "ids": ids})
        for topic, values in arguments.mapping("records", records or {}).items():
            given = arguments.sequence(f"records[{topic!r}]", values)
            bodies = [body_of(value if isinstance(value, Record) else Record(value)) for value in given]
            body["records"].append({"topic": topic, "records": bodies})
        if timeout_ms is not None:
            body["timeout_ms"] = timeout_ms
        return self._transport.call(
            "POST",
            path("transactions", call=":execute"),
            body,
            answer=Executed,
            idempotency_key=idempotency_key or True,
        )

    def read(
        self,
        topic: str,
        partition: int | None = None,
        offset: int | Literal["earliest", "latest"] = "earliest",
        *,
        isolation: Isolation = "read_committed",
        wait_ms: int = 0,
        max_bytes: int = 1 << 20,
    ) -> Iterator[Message]:
        """Reads a topic, or one partition of it, without a subscription, from the offset to the end.

        partition  None: all partitions that the topic has when reading begins.  Messages of a partition come in the
                   order of offsets; of different partitions, the one with the earlier timestamp comes first
        offset     a number counts within a partition, so it needs one
        wait_ms    at the end, waits for more; reading ends when nothing has come for so long
        max_bytes  fetched at once from each partition

        for message in client.read("orders", partition=2, offset=1200):
            print(message.offset, message.text())
        """
        arguments.check(topic=topic, partition=partition, wait_ms=wait_ms, max_bytes=max_bytes)
        if not isinstance(offset, int):
            arguments.choice("offset", offset, ("earliest", "latest"))
        elif partition is None:
            raise InvalidRequest(f"The offset {offset!r} counts within a partition; name the partition, too.")
        wanted = None if partition is None else [partition]
        return read(self._transport, self.topics, Reading(topic, offset, isolation, max_bytes), wanted, wait_ms)

    def open_large(self, message: Message) -> AbstractContextManager[LargeValue]:
        """Opens the value of a large message, whose `large_size` is its bytes; that of a dead letter too.

        with client.open_large(message) as value:
            for piece in value:
                file.write(piece)
        """
        return self._large.open(message)

    def _sender(self, in_flight_max: int, buffer_bytes: int) -> Sender:
        return Sender(
            self._transport, in_flight_max=in_flight_max, buffer_bytes=buffer_bytes, on_failure=self._note_failure
        )

    def _transaction(self, timeout_ms: int, id: TxnId | None) -> Transaction:
        deferred = Deferred(self._deferral)
        return Transaction(
            self.transactions,
            self._leases,
            self._waiting_acks,
            self._txn_sender,
            self._txn_producer,
            deferred,
            timeout_ms,
            id,
        )

    def _txn_producer(self, topic: Any) -> Producer:
        """What carries `txn.send`."""
        producer = self._txn_producers.get(topic) if isinstance(topic, str) else None
        if producer is None:
            arguments.check(topic=topic)
            batching = BatchingOptions(0.005, 1 << 20)
            producer = Producer(topic, self.topics, self._txn_sender, self._large, batching)
            self._txn_producers[topic] = producer
        return producer

    def _note_failure(self, topic: str, txn: Transaction | None, error: LedgerError) -> None:
        if txn is not None:
            txn.fail(error)
        if isinstance(error, (UnknownTopic, UnknownPartition)):
            self.topics.forget_partition_count(topic)
