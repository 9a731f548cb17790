"""Log fields of a request: principal and resources."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from redis_ledger.app.http.application import OPERATIONS
from redis_ledger.app.http.operations import LoggedRequest
from redis_ledger.app.http.request import HttpRequest, Services
from redis_ledger.auth.acl import Caller
from redis_ledger.config import Config
from redis_ledger.kafka import in_flight
from redis_ledger.kafka.request_context import Peer
from redis_ledger.kafka.request_context import RequestContext as KafkaCall

BROKER: Any = SimpleNamespace(config=Config())


def asked(operation: str, parameters: dict[str, str], *, body: Any = None, principal: str = "") -> dict[str, str]:
    scope: Any = {"headers": [(b"x-request-id", b"r-1")], "client": ("h", 1)}
    call = HttpRequest(Services(BROKER), scope, BROKER)
    call.json_body = body
    if principal:
        call._caller = Caller(principal, "h")
    found = LoggedRequest(next(each for each in OPERATIONS if each.id == operation), call, parameters).log_fields()
    assert (found.pop("operation"), found.pop("request_id")) == (operation, "r-1")
    return {name: value for name, value in found.items() if value}


@pytest.mark.parametrize(
    ("operation", "parameters", "body", "expected"),
    [
        ("produce", {"topic": "t"}, SimpleNamespace(transaction="3-17"), {"topic": "t", "txn": "3-17"}),
        ("produce", {"topic": "t"}, SimpleNamespace(transaction=None), {"topic": "t"}),
        ("fetch", {"topic": "t", "partition": "2"}, None, {"topic": "t", "partition": "2"}),
        ("receive", {"topic": "t", "name": "s"}, None, {"topic": "t", "subscription": "s"}),
        ("commit", {"id": "3-17"}, None, {"txn": "3-17"}),
    ],
)
def test_rest_request_log_has_topic_partition_subscription_and_transaction(operation, parameters, body, expected):
    assert asked(operation, parameters, body=body) == expected


def test_principal_is_logged_after_authentication():
    assert asked("fetch", {"topic": "t"}, principal="User:ada") == {"topic": "t", "principal": "User:ada"}
    assert asked("fetch", {"topic": "t"}, principal="User:ANONYMOUS") == {"topic": "t"}


def test_kafka_request_log_has_api_client_and_principal():
    peer = Peer("10.0.0.7", principal="User:ada")
    broker: Any = None
    request = in_flight.summary(("Produce", 7, KafkaCall(broker, 9, "shop", peer)))
    assert request.log_fields() == {"operation": "Produce", "request_id": "shop-7", "peer": "10.0.0.7", "principal": ""}
    peer.is_authenticated = True
    assert request.log_fields()["principal"] == "User:ada"
