"""schemathesis sends requests that the OpenAPI document allows, and requests that it does not.

It must find no 500, no answer that the document does not announce, and no body that its schema does not describe.
Its plugin for pytest is not loaded (pyproject.toml), because it generates all requests when tests are collected.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from schemathesis.config import SchemathesisConfig
from schemathesis.core.result import Ok
from schemathesis.generation.hypothesis.builder import HypothesisTestConfig, HypothesisTestMode, create_test
from schemathesis.schemas import BaseSchema
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    negative_data_rejection,
    positive_data_acceptance,
)

from redis_ledger.app.http.application import OPERATIONS, create_app
from redis_ledger.app.http.openapi import PATH_PARAMETERS, document
from redis_ledger.app.http.request import BATCH
from redis_ledger.app.http.server import HttpServer
from redis_ledger.records.build import encode
from tests.support.examples import examples
from tests.support.rest import open_broker

EXAMPLES, COVERAGE, FUZZING = HypothesisTestMode.EXAMPLES, HypothesisTestMode.COVERAGE, HypothesisTestMode.FUZZING
LABELS = sorted(f"{each.method} {each.path}" for each in OPERATIONS)


@contextmanager
def serving(redis_url: str, prefix: str) -> Iterator[str]:
    """The address of a broker in a thread of its own."""
    ready = threading.Event()
    found: dict[str, Any] = {}

    async def run() -> None:
        # A long poll of a millisecond is as good here as one of a minute.
        settings: dict[str, Any] = {
            "coordinators": 2,
            "wait_ms_max": 1,
            "partitions_max": 8,
            "offload_home": "/nowhere",
        }
        async with open_broker(redis_url, prefix, **settings) as broker:
            server = HttpServer(create_app(broker), "127.0.0.1", 0)
            await server.start()
            found.update(address=server.address, stop=asyncio.Event(), loop=asyncio.get_running_loop())
            ready.set()
            await found["stop"].wait()
            await server.stop()

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="broker")
    thread.start()
    assert ready.wait(30)
    try:
        yield found["address"]
    finally:
        found["loop"].call_soon_threadsafe(found["stop"].set)
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def address(redis_url: str) -> Iterator[str]:
    with serving(redis_url, f"schemathesis{secrets.token_hex(6)}") as address:  # a worker may make it twice
        # What the examples in the document speak of is there, so that requests get beyond "unknown topic".
        with httpx.Client(base_url=address) as client:
            for path, body in (
                ("/v1/topics", {"name": "orders", "partitions": 2}),
                ("/v1/topics/orders/records", {"records": [{"value": n} for n in range(20)]}),
                ("/v1/topics/orders/scheduled", {"value": 1, "partition": 0, "deliver_at": "2999-01-01T00:00:00Z"}),
                ("/v1/topics/orders/subscriptions", {"name": "billing"}),
                ("/v1/transactions", {}),
            ):
                assert client.post(path, json=body).is_success
        yield address


@schemathesis.serializer(BATCH)
def batch_as_it_is(context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else b"not a batch"


UNKNOWN_HEADER = "x-schemathesis-unknown-property"

schemathesis.openapi.media_type(
    BATCH,
    st.binary(max_size=200) | st.lists(st.binary(), min_size=1).map(lambda vs: encode([(None, v, (), 5) for v in vs])),
)


@schemathesis.hook
def map_headers(context: Any, headers: dict[str, Any] | None) -> dict[str, Any] | None:
    """A key that comes again and again would answer every request but the first."""
    key = (headers or {}).get("Idempotency-Key")
    if headers and key and len(key) % 3:
        del headers["Idempotency-Key"]
    return headers


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> dict[str, Any] | None:
    """Two in three requests are about what exists; for a scheduled record only those that do not mean to be refused."""
    known = {"topic": "orders", "name": "billing", "id": "0-0", "partition": 0, "scheduled": "0:1.0"}
    given = path_parameters or {}
    patterns = {name: PATH_PARAMETERS[name]["schema"].get("pattern", "") for name in given}
    is_refused = not all(re.search(pattern, str(given[name])) for name, pattern in patterns.items())
    for name, value in () if is_refused and "scheduled" in given else given.items():
        if name in known and len(repr(value)) % 3:
            path_parameters[name] = known[name]  # type: ignore[index]  # or there would be nothing to go through
    return path_parameters


@pytest.fixture(scope="module")
def schema() -> BaseSchema:
    return schemathesis.openapi.from_dict(document(OPERATIONS), config=SchemathesisConfig(seed=42))


@pytest.fixture(scope="module")
def operations(schema: BaseSchema) -> dict[str, Any]:
    found = [each.ok() for each in schema.get_all_operations() if isinstance(each, Ok)]
    return {each.label: each for each in found}


def test_every_operation_of_the_document_is_tried(operations):
    assert sorted(operations) == LABELS


# COVERAGE: every boundary of every field, seventy requests for each operation.
# The broker is a thread of this process, and spreads what it does by `random`; Hypothesis takes that for the strategy.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module")
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    ("random_max", "modes"),
    [
        pytest.param(6, [EXAMPLES, FUZZING], id="few"),
        pytest.param(36, [EXAMPLES, FUZZING, COVERAGE], id="all", marks=pytest.mark.full),
    ],
)
def test_no_request_finds_a_500_or_an_undocumented_answer(label, random_max, modes, schema, operations, address):
    chosen = settings(max_examples=examples(random_max), suppress_health_check=list(HealthCheck))
    given = HypothesisTestConfig(project=schema.config, modes=modes, settings=chosen, explicit_settings=chosen)
    sent = 0

    def is_answered_as_documented(case: Any) -> None:
        nonlocal sent
        sent += 1
        check(case, address)

    create_test(operation=operations[label], test_func=is_answered_as_documented, config=given)()
    assert sent


def check(case: Any, address: str) -> None:
    answer = case.call(base_url=address, timeout=20)
    if answer.status_code == 431:  # a name of 32 767 characters may be longer than a head, which has 64 KiB for all
        assert answer.json()["code"] == "request_too_large"
        return
    if answer.status_code == 404 and any(":" in unquote(str(given)) for given in (case.path_parameters or {}).values()):
        return  # a colon begins the name of an action, so this was the address of something else
    excluded: list[Any] = [positive_data_acceptance]
    if "{name}:" in case.operation.path:
        excluded.append(
            allow_header_conformance
        )  # "billing:ack" is a subscription's name too, which can be read and deleted
    if UNKNOWN_HEADER in (case.headers or {}):
        excluded.append(negative_data_rejection)  # HTTP allows headers that a server does not know
    case.validate_response(answer, excluded_checks=excluded)
    assert answer.status_code != 500
