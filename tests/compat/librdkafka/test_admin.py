# mypy: disable-error-code="import-not-found"
"""librdkafka's admin client: topics, configurations, offsets, groups, credentials."""

from __future__ import annotations

import pytest
from confluent_kafka import (
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)


def done(futures, key=None):
    """The result of the only future of a call, or of that for key."""
    if key is None:
        (future,) = futures.values()
    else:
        future = futures[key]
    return future.result(20)


def expect_code(code, futures):
    with pytest.raises(KafkaException) as refused:
        done(futures)
    assert refused.value.args[0].code() == code


# -- topics ------------------------------------------------------------------------------------------------------------


def test_topics_are_created_described_and_deleted(admin, name, eventually):
    called = name()
    done(admin.create_topics([NewTopic(called, 3, 1)]))
    found = done(admin.describe_topics(TopicCollection([called])))
    assert (found.name, found.is_internal, len(found.partitions)) == (called, False, 3)
    assert all(each.leader is not None and each.isr for each in found.partitions)
    assert str(found.topic_id) != ""
    assert called in admin.list_topics(timeout=10).topics
    done(admin.delete_topics([called]))
    eventually(lambda: called not in admin.list_topics(timeout=10).topics)


def test_a_topic_is_created_once_and_by_a_name_that_may_be_one(admin, topic):
    expect_code(KafkaError.TOPIC_ALREADY_EXISTS, admin.create_topics([NewTopic(topic(), 1, 1)]))
    expect_code(KafkaError.TOPIC_EXCEPTION, admin.create_topics([NewTopic("no spaces please", 1, 1)]))
    expect_code(KafkaError.INVALID_PARTITIONS, admin.create_topics([NewTopic("none", 0, 1)]))


def test_a_validated_topic_is_not_created(admin, name):
    called = name()
    done(admin.create_topics([NewTopic(called, 1, 1)], validate_only=True))
    assert called not in admin.list_topics(timeout=10).topics


def test_what_does_not_exist_cannot_be_deleted_or_described(admin, name):
    expect_code(KafkaError.UNKNOWN_TOPIC_OR_PART, admin.delete_topics([name()]))
    expect_code(KafkaError.UNKNOWN_TOPIC_OR_PART, admin.describe_topics(TopicCollection([name()])))


def test_partitions_are_added_and_never_taken_away(admin, topic, producer, send, eventually):
    called = topic(2)
    done(admin.create_partitions([NewPartitions(called, 5)]))
    eventually(lambda: len(done(admin.describe_topics(TopicCollection([called]))).partitions) == 5)
    assert send(producer(), called, [b"v"], partition=4)[0].partition() == 4
    expect_code(KafkaError.INVALID_PARTITIONS, admin.create_partitions([NewPartitions(called, 3)]))


def test_the_cluster_names_its_brokers_and_a_controller(admin, kafka):
    found = admin.describe_cluster().result(20)
    assert found.cluster_id
    assert found.controller.id in [node.id for node in found.nodes]
    assert f"{found.nodes[0].host}:{found.nodes[0].port}" in kafka.split(",")


# -- configurations ----------------------------------------------------------------------------------------------------


def config_of(admin, called):
    return done(admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, called)]))


def test_a_topics_configuration_is_what_it_was_created_with_and_defaults(admin, topic):
    found = config_of(admin, topic(1, **{"retention.ms": "123456"}))
    assert (found["retention.ms"].value, found["retention.ms"].is_default) == ("123456", False)
    assert found["retention.ms"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert (found["cleanup.policy"].value, found["cleanup.policy"].is_default) == ("delete", True)
    assert {"retention.bytes", "max.message.bytes"} <= found.keys()


def test_a_configuration_is_set_deleted_and_only_validated(admin, topic, eventually):
    called = topic()

    def alter(operation, value=None, **more):
        entry = ConfigEntry("retention.ms", value, incremental_operation=operation)
        resource = ConfigResource(ConfigResource.Type.TOPIC, called, incremental_configs=[entry])
        done(admin.incremental_alter_configs([resource], **more))

    default = config_of(admin, called)["retention.ms"].value
    alter(AlterConfigOpType.SET, "60000")
    eventually(lambda: config_of(admin, called)["retention.ms"].value == "60000")
    alter(AlterConfigOpType.SET, "70000", validate_only=True)
    assert config_of(admin, called)["retention.ms"].value == "60000"
    alter(AlterConfigOpType.DELETE)
    eventually(lambda: config_of(admin, called)["retention.ms"].value == default)


def test_alter_configs_replaces_all(admin, topic, eventually):
    called = topic(1, **{"retention.ms": "60000"})
    done(admin.alter_configs([ConfigResource(ConfigResource.Type.TOPIC, called, {"retention.bytes": "1000000"})]))
    eventually(lambda: config_of(admin, called)["retention.bytes"].value == "1000000")
    assert config_of(admin, called)["retention.ms"].is_default


def test_a_configuration_that_is_none_is_refused(admin, topic, name):
    wrong = NewTopic(name(), 1, 1, config={"no.such.thing": "1"})
    expect_code(KafkaError.INVALID_CONFIG, admin.create_topics([wrong]))
    entry = ConfigEntry("retention.ms", "soon", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic(), incremental_configs=[entry])
    expect_code(KafkaError.INVALID_CONFIG, admin.incremental_alter_configs([resource]))
    unknown = ConfigResource(ConfigResource.Type.TOPIC, name())
    expect_code(KafkaError.UNKNOWN_TOPIC_OR_PART, admin.describe_configs([unknown]))


def test_broker_configuration_is_described(admin):
    broker = admin.describe_cluster().result(20).nodes[0].id
    found = done(admin.describe_configs([ConfigResource(ConfigResource.Type.BROKER, str(broker))]))
    assert found["auto.create.topics.enable"].value == "true"
    assert int(found["num.partitions"].value) >= 1


# -- offsets and records -----------------------------------------------------------------------------------------------


def test_offsets_are_listed_from_both_ends_by_time_and_by_greatest_time(admin, topic, producer, send):
    called = topic()
    for at in (1000, 5000, 3000, 4000):
        send(producer(), called, [b"v"], timestamp=1_700_000_000_000 + at)

    def offset(spec, **more):
        return done(admin.list_offsets({TopicPartition(called, 0): spec}, **more))

    assert offset(OffsetSpec.earliest()).offset == 0
    assert offset(OffsetSpec.latest()).offset == 4
    assert offset(OffsetSpec.for_timestamp(1_700_000_002_000)).offset == 1
    newest = offset(OffsetSpec.max_timestamp())
    assert (newest.offset, newest.timestamp) == (1, 1_700_000_005_000)


def test_the_end_of_an_open_transaction_differs_by_isolation(admin, topic, producer, transactional, send):
    called = topic()
    send(producer(), called, [b"v"])
    one = transactional()
    one.begin_transaction()
    send(one, called, [b"in doubt"])
    asked = {TopicPartition(called, 0): OffsetSpec.latest()}
    committed = done(admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED))
    everything = done(admin.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED))
    assert (committed.offset, everything.offset) == (1, 2)
    one.abort_transaction(20)


def test_consumers_start_after_deleted_records(admin, topic, producer, send, consumer, read):
    called = topic()
    for number in range(10):
        send(producer(), called, [b"%d" % number])
    found = done(admin.delete_records([TopicPartition(called, 0, 6)]))
    assert found.low_watermark == 6
    reader = consumer(called)
    assert [message.offset() for message in read(reader, 4)] == [6, 7, 8, 9]
    assert reader.get_watermark_offsets(TopicPartition(called, 0), timeout=10) == (6, 10)
    expect_code(KafkaError.OFFSET_OUT_OF_RANGE, admin.delete_records([TopicPartition(called, 0, 99)]))
    assert done(admin.delete_records([TopicPartition(called, 0, -1)])).low_watermark == 10


# -- groups ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_are_listed_described_and_deleted_when_they_are_empty(
    protocol, admin, topic, producer, send, consumer, read, name, eventually
):
    called, group = topic(2), name("g")
    send(producer(), called, [b"v"])
    member = consumer(called, group_id=group, group_protocol=protocol, client_id="me")
    read(member, 1)
    eventually(lambda: member.poll(0.05) or len(member.assignment()) == 2)
    member.commit(asynchronous=False)
    # While it lives
    listed = {each.group_id: each for each in admin.list_consumer_groups().result(20).valid}
    assert listed[group].state == ConsumerGroupState.STABLE
    assert listed[group].type == ConsumerGroupType[protocol.upper()]
    found = done(admin.describe_consumer_groups([group]))
    assert (found.state, found.type) == (ConsumerGroupState.STABLE, ConsumerGroupType[protocol.upper()])
    assert [each.client_id for each in found.members] == ["me"]
    assert sorted(each.partition for each in found.members[0].assignment.topic_partitions) == [0, 1]
    expect_code(KafkaError.NON_EMPTY_GROUP, admin.delete_consumer_groups([group]))
    # When it is gone
    member.close()
    empty = {ConsumerGroupState.EMPTY}
    eventually(lambda: group in [each.group_id for each in admin.list_consumer_groups(states=empty).result(20).valid])
    done(admin.delete_consumer_groups([group]))
    assert group not in [each.group_id for each in admin.list_consumer_groups().result(20).valid]
    expect_code(KafkaError.GROUP_ID_NOT_FOUND, admin.delete_consumer_groups([group]))


def test_offsets_of_an_empty_group_are_listed_and_altered(admin, topic, producer, send, consumer, read, name):
    called, group = topic(2), name("g")
    for partition in range(2):
        send(producer(), called, [b"%d" % number for number in range(8)], partition=partition)
    places = [TopicPartition(called, 0, 3), TopicPartition(called, 1, 5)]
    done(admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)]))
    found = done(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))
    assert sorted((each.partition, each.offset) for each in found.topic_partitions) == [(0, 3), (1, 5)]
    member = consumer(called, group_id=group)
    assert len(read(member, 8)) == 8
    refused = done(admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, places)]))
    assert [each.error.code() for each in refused.topic_partitions] == [KafkaError.UNKNOWN_MEMBER_ID] * 2


# -- credentials -------------------------------------------------------------------------------------------------------


def test_scram_credentials_are_stored_described_and_deleted(admin, name, eventually):
    user = name("user")
    credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192)
    done(admin.alter_user_scram_credentials([UserScramCredentialUpsertion(user, credential, b"secret")]))
    found = eventually(lambda: done(admin.describe_user_scram_credentials([user])))
    stored = [(each.mechanism, each.iterations) for each in found.scram_credential_infos]
    assert stored == [(ScramMechanism.SCRAM_SHA_256, 8192)]
    done(admin.alter_user_scram_credentials([UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_256)]))

    def is_gone():
        with pytest.raises(KafkaException) as refused:
            done(admin.describe_user_scram_credentials([user]))
        return refused.value.args[0].code() == KafkaError.RESOURCE_NOT_FOUND

    eventually(is_gone)
