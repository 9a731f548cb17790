# mypy: disable-error-code="import-not-found"
"""kafka-python's admin client: topics, configurations, offsets, groups, credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kafka import OffsetAndMetadata, TopicPartition
from kafka.admin import (
    ConfigResource,
    MemberToRemove,
    OffsetSpec,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)
from kafka.errors import (
    InvalidPartitionsError,
    NoError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

Make = Callable[..., Any]


def test_topics_are_created_described_and_deleted(admin: Any, name: Make, eventually: Make) -> None:
    called = name()
    wanted = {called: {"num_partitions": 3, "replication_factor": 1}}
    admin.create_topics(wanted, wait_for_metadata=True)
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics(wanted)
    (found,) = admin.describe_topics([called])
    assert (found["name"], len(found["partitions"])) == (called, 3)
    assert called in admin.list_topics()
    admin.delete_topics([called])
    eventually(lambda: called not in admin.list_topics())
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.delete_topics([called])


def test_partitions_are_described_page_by_page(admin: Any, topic: Make) -> None:
    called = topic(5)
    page = admin.describe_topic_partitions([called], response_partition_limit=3)
    assert [each["partition_index"] for each in page["topics"][0]["partitions"]] == [0, 1, 2]
    rest = admin.describe_topic_partitions([called], cursor=page["next_cursor"])
    assert [each["partition_index"] for each in rest["topics"][0]["partitions"]] == [3, 4]
    assert rest["next_cursor"] is None


def test_partitions_are_added_and_never_taken_away(admin: Any, topic: Make, eventually: Make) -> None:
    called = topic(2)
    admin.create_partitions({called: 5})
    eventually(lambda: len(admin.describe_topics([called])[0]["partitions"]) == 5)
    with pytest.raises(InvalidPartitionsError):
        admin.create_partitions({called: 3})


def test_the_cluster_names_its_brokers_a_controller_and_its_features(admin: Any) -> None:
    found = admin.describe_cluster()
    assert found["controller_id"] in [each["broker_id"] for each in found["brokers"]]
    assert admin.describe_features()["transaction.version"]["finalized"][1] >= 2


def test_configurations_are_described_altered_and_reset(admin: Any, topic: Make, eventually: Make) -> None:
    called = topic(1, **{"retention.ms": "60000"})

    def config() -> dict[str, str]:
        (found,) = admin.describe_configs([ConfigResource("TOPIC", called)])["topic"].values()
        return {key: entry["value"] for key, entry in found.items()}

    assert config() == {"retention.ms": "60000"}
    admin.alter_configs([ConfigResource("TOPIC", called, {"retention.ms": "70000", "retention.bytes": "100000"})])
    eventually(lambda: config() == {"retention.ms": "70000", "retention.bytes": "100000"})
    admin.reset_configs([ConfigResource("TOPIC", called, ["retention.ms"])])
    eventually(lambda: config() == {"retention.bytes": "100000"})


def test_offsets_are_listed_and_records_deleted(admin: Any, topic: Make, producer: Make) -> None:
    called = topic()
    place, one = TopicPartition(called, 0), producer()
    for at in (1000, 5000, 3000):
        one.send(called, b"v", timestamp_ms=1_700_000_000_000 + at).get(10)

    def offset(spec: Any) -> int:
        found: int = admin.list_partition_offsets({place: spec})[place].offset
        return found

    assert offset(1_700_000_002_000) == 1
    assert offset(OffsetSpec.MAX_TIMESTAMP) == 1
    assert (offset(OffsetSpec.EARLIEST), offset(OffsetSpec.LATEST)) == (0, 3)
    assert admin.delete_records({place: 2})[place]["low_watermark"] == 2
    assert offset(OffsetSpec.EARLIEST) == 2


def test_log_directory_has_partition_sizes(admin: Any, topic: Make, producer: Make) -> None:
    called = topic()
    producer().send(called, b"x" * 10_000).get(10)
    sizes = [
        each["partition_size"]
        for broker in admin.describe_log_dirs({called: [0]})
        for folder in broker["log_dirs"]
        for found in folder["topics"]
        if found["name"] == called
        for each in found["partitions"]
    ]
    assert len(sizes) == 1
    assert sizes[0] >= 10_000


def test_groups_are_listed_described_and_deleted_when_they_are_empty(
    admin: Any, topic: Make, producer: Make, consumer: Make, read: Make, name: Make, eventually: Make
) -> None:
    called, group = topic(), name("g")
    place = TopicPartition(called, 0)
    producer().send(called, b"v").get(10)
    # This client leaves a group without retries, so a lost LeaveGroup takes a session timeout.
    member = consumer(called, group_id=group, client_id="me", session_timeout_ms=6_000)
    read(member, 1)
    member.commit()
    listed = {each["group_id"]: each for each in admin.list_groups()}
    assert (listed[group]["protocol_type"], listed[group]["group_state"]) == ("consumer", "Stable")
    assert group not in [each["group_id"] for each in admin.list_groups(states_filter=["Empty"])]
    found = admin.describe_groups([group])[group]
    assert (found["group_state"], [each["client_id"] for each in found["members"]]) == ("Stable", ["me"])
    assert admin.list_group_offsets({group: None})[group][place].offset == 1
    assert admin.delete_groups([group]) == {group: "NonEmptyGroupError"}
    member.close()
    eventually(lambda: admin.delete_groups([group]) == {group: "OK"})
    assert admin.delete_groups([group]) == {group: "GroupIdNotFoundError"}


def test_a_groups_offsets_are_altered_reset_and_deleted(admin: Any, topic: Make, producer: Make, name: Make) -> None:
    called, group = topic(2), name("g")
    places = [TopicPartition(called, number) for number in range(2)]
    one = producer()
    for place in places:
        for _ in range(5):
            one.send(called, b"v", partition=place.partition).get(10)
    altered = admin.alter_group_offsets(group, {place: OffsetAndMetadata(3, "", -1) for place in places})
    assert set(altered.values()) == {NoError}
    assert admin.reset_group_offsets(group, {places[0]: OffsetSpec.LATEST})[places[0]]["offset"] == 5
    assert admin.delete_group_offsets(group, [places[1]]) == {places[1]: NoError}
    assert {place: each.offset for place, each in admin.list_group_offsets({group: None})[group].items()} == {
        places[0]: 5
    }


def test_a_static_member_is_removed_by_its_instance_id(
    admin: Any, topic: Make, producer: Make, consumer: Make, read: Make, name: Make, eventually: Make
) -> None:
    called, group = topic(), name("g")
    producer().send(called, b"v").get(10)
    member = consumer(called, group_id=group, group_instance_id="one")
    read(member, 1)
    member.close()
    assert [each["group_instance_id"] for each in admin.describe_groups([group])[group]["members"]] == ["one"]
    removed = admin.remove_group_members(group, [MemberToRemove(group_instance_id="one")])
    assert set(removed.values()) == {NoError}
    eventually(lambda: admin.describe_groups([group])[group]["members"] == [])


def test_scram_credentials_are_stored_described_and_deleted(admin: Any, name: Make, eventually: Make) -> None:
    user, mechanism = name("user"), ScramMechanism.SCRAM_SHA_512
    assert admin.alter_user_scram_credentials([UserScramCredentialUpsertion(user, mechanism, "secret")]) == {user: None}

    def stored() -> list[Any]:
        infos = admin.describe_user_scram_credentials([user])[user]["credential_infos"]
        return [each["mechanism"] for each in infos]

    eventually(lambda: stored() == [mechanism])
    admin.alter_user_scram_credentials([UserScramCredentialDeletion(user, mechanism)])
    eventually(lambda: stored() == [])
