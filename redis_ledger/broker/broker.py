"""The broker: builds its parts once, in order, and closes them in reverse.

                      topics  producers  records  subscriptions  transactions       services, one module each
                          \\      \\         |          |          /
       catalog  coordinators  registry  participants  fetch  waiters                 built on
                                        store                                       the only access to Redis

Its memory holds only caches and open connections, so it may be killed at any instruction; any other broker on the same
Redis serves the next request.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Sequence
from typing import Any

from redis_ledger.broker.client_memory import DECODED_ANSWERS, DECODED_BYTES_MAX, ClientMemory
from redis_ledger.broker.cluster import storage_format
from redis_ledger.broker.cluster.leader_epochs import LeaderEpochs
from redis_ledger.broker.cluster.live_brokers import LiveBrokers
from redis_ledger.broker.cluster.lost_writes import LostWrites
from redis_ledger.broker.cluster.peer_watch import PeerWatch
from redis_ledger.broker.cluster.redis_watch import RedisWatch
from redis_ledger.broker.cluster.rollbacks import Rollbacks
from redis_ledger.broker.cluster.state_dir import StateDir
from redis_ledger.broker.delayed.recurring import RecurringRecords
from redis_ledger.broker.delayed.server_clock import ServerClock
from redis_ledger.broker.delayed.service import DelayedDelivery
from redis_ledger.broker.delayed.trackers import Trackers
from redis_ledger.broker.event_loop_lag import EventLoopLag
from redis_ledger.broker.fetch.large_messages import LargeMessageReader
from redis_ledger.broker.fetch.partition import PartitionFetch
from redis_ledger.broker.groups.consumer_protocol import ConsumerGroups
from redis_ledger.broker.groups.external_offsets import ExternalOffsets
from redis_ledger.broker.groups.lag import LagReader
from redis_ledger.broker.groups.offsets import Offsets
from redis_ledger.broker.groups.service import Groups
from redis_ledger.broker.idempotency import Idempotency
from redis_ledger.broker.maintenance import Maintenance, skew_detail
from redis_ledger.broker.metrics_collector import MetricsCollector
from redis_ledger.broker.produce.append import AppendService
from redis_ledger.broker.produce.client_batches import ClientBatches
from redis_ledger.broker.produce.encode import RecordEncoder
from redis_ledger.broker.produce.large_messages import LargeMessages
from redis_ledger.broker.produce.service import Records
from redis_ledger.broker.security.audit import Audit
from redis_ledger.broker.security.quotas import Quotas
from redis_ledger.broker.security.scram_credentials import ScramCredentials
from redis_ledger.broker.security.service import Security
from redis_ledger.broker.security.transaction_owners import TransactionOwners
from redis_ledger.broker.subscriptions.cursor_administration import CursorAdministration
from redis_ledger.broker.subscriptions.cursor_snapshots import CursorSnapshots
from redis_ledger.broker.subscriptions.dead_letter_rules import DeadLetterRules
from redis_ledger.broker.subscriptions.dead_letters import DeadLetters
from redis_ledger.broker.subscriptions.inspection import SubscriptionInspection
from redis_ledger.broker.subscriptions.reconsume import Reconsume
from redis_ledger.broker.subscriptions.redelivery import Redelivery
from redis_ledger.broker.subscriptions.redelivery_rules import RedeliveryRules
from redis_ledger.broker.subscriptions.service import Subscriptions
from redis_ledger.broker.subscriptions.unacked import UnackedMessages
from redis_ledger.broker.topics.configs import Configs
from redis_ledger.broker.topics.memory_pressure import MemoryPressure
from redis_ledger.broker.topics.offload import Offload
from redis_ledger.broker.topics.retention import TopicRetention
from redis_ledger.broker.topics.service import Topics
from redis_ledger.broker.transactions.aborted_payload import AbortedPayload
from redis_ledger.broker.transactions.batched_writes import BatchedWrites
from redis_ledger.broker.transactions.buffer_snapshots import BufferSnapshots
from redis_ledger.broker.transactions.coordinator_views import CoordinatorViews
from redis_ledger.broker.transactions.execute import Execute
from redis_ledger.broker.transactions.hanging import HangingTransactions
from redis_ledger.broker.transactions.held_offsets import HeldOffsets
from redis_ledger.broker.transactions.participant_details import ParticipantDetails
from redis_ledger.broker.transactions.participant_registry import ParticipantRegistry
from redis_ledger.broker.transactions.partition_transactions import PartitionTransactionsReader
from redis_ledger.broker.transactions.producers import Producers
from redis_ledger.broker.transactions.service import Transactions
from redis_ledger.broker.transactions.single_append import SingleAppend
from redis_ledger.broker.types import ExecuteAcks, Executed, ExecuteRecords
from redis_ledger.clock import Clock, RedisClock
from redis_ledger.config import Config
from redis_ledger.decoding.budget import Decoding
from redis_ledger.errors import ClockSkewed, StoreUnavailable, TransactionError
from redis_ledger.ids import TxnId
from redis_ledger.ledger.catalog import Catalog
from redis_ledger.ledger.waiters import Waiters
from redis_ledger.offload.reader import OffloadReader
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.redis_time import read_time
from redis_ledger.store.store import Store
from redis_ledger.telemetry.logs import get
from redis_ledger.txn.batched_write import PENDING_ACKS, TRANSACTION_LOG, BatchedWrite
from redis_ledger.txn.commit_all import CommitAll
from redis_ledger.txn.coordinator import Coordinators
from redis_ledger.txn.participants import Participants
from redis_ledger.txn.transactional_ids import TransactionalIds

NO_CREDENTIALS = (
    "auth_required is on, but there are no credentials; add a user (redis-ledger users add) or an API token "
    "(redis-ledger tokens create), or set bootstrap_token_file, jwt_jwks or tls_client_ca"
)
_log = get()


class Broker:
    """Use Broker.open."""

    def __init__(
        self, store: Store, config: Config, clock: Clock, redis_clock: RedisClock, name: str, http_address: str
    ) -> None:
        self.store, self.config, self.clock, self.redis_clock = store, config, clock, redis_clock
        self.name = f"{name or socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        self.readiness: dict[str, Any] = {}  # further fields of /readyz, such as the durability
        self.offload_reader = (
            OffloadReader(store, config.offload_home, config.offload_cache_bytes) if config.offload_home else None
        )
        rules, backoffs = DeadLetterRules(store), RedeliveryRules(store)
        self.live_brokers = LiveBrokers(store, self.name, http_address, requires_auth=config.auth_required)
        server_clock = ServerClock(asyncio.get_running_loop())
        trackers = Trackers(store, self.live_brokers, server_clock, clock)
        self.catalog = Catalog(
            store, config, clock, offload=self.offload_reader, on_removal=self._topic_removed,
            on_scheduled=trackers.scheduled,
        )  # fmt: skip
        self.peer_watch = PeerWatch(self.live_brokers)
        self.waiters = Waiters(store)
        self.coordinators = Coordinators(store, self.name, config, clock, self.catalog.marker_written)
        self.leader_epochs = LeaderEpochs(store, self.catalog.answered)
        self.lost_writes = LostWrites(clock)
        self.rollbacks = Rollbacks(
            store, self.catalog, self.coordinators, self.lost_writes, clock, self._forget_cached, self._after_loss,
            self.leader_epochs.store, name=self.name, others=lambda: self.live_brokers.live,
        )  # fmt: skip
        self.redis_watch = RedisWatch(store.admission, self.catalog, self.rollbacks.raise_counters)
        self.state_dir = (
            StateDir(config.state_dir, store.prefix, self.rollbacks, self.catalog.answered)
            if config.state_dir
            else None
        )
        self.decoding = Decoding(config)
        self.delayed = DelayedDelivery(store, self.catalog, trackers, server_clock, redis_clock, self.decoding)
        participants = Participants(store, config, clock, self.catalog.marker_written, self.delayed.transaction_ended)
        self.registry = registry = ParticipantRegistry(self.coordinators, config)
        self.topics = Topics(self.catalog, store, config)
        self.offload = Offload(self.catalog, store, config, clock)
        self.configs = Configs(self.catalog, config)
        self.scram_credentials = ScramCredentials(store)
        self.client_memory = ClientMemory(config.client_bytes_max)
        unpacked = DECODED_BYTES_MAX + config.batch_decoded_bytes_max
        self.decoded_memory = ClientMemory(DECODED_ANSWERS * unpacked, has_metrics=False)
        self.security = Security(store, config, clock)
        self.quotas = Quotas(store, config, self._is_open)
        self.audit = Audit(store, is_kept=config.auth_required)
        self.transaction_owners = TransactionOwners(self.coordinators, self.security)
        self.transactional_ids = TransactionalIds(store, self.coordinators)
        together = CommitAll(store, self.coordinators, self.transactional_ids)
        self.transactions = Transactions(
            self.coordinators, participants, registry, together, self.catalog, self.quotas, config, clock
        )
        self.coordinator_views = CoordinatorViews(store, self.coordinators, clock)
        self.participant_details = ParticipantDetails(store, self.catalog, self.coordinators)
        self.held_offsets = HeldOffsets(store, self.catalog, self.topics, self.coordinators, clock)
        self.producers = Producers(
            self.coordinators, self.transactional_ids, self.transactions, registry, self.quotas, self.catalog, config,
            lambda: len(self.live_brokers.live) == 1,
        )  # fmt: skip
        batches = ClientBatches(self.delayed, self.decoding, config)
        self.appends = AppendService(batches, self.producers, self.transactions)
        self.partition_fetch = fetching = PartitionFetch(self.catalog, self.waiters, self.decoding)
        encoder = RecordEncoder(self.catalog, self.delayed.rule, config)
        self.records = Records(
            self.catalog, fetching, encoder, batches, registry, self.producers, self.transactions, config, clock
        )
        self.recurring = RecurringRecords(self.delayed, self.records, self.transactions)
        self.subscriptions = Subscriptions(
            store, self.catalog, self.waiters, registry, self.transactions.abort, rules, backoffs, self._execute,
            self.decoding, config, clock,
        )  # fmt: skip
        self.batched_writes = BatchedWrites(
            store, config, {TRANSACTION_LOG: self._batch_log, PENDING_ACKS: self.subscriptions.batch_acks}
        )
        self.lag_reader = LagReader(store, self.catalog)
        self.unacked = UnackedMessages(store, self.catalog)
        self.inspection = SubscriptionInspection(store, self.subscriptions.cursors, self.coordinators)
        self.cursor_snapshots = CursorSnapshots(store, self.subscriptions, self.waiters, clock)
        self.partition_transactions = PartitionTransactionsReader(store, self.catalog, self.coordinators)
        single = SingleAppend(self.records, self.producers.ids.allocate_keyed)
        self.execute = Execute(self.coordinators, self.transactions, self.records, single, self.subscriptions)
        self.large_messages = LargeMessages(self.records, registry, self.execute, config, clock)
        self.large_message_reader = LargeMessageReader(self.catalog, self.decoding)
        self.dead_letters = DeadLetters(rules, self.subscriptions.mover, self.subscriptions, self.records.topic)
        self.redelivery = Redelivery(backoffs, self.subscriptions)
        self.reconsume = Reconsume(rules, self.catalog, fetching, self.inspection, self._step, clock)
        self.idempotency = Idempotency(store, lease_ms=config.idempotency_lease_ms, keep_ms=config.idempotency_key_ms)
        self.offsets = Offsets(
            store, self.catalog, self.coordinators, self.transactions.finish, config, clock,
            redis_clock.is_doubted,
        )  # fmt: skip
        self.external_offsets = ExternalOffsets(self.offsets, registry, self.catalog)
        self.groups = Groups(store, self.live_brokers, self.offsets, config, clock, self.security.sees)
        self.cursors = CursorAdministration(
            store, self.catalog, self.subscriptions, self.groups, self.offsets, self.lag_reader
        )
        self.consumer_groups = ConsumerGroups(self.groups, self.catalog, self.security)
        self.event_loop_lag = EventLoopLag()
        self.metrics_collector = MetricsCollector(
            store, self.catalog, self.coordinators, self.live_brokers, config, clock
        )
        keeps, cursors = self.live_brokers.maintains, self.subscriptions.cursors
        self.retention = TopicRetention(
            store, self.catalog, cursors, self.offload, keeps, config, clock, redis_clock.is_doubted
        )
        self.memory_pressure = MemoryPressure(store.admission.fullness, self.retention.relieve)
        self.hanging = HangingTransactions(
            store, self.catalog, self.coordinators, self.transactions, keeps, config, clock
        )
        self.buffer_snapshots = BufferSnapshots(store, self.catalog, keeps, config, clock)
        self.aborted_payload = AbortedPayload(store, self.catalog, keeps, config)
        self.maintenance = Maintenance(
            store, self.catalog, self.coordinators, self.transactions, self.live_brokers, self.offsets, self.producers,
            self.delayed, self.retention, self.hanging, self.buffer_snapshots, self.aborted_payload, config, clock,
            redis_clock,
        )  # fmt: skip

    @classmethod
    async def open(
        cls,
        store: Store,
        config: Config | None = None,
        *,
        clock: Clock | None = None,
        redis_clock: RedisClock | None = None,
        name: str = "",
        http_address: str = "",
    ) -> Broker:
        """Returns a broker that is ready to serve.  The caller closes the store.

        clock: other than Redis's, for tests.
        """
        config = config or Config()
        redis_clock = redis_clock or RedisClock(config.clock_skew_ms_max)
        broker = cls(store, config, clock or redis_clock, redis_clock, name, http_address)
        await read_time(store, redis_clock)
        await storage_format.check(store)
        await broker.coordinators.refresh()
        await broker.batched_writes.open()
        await broker.transactional_ids.open()
        await broker._compare_with_earlier_run()
        await broker.maintenance.start()
        if broker.state_dir is not None:
            broker.state_dir.start(broker.live_brokers.cluster_id)
        broker.redis_watch.start()
        await broker.leader_epochs.open()
        broker.peer_watch.start()
        broker.memory_pressure.start()
        await broker.delayed.open()
        broker.event_loop_lag.start()
        await broker.security.open()
        await broker.quotas.open()
        await broker.dead_letters.rules.open()
        await broker.redelivery.rules.open()
        if broker.security.is_on and not broker.security.knows_anybody and not await broker.scram_credentials.all():
            _log.warning(NO_CREDENTIALS)
        return broker

    async def close(self) -> None:
        """Finishes pending work.  Call it after the last request."""
        await self.idempotency.close()
        await self.peer_watch.close()
        await self.redis_watch.close()
        await self.rollbacks.close()
        await self.leader_epochs.close()
        await self.memory_pressure.close()
        await self.security.close()
        await self.quotas.close()
        await self.batched_writes.close()
        await self.dead_letters.rules.close()
        await self.redelivery.rules.close()
        self.event_loop_lag.close()
        self.metrics_collector.close()
        await self.groups.close()
        await self.delayed.close()
        await self.maintenance.close()
        await self.transactions.close()
        await self.waiters.close()
        if self.offload_reader is not None:
            await self.offload_reader.close()
        if self.state_dir is not None:
            await self.state_dir.close()

    async def _compare_with_earlier_run(self) -> None:
        """Compares Redis with what the state directory holds, before the first request."""
        if self.state_dir is None:
            return
        key = CatalogKeys(self.store.prefix).state
        cluster_id = await self.store.command("HGET", key, "cluster", key=key)
        try:
            await self.state_dir.open()
        except OSError as error:
            _log.error("the state directory cannot be used", state_dir=self.config.state_dir, error=str(error))
            return
        if cluster_id and await self.state_dir.load(cluster_id.decode()):
            try:
                await self.store.admission.compare_all()
            except OSError as error:
                raise StoreUnavailable(str(error)) from error

    def _batch_log(self, batched: BatchedWrite) -> None:
        for coordinator in self.coordinators:
            coordinator.batch(batched)

    async def _topic_removed(self, name: str, topic_id: str) -> None:
        await self.dead_letters.rules.remove_all(name, topic_id)
        await self.redelivery.rules.remove_all(name, topic_id)
        await self.leader_epochs.forget_topic(topic_id)

    def _forget_cached(self) -> None:
        """Drops what Redis may have lost."""
        self.registry.forget_all()
        self.producers.forget_all()
        self.subscriptions.forget_owners()

    async def _after_loss(self) -> None:
        await self.hanging.look_after_loss()
        await self.delayed.scan()

    async def _execute(self, acks: Sequence[ExecuteAcks], records: Sequence[ExecuteRecords]) -> Executed:
        """Late-bound: subscriptions move dead letters with Execute, which itself needs subscriptions."""
        return await self.execute.run(acks, records)

    async def _step(
        self, acks: Sequence[ExecuteAcks], records: Sequence[ExecuteRecords], nonce: str, principal: str
    ) -> Executed:
        return await self.execute.run(acks, records, nonce=nonce, principal=principal)

    async def _is_open(self, key: object) -> bool:
        """key: a transaction id or a transactional id."""
        try:
            if isinstance(key, str):
                return (await self.producers.describe_transaction(key)).started_ms > 0
            return not isinstance(key, TxnId) or (await self.transactions.get(key)).status == "open"
        except TransactionError:
            return False

    async def ready(self) -> dict[str, Any]:
        """The fields of /readyz.  Raises StoreUnavailable if Redis does not answer, RedisUnfit or
        TooFewReplicas if it refuses writes, ClockSkewed if a clock is wrong."""
        if refusal := self.store.admission.refusal():
            raise type(refusal)(refusal.detail, broker=self.name)
        answer = await self.store.command("PING")
        if answer != b"PONG":
            raise StoreUnavailable(f"Redis answered {answer!r} to PING.")
        if self.redis_clock.is_doubted():
            raise ClockSkewed(skew_detail(self.redis_clock.skew_ms), broker=self.name)
        lost = self.lost_writes.to_body(names=not self.config.auth_required)
        return {"broker": self.name, "coordinators": len(self.coordinators), **self.readiness, **lost}
