"""What the principals of the security matrix do at the Kafka door.  Each returns the first error code, 0 for none; what
looks for something returns whether it is shown.
"""

from __future__ import annotations

import hashlib

from redis_ledger.kafka.protocol.messages import add_partitions_to_txn_request as add_partitions
from redis_ledger.kafka.protocol.messages import alter_configs_request as replace
from redis_ledger.kafka.protocol.messages import alter_user_scram_credentials_request as scram
from redis_ledger.kafka.protocol.messages import incremental_alter_configs_request as change
from redis_ledger.kafka.protocol.messages import offset_delete_request as forget
from redis_ledger.kafka.protocol.messages import offset_for_leader_epoch_request as epochs
from redis_ledger.kafka.protocol.messages import txn_offset_commit_request as in_txn
from redis_ledger.kafka.protocol.messages.add_offsets_to_txn_request import AddOffsetsToTxnRequest
from redis_ledger.kafka.protocol.messages.alter_client_quotas_request import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from redis_ledger.kafka.protocol.messages.api_versions_request import ApiVersionsRequest
from redis_ledger.kafka.protocol.messages.consumer_group_describe_request import ConsumerGroupDescribeRequest
from redis_ledger.kafka.protocol.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from redis_ledger.kafka.protocol.messages.create_acls_request import AclCreation, CreateAclsRequest
from redis_ledger.kafka.protocol.messages.create_partitions_request import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from redis_ledger.kafka.protocol.messages.create_topics_request import CreatableTopic, CreateTopicsRequest
from redis_ledger.kafka.protocol.messages.delete_acls_request import DeleteAclsFilter, DeleteAclsRequest
from redis_ledger.kafka.protocol.messages.delete_groups_request import DeleteGroupsRequest
from redis_ledger.kafka.protocol.messages.delete_records_request import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest
from redis_ledger.kafka.protocol.messages.describe_acls_request import DescribeAclsRequest
from redis_ledger.kafka.protocol.messages.describe_client_quotas_request import DescribeClientQuotasRequest
from redis_ledger.kafka.protocol.messages.describe_cluster_request import DescribeClusterRequest
from redis_ledger.kafka.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from redis_ledger.kafka.protocol.messages.describe_groups_request import DescribeGroupsRequest
from redis_ledger.kafka.protocol.messages.describe_log_dirs_request import DescribeLogDirsRequest
from redis_ledger.kafka.protocol.messages.describe_producers_request import DescribeProducersRequest, TopicRequest
from redis_ledger.kafka.protocol.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from redis_ledger.kafka.protocol.messages.describe_topic_partitions_request import TopicRequest as TopicName
from redis_ledger.kafka.protocol.messages.describe_transactions_request import DescribeTransactionsRequest
from redis_ledger.kafka.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
)
from redis_ledger.kafka.protocol.messages.end_txn_request import EndTxnRequest
from redis_ledger.kafka.protocol.messages.find_coordinator_request import FindCoordinatorRequest
from redis_ledger.kafka.protocol.messages.init_producer_id_request import InitProducerIdRequest
from redis_ledger.kafka.protocol.messages.list_groups_request import ListGroupsRequest
from redis_ledger.kafka.protocol.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from redis_ledger.kafka.protocol.messages.list_transactions_request import ListTransactionsRequest
from redis_ledger.kafka.protocol.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from redis_ledger.kafka.protocol.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from redis_ledger.kafka.protocol.messages.offset_fetch_request import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from redis_ledger.kafka.protocol.messages.write_txn_markers_request import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from redis_ledger.kafka.protocol.primitives import NO_UUID
from tests.support.kafka_batches import batch, fetch, produce
from tests.support.kafka_groups import Member
from tests.support.kafka_transactional import NEW, Transactional
from tests.support.principals import ROOT
from tests.support.security_matrix import Ground

TOPIC, BROKER = 2, 4
OTHERS = "others"  # root's transactional id


# -- records and topics ------------------------------------------------------------------------------------------------


async def find_brokers(g: Ground) -> int:
    return await g.code(ApiVersionsRequest("test", "1"), 3) or await g.code(DescribeClusterRequest(), 1)


async def produces(g: Ground) -> int:
    return await g.code(produce("orders", batch("x")), 9)


async def fetches(g: Ground) -> int:
    return await g.code(fetch("orders"), 12)


async def finds_offset(g: Ground) -> int:
    asked = ListOffsetsTopic("orders", [ListOffsetsPartition(0, -1, -1)])
    return await g.code(ListOffsetsRequest(-1, 0, [asked]), 7)


async def finds_end_of_epoch(g: Ground) -> int:
    asked = epochs.OffsetForLeaderTopic("orders", [epochs.OffsetForLeaderPartition(0, -1, 0)])
    return await g.code(epochs.OffsetForLeaderEpochRequest(-1, [asked]), 4)


async def describes_topic(g: Ground) -> int:
    topics = [MetadataRequestTopic(NO_UUID, "orders")]
    return await g.code(MetadataRequest(topics, allow_auto_topic_creation=False), 12)


async def describes_partitions(g: Ground) -> int:
    return await g.code(DescribeTopicPartitionsRequest([TopicName("orders")], 100), 0)


async def is_shown_topic(g: Ground) -> bool:
    answer = await g.ask(MetadataRequest(None), 12)
    return "orders" in [topic.name for topic in answer.topics]


async def creates_topic(g: Ground) -> int:
    return await g.code(CreateTopicsRequest([CreatableTopic("orders", 1, 1)]), 7)


async def creates_by_metadata(g: Ground) -> int:
    topics = [MetadataRequestTopic(NO_UUID, "orders")]
    return await g.code(MetadataRequest(topics, allow_auto_topic_creation=True), 12)


async def deletes_topic(g: Ground) -> int:
    return await g.code(DeleteTopicsRequest(topic_names=["orders"]), 5)


async def deletes_records(g: Ground) -> int:
    asked = DeleteRecordsTopic("orders", [DeleteRecordsPartition(0, -1)])
    return await g.code(DeleteRecordsRequest([asked], 1000), 2)


async def grows_topic(g: Ground) -> int:
    return await g.code(CreatePartitionsRequest([CreatePartitionsTopic("orders", 2, None)], 1000), 3)


async def changes_settings(g: Ground) -> int:
    configs = [change.AlterableConfig("retention.ms", 0, "5000")]
    request = change.IncrementalAlterConfigsRequest([change.AlterConfigsResource(TOPIC, "orders", configs)])
    return await g.code(request, 1)


async def replaces_settings(g: Ground) -> int:
    configs = [replace.AlterableConfig("retention.ms", "5000")]
    return await g.code(replace.AlterConfigsRequest([replace.AlterConfigsResource(TOPIC, "orders", configs)]), 2)


async def describes_settings(g: Ground) -> int:
    return await g.code(DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "orders", None)]), 4)


async def describes_broker(g: Ground) -> int:
    broker = str(g.broker.live_brokers.node_id)
    return await g.code(DescribeConfigsRequest([DescribeConfigsResource(BROKER, broker, None)]), 4)


async def describes_producers(g: Ground) -> int:
    return await g.code(DescribeProducersRequest([TopicRequest("orders", [0])]), 0)


async def describes_sizes(g: Ground) -> int:
    return await g.code(DescribeLogDirsRequest(None), 4)


# -- groups ------------------------------------------------------------------------------------------------------------


async def finds_group(g: Ground) -> int:
    return await g.code(FindCoordinatorRequest(key_type=0, coordinator_keys=["g-kafka"]), 4)


async def joins(g: Ground) -> int:
    member = Member(await g.kafka(g.user), group="g-kafka")
    joined = await member.join()
    if joined.error_code:
        return int(joined.error_code)
    synced = await member.sync({member.id: b"a"})
    beaten = await member.beat()
    left = await member.leave()
    return int(synced.error_code or beaten or left.error_code)


async def joins_by_heartbeat(g: Ground) -> int:
    asked = ConsumerGroupHeartbeatRequest(
        "g-new", g.user, rebalance_timeout_ms=60_000, topic_partitions=[], subscribed_topic_names=["orders"]
    )
    code = await g.code(asked, 1)
    return code or await g.code(ConsumerGroupHeartbeatRequest("g-new", g.user, -1), 1)


async def commits_offset(g: Ground) -> int:
    entry = OffsetCommitRequestTopic("orders", partitions=[OffsetCommitRequestPartition(0, 1)])
    return await g.code(OffsetCommitRequest("g-kafka", -1, "", topics=[entry]), 8)


async def reads_offsets(g: Ground) -> int:
    asked = OffsetFetchRequestGroup("g-kafka", topics=[OffsetFetchRequestTopics("orders", NO_UUID, [0])])
    return await g.code(OffsetFetchRequest(groups=[asked]), 8)


async def describes_group(g: Ground) -> int:
    return await g.code(DescribeGroupsRequest(["g-kafka"]), 6)


async def describes_consumers(g: Ground) -> int:
    """Of a group that root is in, so that the reply contains topics."""
    user, g.user = g.user, ROOT
    asked = ConsumerGroupHeartbeatRequest(
        "g-new", "root", rebalance_timeout_ms=60_000, topic_partitions=[], subscribed_topic_names=["orders"]
    )
    assert await g.code(asked, 1) == 0
    g.user = user
    code = await g.code(ConsumerGroupDescribeRequest(["g-new"]), 1)
    g.user = ROOT
    assert await g.code(ConsumerGroupHeartbeatRequest("g-new", "root", -1), 1) == 0
    g.user = user
    return code


async def is_shown_group(g: Ground) -> bool:
    return "g-kafka" in [group.group_id for group in (await g.ask(ListGroupsRequest(), 4)).groups]


async def deletes_group(g: Ground) -> int:
    return await g.code(DeleteGroupsRequest(["g-kafka"]), 2)


async def deletes_offsets(g: Ground) -> int:
    asked = forget.OffsetDeleteRequestTopic("orders", [forget.OffsetDeleteRequestPartition(0)])
    return await g.code(forget.OffsetDeleteRequest("g-kafka", [asked]), 0)


# -- transactions ------------------------------------------------------------------------------------------------------


def own(g: Ground) -> str:
    return f"tx-{g.user}"


async def inits(g: Ground) -> int:
    return await g.code(InitProducerIdRequest(None, 1000), 4)


async def finds_transaction(g: Ground) -> int:
    return await g.code(FindCoordinatorRequest(key_type=1, coordinator_keys=[own(g)]), 4)


async def writes_in_its_transaction(g: Ground) -> int:
    answer = await g.ask(InitProducerIdRequest(own(g), 30_000), 4)
    if answer.error_code:
        return int(answer.error_code)
    producer = Transactional(await g.kafka(g.user), own(g), NEW)
    producer.pid, producer.epoch = answer.producer_id, answer.producer_epoch
    code = await producer.add("orders", 0) or await producer.send("orders", "x")
    ended = await producer.end(not code)
    return code or ended


async def commits_offsets_in_its_transaction(g: Ground) -> int:
    answer = await g.ask(InitProducerIdRequest(own(g), 30_000), 4)
    if answer.error_code:
        return int(answer.error_code)
    who = (answer.producer_id, answer.producer_epoch)
    code = await g.code(AddOffsetsToTxnRequest(own(g), *who, "g-kafka"), 3)
    entry = in_txn.TxnOffsetCommitRequestTopic("orders", partitions=[in_txn.TxnOffsetCommitRequestPartition(0, 1)])
    code = code or await g.code(in_txn.TxnOffsetCommitRequest(own(g), "g-kafka", *who, topics=[entry]), 3)
    ended = await g.code(EndTxnRequest(own(g), *who, not code), 3)
    return code or ended


async def _others(g: Ground) -> Transactional:
    """root's, which has something open on held."""
    producer = await Transactional(await g.kafka(ROOT), OTHERS, NEW).init()
    assert await producer.send("held", "x") == 0
    return producer


async def ends_another_s(g: Ground) -> int:
    producer = await _others(g)
    return await g.code(EndTxnRequest(OTHERS, producer.pid, producer.epoch, True), 3)


async def writes_into_another_s(g: Ground) -> int:
    producer = await _others(g)
    topics = [add_partitions.AddPartitionsToTxnTopic("orders", [0])]
    held = (OTHERS, producer.pid, producer.epoch)
    code = await g.code(add_partitions.AddPartitionsToTxnRequest([], *held, topics), 3)
    data = batch("x", producer=(producer.pid, producer.epoch, 0), transactional=True)
    code = code or await g.code(produce("orders", data, transactional_id=OTHERS), 12)
    await producer.end(False)
    return code


async def takes_another_s_place(g: Ground) -> int:
    return await g.code(InitProducerIdRequest(OTHERS, 30_000), 4)


async def commits_offsets_in_another_s(g: Ground) -> int:
    producer = await _others(g)
    held = (producer.pid, producer.epoch)
    entry = in_txn.TxnOffsetCommitRequestTopic("orders", partitions=[in_txn.TxnOffsetCommitRequestPartition(0, 1)])
    code = await g.code(in_txn.TxnOffsetCommitRequest(OTHERS, "g-kafka", *held, topics=[entry]), 5)
    await producer.end(False)
    return code


async def aborts_hanging(g: Ground) -> int:
    producer = await _others(g)
    marker = WritableTxnMarker(producer.pid, producer.epoch, False, [WritableTxnMarkerTopic("held", [0])])
    return await g.code(WriteTxnMarkersRequest([marker]), 1)


async def describes_another_s(g: Ground) -> int:
    producer = await _others(g)
    code = await g.code(DescribeTransactionsRequest([OTHERS]), 0)
    await producer.end(False)
    return code


async def is_shown_another_s(g: Ground) -> bool:
    producer = await _others(g)
    found = (await g.ask(ListTransactionsRequest(), 1)).transaction_states
    await producer.end(False)
    return OTHERS in [each.transactional_id for each in found]


async def adds_as_a_broker(g: Ground) -> int:
    producer = await _others(g)
    topics = [add_partitions.AddPartitionsToTxnTopic("held", [0])]
    txn = add_partitions.AddPartitionsToTxnTransaction(OTHERS, producer.pid, producer.epoch, True, topics)
    code = await g.code(add_partitions.AddPartitionsToTxnRequest([txn]), 4)
    await producer.end(False)
    return code


# -- who may do what ---------------------------------------------------------------------------------------------------


async def lists_rules(g: Ground) -> int:
    return await g.code(DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3)


async def adds_rule(g: Ground) -> int:
    return await g.code(CreateAclsRequest([AclCreation(TOPIC, "orders", 3, "User:made", "*", 3, 3)]), 3)


async def removes_rules(g: Ground) -> int:
    return await g.code(DeleteAclsRequest([DeleteAclsFilter(1, None, 1, "User:made", None, 1, 1)]), 3)


async def lists_quotas(g: Ground) -> int:
    return await g.code(DescribeClientQuotasRequest([]), 1)


async def sets_quota(g: Ground) -> int:
    user, operation = EntityData("user", "made"), OpData("producer_byte_rate", 1e9)
    return await g.code(AlterClientQuotasRequest([EntryData([user], [operation])]), 1)


async def lists_users(g: Ground) -> int:
    return await g.code(DescribeUserScramCredentialsRequest(None), 0)


async def adds_user(g: Ground) -> int:
    salted = hashlib.pbkdf2_hmac("sha256", b"sesame", b"salt", 4096)
    upsertion = scram.ScramCredentialUpsertion("made", 1, 4096, b"salt", salted)
    return await g.code(scram.AlterUserScramCredentialsRequest([], [upsertion]), 0)


async def removes_user(g: Ground) -> int:
    return await g.code(scram.AlterUserScramCredentialsRequest([scram.ScramCredentialDeletion("made", 1)], []), 0)
