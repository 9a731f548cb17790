"""Every writing Kafka API while this broker must not write to Redis: retriable error codes.

The expected codes are those that the clients repeat for that API: Java's TransactionManager, coordinators and
RetriableException, librdkafka's rd_kafka_err_action tables, franz-go's kerr.Error.Retriable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import (
    LedgerError,
    OutcomeUnknown,
    ProducerFenced,
    RedisUnfit,
    StorageFull,
    StoreTimeout,
    StoreUnavailable,
    TooManyTransactions,
)
from redis_ledger.kafka.error_metrics import finder
from redis_ledger.kafka.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from redis_ledger.kafka.protocol.messages.add_partitions_to_txn_request import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from redis_ledger.kafka.protocol.messages.alter_configs_request import AlterableConfig as Config
from redis_ledger.kafka.protocol.messages.alter_configs_request import AlterConfigsRequest, AlterConfigsResource
from redis_ledger.kafka.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from redis_ledger.kafka.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from redis_ledger.kafka.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from redis_ledger.kafka.protocol.messages.delete_groups_request import DeleteGroupsRequest
from redis_ledger.kafka.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.protocol.messages.heartbeat_request import HeartbeatRequest
from redis_ledger.kafka.protocol.messages.incremental_alter_configs_request import (
    AlterableConfig,
    IncrementalAlterConfigsRequest,
)
from redis_ledger.kafka.protocol.messages.incremental_alter_configs_request import (
    AlterConfigsResource as IncrementalResource,
)
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.join_group_request import JoinGroupRequest, JoinGroupRequestProtocol
from redis_ledger.kafka.protocol.messages.leave_group_request import LeaveGroupRequest
from redis_ledger.kafka.protocol.messages.offset_delete_request import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from redis_ledger.kafka.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from redis_ledger.kafka.protocol.messages.sync_group_request import SyncGroupRequest
from redis_ledger.kafka.protocol.messages.txn_offset_commit_request import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from redis_ledger.kafka.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from redis_ledger.kafka.request_context import fenced_code
from redis_ledger.kafka.router import routes
from tests.support.broker import eventually, one
from tests.support.kafka_batches import batch, produce, produced
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_groups import QUICK
from tests.support.kafka_offsets import commit, committing, join, sync
from tests.support.redis_servers import Server, redis_server

DONE, LOADING, NO_COORDINATOR, CONCURRENT, STORAGE = 0, 14, 15, 51, 56
FENCED, EPOCH = 90, 47
UNSEEN = b"\1" * 16  # the id of a topic that this broker has not seen


class Ask(NamedTuple):
    """codes: one of them is answered; 0 where a broker needs no write for it.  reads_first: while Redis can be read,
    the answer is that something does not exist."""

    request: Any
    version: int
    codes: set[int]
    reads_first: bool = False

    @property
    def api(self) -> str:
        return type(self.request).__name__.removesuffix("Request")


class Known(NamedTuple):
    """State created while Redis was fit: a producer with a transaction, and a member of the group "g"."""

    pid: int
    epoch: int
    member: tuple[str, int]


def asks(known: Known) -> list[Ask]:
    tx, (member_id, generation) = ("tx", known.pid, known.epoch), known.member
    topics = [AddPartitionsToTxnTopic("t", [1])]
    unseen = [AddPartitionsToTxnTopic("t", [0]), AddPartitionsToTxnTopic("unseen", [0])]

    def offsets(name: str, topic_id: bytes = bytes(16)) -> list[TxnOffsetCommitRequestTopic]:
        return [TxnOffsetCommitRequestTopic(name, topic_id, [TxnOffsetCommitRequestPartition(0, 1)])]

    def txn_commit(version: int, codes: set[int], *where: Any) -> Ask:
        request = TxnOffsetCommitRequest("tx", "h", known.pid, known.epoch, -1, "", None, offsets(*where))
        return Ask(request, version, codes, version >= 6)

    def by_id(topic_id: bytes) -> Any:
        request = produce("", batch("x"))
        request.topic_data[0].topic_id = topic_id
        return request

    beat = ConsumerGroupHeartbeatRequest("new", "m", 0, None, None, 30_000, ["t"], None, None, [])
    reading = OffsetFetchRequestGroup("h", None, -1, [OffsetFetchRequestTopics("", UNSEEN, [0])])
    protocols = [JoinGroupRequestProtocol("range", b"")]
    return [
        # producers
        Ask(InitProducerIdRequest(None, 30_000), 4, {LOADING}),
        Ask(InitProducerIdRequest("tx", 30_000), 1, {NO_COORDINATOR}),
        Ask(InitProducerIdRequest("tx", 30_000), 5, {NO_COORDINATOR}),
        Ask(AddPartitionsToTxnRequest([], *tx, topics), 1, {NO_COORDINATOR}),
        Ask(AddPartitionsToTxnRequest([], *tx, topics), 3, {NO_COORDINATOR}),
        Ask(AddPartitionsToTxnRequest([], *tx, unseen), 3, {NO_COORDINATOR}, True),
        Ask(AddOffsetsToTxnRequest(*tx, "h"), 3, {DONE, NO_COORDINATOR}),
        txn_commit(1, {NO_COORDINATOR}, "t"),
        txn_commit(3, {LOADING}, "t"),
        txn_commit(5, {LOADING}, "t"),
        txn_commit(6, {LOADING}, "", UNSEEN),
        Ask(EndTxnRequest(*tx, True), 1, {NO_COORDINATOR}),
        Ask(EndTxnRequest(*tx, True), 5, {NO_COORDINATOR}),
        Ask(produce("t", batch("x")), 9, {STORAGE}),
        Ask(produce("t", batch("x", producer=(known.pid, known.epoch, 1), transactional=True), transactional_id="tx"),
            10, {STORAGE}),
        Ask(by_id(UNSEEN), 13, {STORAGE}, True),
        Ask(WriteTxnMarkersRequest([WritableTxnMarker(known.pid, 0, False, [WritableTxnMarkerTopic("t", [0])])]),
            1, {STORAGE}),
        # members and offsets of groups
        Ask(FindCoordinatorRequest("tx", 1), 3, {DONE, NO_COORDINATOR}),
        Ask(FindCoordinatorRequest("new", 0), 3, {DONE, NO_COORDINATOR}),
        Ask(JoinGroupRequest("new", 10_000, 10_000, "", None, "consumer", protocols), 3, {NO_COORDINATOR}),
        Ask(SyncGroupRequest("new", 1, "m", None, "consumer", "range", []), 5, {NO_COORDINATOR}, True),
        Ask(HeartbeatRequest("new", 1, "m"), 4, {NO_COORDINATOR}, True),
        Ask(LeaveGroupRequest("new", "m"), 2, {NO_COORDINATOR}, True),
        Ask(beat, 1, {NO_COORDINATOR}),
        Ask(committing(("t", 0, 1), group="h"), 8, {LOADING}),
        Ask(committing(("t", 0, 1), member=(member_id, generation)), 8, {LOADING}),
        Ask(committing((UNSEEN, 0, 1), group="h"), 10, {LOADING}, True),
        Ask(OffsetDeleteRequest("h", [OffsetDeleteRequestTopic("t", [OffsetDeleteRequestPartition(0)])]), 0, {LOADING}),
        Ask(OffsetFetchRequest("", [], [reading], False), 10, {LOADING}, True),
        Ask(DeleteGroupsRequest(["h"]), 2, {NO_COORDINATOR}),
        # administration
        Ask(CreateTopicsRequest([CreatableTopic("fresh", 1, 1)]), 7, {STORAGE}),
        Ask(DeleteTopicsRequest(topic_names=["t"]), 5, {STORAGE}),
        Ask(DeleteRecordsRequest([DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 1)])], 1_000), 2, {STORAGE}),
        Ask(CreatePartitionsRequest([CreatePartitionsTopic("t", 3, None)], 1_000), 3, {STORAGE}),
        Ask(AlterConfigsRequest([AlterConfigsResource(2, "t", [Config("retention.ms", "1")])]), 2, {STORAGE}),
        Ask(IncrementalAlterConfigsRequest([IncrementalResource(2, "t", [AlterableConfig("retention.ms", 0, "1")])]),
            1, {STORAGE}),
    ]  # fmt: skip


# The others write nothing, or are refused at once while security is off.
WRITES_NOT = """
    ApiVersions ConsumerGroupDescribe DescribeAcls DescribeClientQuotas DescribeCluster DescribeConfigs DescribeGroups
    DescribeLogDirs DescribeProducers DescribeTopicPartitions DescribeTransactions DescribeUserScramCredentials Fetch
    ListGroups ListOffsets ListTransactions Metadata OffsetForLeaderEpoch SaslAuthenticate SaslHandshake
""".split()
NEEDS_SECURITY = "AlterClientQuotas AlterUserScramCredentials CreateAcls DeleteAcls".split()


def test_the_table_has_every_api_that_writes():
    served = {route.name for route in routes().values()}
    assert {ask.api for ask in asks(Known(1, 0, ("m", 1)))} == served - set(WRITES_NOT) - set(NEEDS_SECURITY)


def refuses_writes(broker: Broker, redis: Server) -> None:
    broker.store.admission.bar("The disk is full.")


def lost_its_data(broker: Broker, redis: Server) -> None:
    redis.ask("FLUSHALL")


async def is_unfit(broker: Broker) -> bool:
    return broker.store.admission.refusal() is not None


@pytest.mark.parametrize("breaks", [refuses_writes, lost_its_data])
async def test_while_redis_is_unfit_every_api_that_writes_answers_a_code_that_clients_repeat(
    prefix: str, breaks: Callable[[Broker, Server], None]
) -> None:
    with redis_server() as redis:
        async with one(redis.url, prefix, **QUICK) as broker:
            await broker.topics.create("t", 2)
            async with listening(broker) as address, KafkaClient(address) as client:
                known = await before(client)
                # Given a broker that must not write
                breaks(broker, redis)
                await eventually(lambda: is_unfit(broker), True)
                # When each API is called that writes
                answered = []
                for ask in asks(known):
                    if ask.reads_first and breaks is refuses_writes:
                        continue
                    answer = await client.ask(ask.request, ask.version)
                    answered.append((ask.api, ask.version, ask.codes, finder(type(answer))(answer)))
                # Then it answers a code that clients repeat for this API
                assert [each for each in answered if each[3] not in each[2]] == []


async def before(client: KafkaClient) -> Known:
    assert produced(await client.ask(produce("t", batch("a")), 9)).error_code == 0
    answer = await client.ask(InitProducerIdRequest("tx", 30_000), 4)
    pid, epoch = answer.producer_id, answer.producer_epoch
    asked = AddPartitionsToTxnRequest([], "tx", pid, epoch, [AddPartitionsToTxnTopic("t", [0])])
    await client.ask(asked, 3)
    sent = batch("b", producer=(pid, epoch, 0), transactional=True)
    assert produced(await client.ask(produce("t", sent, transactional_id="tx"), 10)).error_code == 0
    member = await sync(client, await join(client))
    assert await commit(client, ("t", 0, 1), group="h") == [0]
    return Known(pid, epoch, member)


@pytest.mark.parametrize(
    ("error", "knows_fenced", "code"),
    [
        (RedisUnfit(), True, NO_COORDINATOR),
        (StoreUnavailable(), True, NO_COORDINATOR),
        (StoreTimeout(), True, NO_COORDINATOR),
        (StorageFull(), True, NO_COORDINATOR),
        (OutcomeUnknown(), True, NO_COORDINATOR),
        (TooManyTransactions(), True, CONCURRENT),
        (ProducerFenced(), True, FENCED),
        (ProducerFenced(), False, EPOCH),
    ],
)
def test_the_codes_for_transactional_producers(error: LedgerError, knows_fenced: bool, code: int) -> None:
    assert fenced_code(error, knows_fenced) == code
