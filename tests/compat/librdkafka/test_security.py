# mypy: disable-error-code="import-not-found"
"""A broker with authentication: ACLs that an admin client creates, and the errors that clients get without them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

SECURED, TOKEN = os.environ.get("SECURED", ""), os.environ.get("SECURED_TOKEN", "")
pytestmark = pytest.mark.skipif(not SECURED, reason="SECURED names no broker that asks who calls")
PASSWORD = "sesame and more"


def settings(user: str, password: str, mechanism: str = "SCRAM-SHA-256") -> dict[str, Any]:
    return {
        "bootstrap.servers": SECURED, "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism,
        "sasl.username": user, "sasl.password": password, "socket.timeout.ms": 15_000, "log_level": 0,
    }  # fmt: skip


@pytest.fixture
def root() -> AdminClient:
    return AdminClient(settings("token", TOKEN, "PLAIN"))


@pytest.fixture
def ada(root: AdminClient, name: Callable[..., str]) -> str:
    """A user without rules."""
    user = name("ada")
    wanted = UserScramCredentialUpsertion(
        user, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), PASSWORD.encode()
    )
    root.alter_user_scram_credentials([wanted])[user].result(15)
    return user


def allows(user: str, operation: AclOperation, kind: ResourceType, name: str, **more: Any) -> AclBinding:
    pattern = more.get("pattern", ResourcePatternType.LITERAL)
    effect = more.get("effect", AclPermissionType.ALLOW)
    return AclBinding(kind, name, pattern, f"User:{user}", "*", operation, effect)


def of(user: str) -> AclBindingFilter:
    every = (ResourceType.ANY, None, ResourcePatternType.ANY)
    return AclBindingFilter(*every, f"User:{user}", None, AclOperation.ANY, AclPermissionType.ANY)


def add(root: AdminClient, *bindings: AclBinding) -> None:
    for future in root.create_acls(list(bindings)).values():
        future.result(15)


def sent(user: str, topic: str) -> KafkaError | None:
    """The delivery result of a record."""
    outcomes: list[KafkaError | None] = []
    producer = Producer({**settings(user, PASSWORD), "message.timeout.ms": 10_000})
    producer.produce(topic, b"x", on_delivery=lambda error, _: outcomes.append(error))
    producer.flush(15)
    return outcomes[0]


def test_acls_are_created_listed_and_deleted(root: AdminClient, name: Callable[..., str]) -> None:
    user = name("ada")
    rules = [
        allows(user, AclOperation.WRITE, ResourceType.TOPIC, "orders-", pattern=ResourcePatternType.PREFIXED),
        allows(user, AclOperation.ALL, ResourceType.GROUP, "billing", effect=AclPermissionType.DENY),
        allows(user, AclOperation.DESCRIBE, ResourceType.BROKER, "kafka-cluster"),
    ]
    add(root, *rules)
    assert sorted(root.describe_acls(of(user)).result(15)) == sorted(rules)
    assert sorted(root.delete_acls([of(user)])[of(user)].result(15)) == sorted(rules)
    assert root.describe_acls(of(user)).result(15) == []


def test_acl_changes_without_permission_are_rejected(ada: str) -> None:
    rule = allows(ada, AclOperation.ALL, ResourceType.TOPIC, "*")
    admin = AdminClient(settings(ada, PASSWORD))
    with pytest.raises(KafkaException) as refused:
        admin.create_acls([rule])[rule].result(15)
    assert refused.value.args[0].code() == KafkaError.CLUSTER_AUTHORIZATION_FAILED


def test_records_require_permission(root: AdminClient, ada: str, name: Callable[..., str]) -> None:
    topic, group = name("orders"), name("billing")
    root.create_topics([NewTopic(topic, 1, 1)])[topic].result(15)
    refused = sent(ada, topic)
    assert refused is not None
    assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    add(root, allows(ada, AclOperation.WRITE, ResourceType.TOPIC, topic))
    assert sent(ada, topic) is None

    def read() -> Any:
        consumer = Consumer({**settings(ada, PASSWORD), "group.id": group, "auto.offset.reset": "earliest"})
        consumer.subscribe([topic])
        try:
            return consumer.poll(15)
        finally:
            consumer.close()

    message = read()
    assert message.error().code() == KafkaError.GROUP_AUTHORIZATION_FAILED
    add(
        root,
        *(allows(ada, AclOperation.READ, *on) for on in ((ResourceType.TOPIC, topic), (ResourceType.GROUP, group))),
    )
    message = read()
    assert (message.error(), message.value()) == (None, b"x")


def test_transactional_id_requires_permission(root: AdminClient, ada: str, name: Callable[..., str]) -> None:
    topic, own = name("orders"), name("tx")
    root.create_topics([NewTopic(topic, 1, 1)])[topic].result(15)
    with pytest.raises(KafkaException) as refused:
        Producer({**settings(ada, PASSWORD), "transactional.id": own}).init_transactions(15)
    assert refused.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    add(root, allows(ada, AclOperation.WRITE, ResourceType.TOPIC, topic))
    add(root, allows(ada, AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, own))
    producer = Producer({**settings(ada, PASSWORD), "transactional.id": own})
    producer.init_transactions(15)
    producer.begin_transaction()
    producer.produce(topic, b"x")
    producer.commit_transaction(15)
