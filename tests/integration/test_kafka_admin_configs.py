"""Configurations by Kafka's names, over a socket: described, altered, reset, and applied."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from redis_ledger.kafka.protocol.messages import alter_configs_request, incremental_alter_configs_request
from redis_ledger.kafka.protocol.messages.describe_configs_request import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from tests.support.broker import eventually, one, records
from tests.support.kafka_admin import (
    BROKER,
    GROUP,
    INVALID_CONFIG,
    INVALID_REQUEST,
    TOPIC,
    UNKNOWN_TOPIC,
    Cluster,
    create,
    serving,
    topic,
)
from tests.support.kafka_batches import batch, produce, produced
from tests.support.kafka_client import KafkaClient
from tests.support.rest import client_of


@pytest.fixture
async def cluster(redis_url, prefix) -> AsyncIterator[Cluster]:
    async with serving(redis_url, prefix, num_partitions=2, partitions_max=10) as opened:
        yield opened


@pytest.fixture
def client(cluster) -> Any:
    return cluster.client


@pytest.fixture
def broker(cluster) -> Any:
    return cluster.broker


# -- configurations ----------------------------------------------------------------------------------------------------


async def describe(client: KafkaClient, kind: int, name: str, keys: list[str] | None = None, version: int = 4) -> Any:
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, keys)], True, True)
    (found,) = (await client.ask(request, version)).results
    assert (found.resource_type, found.resource_name) == (kind, name)
    return found


async def values(client: KafkaClient, name: str) -> dict[str, str]:
    """The configuration set on the topic itself."""
    return {each.name: each.value for each in (await describe(client, TOPIC, name)).configs if each.config_source == 1}


async def alter(client: KafkaClient, name: str, *changes: tuple[str, int, str | None], **more: Any) -> tuple[int, str]:
    module = incremental_alter_configs_request
    wanted = module.AlterConfigsResource(
        more.get("kind", TOPIC), name, [module.AlterableConfig(*change) for change in changes]
    )
    request = module.IncrementalAlterConfigsRequest([wanted], more.get("validate_only", False))
    (answer,) = (await client.ask(request, 1)).responses
    return answer.error_code, answer.error_message


async def replace_all(client: KafkaClient, name: str, validate_only: bool = False, **configs: str | None) -> int:
    module = alter_configs_request
    wanted = [module.AlterableConfig(key.replace("_", "."), value) for key, value in configs.items()]
    request = module.AlterConfigsRequest([module.AlterConfigsResource(TOPIC, name, wanted)], validate_only)
    return int((await client.ask(request, 2)).responses[0].error_code)


@pytest.mark.parametrize("version", range(1, 5))
async def test_topic_shows_its_own_and_inherited_settings(client, broker, version):
    await create(client, topic("orders", retention_ms="5"))
    found = await describe(client, TOPIC, "orders", ["retention.ms", "max.message.bytes", "nothing"], version)
    assert [each.name for each in found.configs] == ["max.message.bytes", "retention.ms"]
    size, age = found.configs
    assert (size.value, size.config_source, size.read_only) == ("8388608", 5, False)
    assert [(s.name, s.value, s.source) for s in age.synonyms] == [
        ("retention.ms", "5", 1),
        ("log.retention.ms", "604800000", 5),
    ]
    if version >= 3:
        assert (size.config_type, age.config_type) == (3, 5)
        assert age.documentation


async def test_synonyms_and_documentation_are_returned_only_on_request(client):
    await create(client, topic("orders"))
    request = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, "orders", [])])
    (found,) = (await client.ask(request, 4)).results
    assert len(found.configs) > 20
    assert all(each.synonyms == [] and each.documentation is None for each in found.configs)


async def test_broker_describes_only_its_own_settings(redis_url, prefix):
    async with serving(redis_url, prefix, retention_ms=99, kafka_idle_ms=7_000) as (client, broker):
        me = str(broker.live_brokers.node_id)
        shown = {each.name: each for each in (await describe(client, BROKER, me)).configs}
        assert shown["log.retention.ms"].value == "99"
        assert shown["log.retention.ms"].config_source == 4, "given at start"
        assert shown["connections.max.idle.ms"].value == "7000"
        assert all(each.read_only for each in shown.values())
        assert (await describe(client, BROKER, "")).configs == []
        assert (await describe(client, BROKER, "4711")).error_code == INVALID_REQUEST
        await create(client, topic("orders"))
        (found,) = (await describe(client, TOPIC, "orders", ["retention.ms"])).configs
        assert (found.value, found.config_source) == ("99", 4)


async def test_groups_tell_the_times_of_the_consumer_protocol_and_other_resources_nothing(client):
    shown = {each.name: each.value for each in (await describe(client, GROUP, "g")).configs}
    assert shown == {"consumer.heartbeat.interval.ms": "5000", "consumer.session.timeout.ms": "45000"}
    assert (await describe(client, GROUP, "")).error_code == INVALID_REQUEST
    assert (await describe(client, TOPIC, "nothing")).error_code == UNKNOWN_TOPIC
    assert (await describe(client, TOPIC, "a/b")).error_code == 17


@pytest.mark.parametrize(
    ("kind", "name"), [(8, "broker loggers"), (16, "client metrics"), (99, "resources of type 99")]
)
async def test_a_resource_without_configuration_is_refused_by_its_name(client, kind, name):
    refused = await describe(client, kind, "1")
    assert (refused.error_code, refused.error_message) == (
        INVALID_REQUEST,
        f"Configurations of {name} are not supported.",
    )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (BROKER, "The configuration of brokers cannot be changed by a request; use `serve --set`."),
        (GROUP, "The configuration of groups cannot be changed by a request; use `serve --set`."),
        (8, "The configuration of broker loggers cannot be changed by a request."),
        (16, "The configuration of client metrics cannot be changed by a request."),
    ],
)
async def test_a_change_of_anything_but_a_topic_is_refused_by_its_name(client, kind, message):
    assert await alter(client, "1", ("retention.ms", 0, "5"), kind=kind) == (INVALID_REQUEST, message)


async def test_single_configurations_are_set_and_taken_away(client, broker):
    await create(client, topic("orders", retention_ms="5", retention_bytes="6"))
    assert (await alter(client, "orders", ("retention.ms", 1, None), ("max.message.bytes", 0, "7")))[0] == 0
    assert await values(client, "orders") == {"retention.bytes": "6", "max.message.bytes": "7"}
    shown = await broker.topics.describe("orders")
    assert shown[0].settings["batch_bytes_max"] == 7


async def test_changes_of_a_topic_are_made_together_or_not_at_all(client):
    await create(client, topic("orders", retention_ms="5"))
    code, message = await alter(client, "orders", ("retention.ms", 0, "6"), ("cleanup.policy", 2, "compact"))
    assert (code, "compact" in message) == (INVALID_CONFIG, True)
    assert (await alter(client, "orders", ("retention.ms", 0, "6"), validate_only=True))[0] == 0
    assert await values(client, "orders") == {"retention.ms": "5"}
    assert (await alter(client, "nothing", ("retention.ms", 0, "6")))[0] == UNKNOWN_TOPIC
    assert (await alter(client, "1", ("log.retention.ms", 0, "6"), kind=BROKER))[0] == INVALID_REQUEST


async def test_a_replacement_keeps_only_what_it_names(client):
    await create(client, topic("orders", retention_ms="5", retention_bytes="6"))
    assert await replace_all(client, "orders", True, segment_ms="90000") == 0
    assert await values(client, "orders") == {"retention.ms": "5", "retention.bytes": "6"}
    assert await replace_all(client, "orders", segment_ms="90000", preallocate="false") == 0
    assert await values(client, "orders") == {"segment.ms": "90000"}
    assert await replace_all(client, "orders", segment_ms=None) == INVALID_REQUEST
    assert await replace_all(client, "orders", segment_ms="x") == INVALID_CONFIG


async def every_door(client: KafkaClient, broker: Any, name: str, value: str) -> dict[str, tuple[int, str | None]]:
    """The answers to one configuration of a topic, by how it is set; "made" is a topic without settings."""
    await create(client, topic("made", 1))
    configs = {name.replace(".", "_"): value}
    answers = {}
    for way, only in (("validate", True), ("create", False)):
        (each,) = await create(client, topic(f"by-{way}", 1, 3, **configs), validate_only=only)
        answers[way] = (each.error_code, each.error_message)
    for way, only in (("alter", True), ("alter too", False)):
        code, message = await alter(client, "made", (name, 0, value), validate_only=only)
        answers[way] = (code, message)
    for way, only in (("replace", True), ("replace too", False)):
        answers[way] = (await replace_all(client, "made", only, **configs), "")
    return answers


@pytest.mark.parametrize(
    ("name", "value"), [("min.insync.replicas", "2"), ("compression.type", "lz4"), ("compression.type", "producer")]
)
async def test_settings_without_effect_are_stored_and_shown_alike_by_rest_and_kafka(client, broker, name, value):
    answers = await every_door(client, broker, name, value)
    assert {code for code, _ in answers.values()} == {0}
    assert [each.name for each in await broker.catalog.list()] == ["by-create", "made"]
    assert await values(client, "by-create") == await values(client, "made") == {name: value}
    own = name.replace(".", "_")
    async with client_of(broker) as http:
        (shown,) = [(await http.get("/v1/topics/made")).json()["settings"][own]]
        assert str(shown) == value
        body = {"name": "by-rest", "settings": {own: shown}}
        assert (await http.post("/v1/topics", json=body)).status_code == 201
        assert (await http.patch("/v1/topics/made", json={"settings": {own: shown}})).json()["settings"][own] == shown
    assert await values(client, "by-rest") == {name: value}
    # Records are stored as they were sent, and acknowledged as always
    sent = batch("a" * 500, "b" * 500)
    assert produced(await client.ask(produce("made", sent), 9)).error_code == 0
    (found,) = (await broker.records.fetch("made", 0, 0)).batches
    assert found.data[16:] == sent[16:]
    # And it can be taken away
    assert (await alter(client, "made", (name, 1, None)))[0] == 0
    assert await values(client, "made") == {}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("cleanup.policy", "compact", "not compacted"),
        ("cleanup.policy", "compact,delete", "not compacted"),
        ("compression.type", "brotli", "producer, uncompressed, gzip"),
        ("min.insync.replicas", "0", "a number from 1"),
    ],
)
async def test_unsupported_settings_are_refused_alike_by_rest_and_kafka(client, broker, name, value, says):
    answers = await every_door(client, broker, name, value)
    assert {code for code, _ in answers.values()} == {INVALID_CONFIG}
    assert [says in (message or "") for way, (_, message) in answers.items() if "replace" not in way] == [True] * 4
    assert [each.name for each in await broker.catalog.list()] == ["made"]
    assert await values(client, "made") == {}
    own = name.replace(".", "_")
    async with client_of(broker) as http:
        for method, path, body in (
            ("POST", "/v1/topics", {"name": "by-rest", "settings": {own: value}}),
            ("PATCH", "/v1/topics/made", {"settings": {own: int(value) if value.isdigit() else value}}),
        ):
            refused = await http.request(method, path, json=body)
            assert (refused.status_code, own in refused.json()["detail"]) == (400, True)


async def test_a_policy_of_compaction_cannot_be_appended(client):
    await create(client, topic("made", 1))
    code, message = await alter(client, "made", ("cleanup.policy", 2, "compact"))
    assert (code, "not compacted" in message) == (INVALID_CONFIG, True)


async def test_a_resource_that_is_named_twice_is_not_changed(client):
    await create(client, topic("orders"))
    module = incremental_alter_configs_request
    wanted = module.AlterConfigsResource(TOPIC, "orders", [module.AlterableConfig("retention.ms", 0, "5")])
    answer = await client.ask(module.IncrementalAlterConfigsRequest([wanted, wanted]), 1)
    assert [each.error_code for each in answer.responses] == [INVALID_REQUEST]
    assert await values(client, "orders") == {}


async def test_a_smaller_max_message_bytes_is_honoured_at_once_and_at_every_broker(client, broker, redis_url, prefix):
    await create(client, topic("orders", 1))
    async with one(redis_url, prefix) as other:
        await other.records.produce("orders", records("x" * 500))
        await alter(client, "orders", ("max.message.bytes", 0, "400"))
        with pytest.raises(Exception, match="does not fit"):
            await broker.records.produce("orders", records("x" * 500))

        async def refused() -> bool:
            try:
                await other.records.produce("orders", records("x" * 500))
            except Exception as error:  # noqa: BLE001 - which one is seen above
                return "does not fit" in str(error)
            return False

        assert await eventually(refused, True, 5), "the other broker learns it with its next heartbeat"


async def test_a_topic_may_take_smaller_or_larger_batches_than_the_broker(redis_url, prefix):
    async with serving(redis_url, prefix, batch_bytes_max=1_000) as (client, _):
        await create(client, topic("small", 1, max_message_bytes="400"), topic("large", 1, max_message_bytes="5000"))
        await create(client, topic("plain", 1))
        codes = {}
        for name in ("small", "plain", "large"):
            for size in (200, 700, 3_000, 9_000):
                answer = await client.ask(produce(name, batch("x" * size)), 9)
                codes[name, size] = produced(answer).error_code
        too_large = {key for key, code in codes.items() if code == 10}
        assert too_large == {
            ("small", 700), ("small", 3_000), ("small", 9_000), ("plain", 3_000), ("plain", 9_000), ("large", 9_000),
        }  # fmt: skip
        assert {code for key, code in codes.items() if key not in too_large} == {0}


async def test_the_size_of_a_segment_is_honoured(client, broker):
    await create(client, topic("small", 1, segment_bytes=str(1 << 20)), topic("large", 1))
    for name in ("small", "large"):
        for _ in range(5):
            await broker.records.produce(name, records("x" * 600_000))
    _, (small,) = await broker.topics.describe("small")
    _, (large,) = await broker.topics.describe("large")
    assert small.ledgers > 1 == large.ledgers


async def test_a_small_request_does_not_get_a_huge_answer(client, monkeypatch):
    await create(client, topic("orders"))
    asked = [DescribeConfigsResource(TOPIC, "orders", [])] * 1_000
    assert len((await client.ask(DescribeConfigsRequest(asked), 4)).results) == 1
    monkeypatch.setattr("redis_ledger.kafka.handlers.describe_configs.RESOURCES_MAX", 2)
    many = [DescribeConfigsResource(GROUP, str(n), None) for n in range(3)]
    assert [each.error_code for each in (await client.ask(DescribeConfigsRequest(many), 4)).results] == [42] * 3
