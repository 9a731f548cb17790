"""A broker, its Kafka port and a client of it, as tests of the admin requests want them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from redis_ledger.broker.broker import Broker
from redis_ledger.kafka.protocol.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tests.support.broker import one
from tests.support.kafka_client import KafkaClient, listening

TOPIC, BROKER, GROUP = 2, 4, 32
UNKNOWN_TOPIC, UNKNOWN_ID, EXISTS, INVALID_CONFIG, INVALID_REQUEST = 3, 100, 36, 40, 42


class Cluster(NamedTuple):
    client: KafkaClient
    broker: Broker


@contextlib.asynccontextmanager
async def serving(url: str, prefix: str, **settings: Any) -> AsyncIterator[Cluster]:
    async with (
        one(url, prefix, **settings) as broker,
        listening(broker) as address,
        KafkaClient(address) as client,
    ):
        yield Cluster(client, broker)


async def create(client: KafkaClient, *topics: CreatableTopic, version: int = 7, validate_only: bool = False) -> Any:
    return (await client.ask(CreateTopicsRequest(list(topics), 1000, validate_only), version)).topics


def topic(name: str, partitions: int = -1, replicas: int = -1, **configs: str | None) -> CreatableTopic:
    pairs = [CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()]
    return CreatableTopic(name, partitions, replicas, [], pairs)
