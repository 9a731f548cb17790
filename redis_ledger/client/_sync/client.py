"""Client: the entry to everything below it; closing it closes what it made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import httpx

from redis_ledger.client._sync.admin import Subscriptions, Topics, Transactions
from redis_ledger.client._sync.cold import Cold
from redis_ledger.client._sync.consumer import Consumer
from redis_ledger.client._sync.leases import Leases
from redis_ledger.client._sync.producer import Producer
from redis_ledger.client._sync.reader import read
from redis_ledger.client._sync.scheduled import Scheduled
from redis_ledger.client._sync.security import Acls, Audit, Tokens
from redis_ledger.client._sync.sender import Sender
from redis_ledger.client._sync.transaction import TIMEOUT_MS, Source, Transaction, where
from redis_ledger.client._sync.transport import Transport, path
from redis_ledger.client.batches import Habits
from redis_ledger.client.bearer import given
from redis_ledger.client.bodies import body_of
from redis_ledger.client.models import Executed, Isolation, Kind, Message, Record, ids_of
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
        connections_max: int = 100,
        token: str | None = None,
        token_file: str | None = None,
        headers: Mapping[str, str] | None = None,
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        http: httpx.BaseTransport | None = None,
    ) -> None:
        token, token_file = given(token, token_file)
        self._transport = Transport(
            [urls] if isinstance(urls, str) else urls,
            timeout_ms=timeout_ms,
            attempt_ms=attempt_ms,
            connections_max=connections_max,
            token=token,
            token_file=token_file,
            headers=headers,
            ca_file=ca_file,
            cert_file=cert_file,
            key_file=key_file,
            http=http,
        )
        self.topics = Topics(self._transport)
        self.subscriptions = Subscriptions(self._transport)
        self.transactions = Transactions(self._transport)
        self.scheduled = Scheduled(self._transport)
        self.cold = Cold(self._transport)
        self.acls = Acls(self._transport)
        self.tokens = Tokens(self._transport)
        self.audit = Audit(self._transport)
        self._leases = Leases(self._transport)
        self._txn_sender = self._sender(TXN_IN_FLIGHT_MAX, BUFFER_BYTES)
        self._txn_producers: dict[str, Producer] = {}
        self._open: list[Producer | Consumer] = []

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its producers, flushing them, and its consumers, giving back what they hold.  Raises what a producer's
        flush raises, after all is closed.

        client.close()
        """
        failures: list[LedgerError] = []
        opened, self._open = self._open, []
        for closable in (*opened, self._txn_sender):
            try:
                closable.close()
            except LedgerError as error:
                failures.append(error)
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
        if compression not in COMPRESSIONS:
            raise InvalidRequest(f"{compression!r} is not a compression; use one of {', '.join(COMPRESSIONS)}.")
        habits = Habits(linger_ms / 1000, batch_bytes, COMPRESSIONS.index(compression))
        sender = self._sender(max_in_flight, buffer_bytes)
        producer = Producer(topic, self.topics, sender, self._txn_sender, habits)
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
    ) -> Consumer:
        """A consumer of a subscription, which is created when it is not there.

        name            under which messages are leased; give each process its own, or none
        start           where a new subscription begins
        prefetch        messages held ready; 0 fetches only what is asked for
        ack_timeout_ms  a message that is not acknowledged by then is delivered again, here or elsewhere

        consumer = client.consumer("orders", "billing", kind="exclusive", prefetch=100)
        """
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
        )
        self._open.append(consumer)
        return consumer

    def transaction(self, *, timeout_ms: int = TIMEOUT_MS) -> Transaction:
        """A transaction, begun by `with` or by its first operation.  timeout_ms: the broker aborts it when it is
        open for longer.

        with client.transaction(timeout_ms=10_000) as txn:
            txn.send("invoices", {"total": 12})
        """
        return Transaction(self.transactions, self._leases, self._txn_sender, self._txn_producer, timeout_ms)

    def resume_transaction(self, id: TxnId | str) -> Transaction:
        """A transaction that another process began, by its id.

        client.resume_transaction("3-3821040230400").commit()
        """
        known = id if isinstance(id, TxnId) else TxnId.parse(id)
        return Transaction(self.transactions, self._leases, self._txn_sender, self._txn_producer, id=known)

    def execute(
        self,
        *,
        acks: Acks = (),
        records: Mapping[str, Sequence[Any]] | None = None,
        timeout_ms: int | None = None,
    ) -> Executed:
        """One consume-transform-produce step in one request: all of it, or nothing.

        acks     pairs of a consumer, or (topic, subscription[, consumer's name]), and messages
        records  topic → values, or `Record`s where a key, headers or a partition matter

        client.execute(acks=[(orders, messages)], records={"invoices": [Record(invoice, key="order-7")]})
        """
        body: dict[str, Any] = {"acks": [], "records": []}
        for source, messages in acks:
            topic, subscription, consumer = where(source)
            ids = [str(id) for id in ids_of(messages)]
            body["acks"].append({"topic": topic, "subscription": subscription, "consumer": consumer, "ids": ids})
        for topic, values in (records or {}).items():
            bodies = [body_of(value if isinstance(value, Record) else Record(value)) for value in values]
            body["records"].append({"topic": topic, "records": bodies})
        if timeout_ms is not None:
            body["timeout_ms"] = timeout_ms
        return self._transport.call(
            "POST", path("transactions", call=":execute"), body, answer=Executed, idempotency_key=True
        )

    def read(
        self,
        topic: str,
        partition: int = 0,
        offset: int | Literal["earliest", "latest"] = "earliest",
        *,
        isolation: Isolation = "read_committed",
        wait_ms: int = 0,
        max_bytes: int = 1 << 20,
    ) -> Iterator[Message]:
        """Reads a partition without a subscription, and ends when nothing more has come within wait_ms.

        for message in client.read("orders", partition=2, offset=1200):
            print(message.offset, message.text())
        """
        return read(
            self._transport, topic, partition, offset, isolation=isolation, wait_ms=wait_ms, max_bytes=max_bytes
        )

    def _sender(self, in_flight_max: int, buffer_bytes: int) -> Sender:
        return Sender(
            self._transport, in_flight_max=in_flight_max, buffer_bytes=buffer_bytes, on_failure=self._note_failure
        )

    def _txn_producer(self, topic: str) -> Producer:
        """What carries `txn.send`."""
        producer = self._txn_producers.get(topic)
        if producer is None:
            habits = Habits(0.005, 1 << 20)
            producer = Producer(topic, self.topics, self._txn_sender, self._txn_sender, habits)
            self._txn_producers[topic] = producer
        return producer

    def _note_failure(self, topic: str, txn: Transaction | None, error: LedgerError) -> None:
        if txn is not None:
            txn.fail(error)
        if isinstance(error, (UnknownTopic, UnknownPartition)):
            self.topics.forget_partition_count(topic)
