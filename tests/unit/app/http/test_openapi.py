from __future__ import annotations

import re
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from redis_ledger import errors
from redis_ledger.app.http.application import OPERATIONS, ROUTERS
from redis_ledger.app.http.openapi import document, problems_of
from redis_ledger.app.http.operations import Operation
from redis_ledger.app.http.schemas.core import Request

DOCUMENT = document(OPERATIONS)
by_id = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)


def shown(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][operation.path][operation.method.lower()]
    return found


def test_every_operation_is_in_the_document_once_with_an_id_of_its_own():
    ids = [each["operationId"] for methods in DOCUMENT["paths"].values() for each in methods.values()]
    assert sorted(ids) == sorted(set(ids)) == sorted(operation.id for operation in OPERATIONS)
    assert len(OPERATIONS) == sum(len(router.routes.operations) for router in ROUTERS)


@by_id
def test_an_operation_has_a_summary_a_description_and_a_tag_that_is_explained(operation):
    assert operation.summary
    assert operation.summary == operation.summary.strip(".")
    assert shown(operation)["description"].endswith(".")
    assert operation.tag in [tag["name"] for tag in DOCUMENT["tags"]]


@by_id
def test_an_operation_names_its_path_parameters(operation):
    named = [p["name"] for p in shown(operation).get("parameters", []) if p["in"] == "path"]
    assert named == re.findall(r"\{(\w+)\}", operation.path)


@by_id
def test_an_example_fits_the_model_and_the_published_schema(operation):
    examples = dict(operation.examples)
    query = examples.pop("query", None)
    if query is not None:
        assert msgspec.convert(query, operation.query, strict=False)
    for name, example in examples.items():
        model = operation.body if name == "request" else operation.answers[int(name)]
        assert msgspec.json.decode(msgspec.json.encode(example), type=model) is not None
        if isinstance(model, type) and issubclass(model, msgspec.Struct):
            schema = {"$ref": f"#/components/schemas/{model.__name__}", "components": DOCUMENT["components"]}
            jsonschema_rs.validator_for(schema).validate(example)
            assert "additionalProperties" in DOCUMENT["components"]["schemas"][model.__name__] or not issubclass(
                model, Request
            )


@by_id
def test_a_body_and_every_answer_with_a_body_has_an_example(operation):
    bodies = [str(status) for status, kind in operation.answers.items() if kind not in (None, str, bytes)]
    if operation.body is not None:
        bodies.append("request")
    assert set(bodies) <= set(operation.examples)


@by_id
def test_a_problem_is_listed_under_its_status_with_an_example(operation):
    for error in problems_of(operation):
        answer = shown(operation)["responses"][str(error.http_status)]
        example = answer["content"]["application/problem+json"]["examples"][error.code]["value"]
        assert example["code"] == error.code
        assert f"`{error.code}`" in answer["description"]


@by_id
def test_every_post_that_changes_something_takes_an_idempotency_key(operation):
    names = [p["name"] for p in shown(operation).get("parameters", []) if p["in"] == "header"]
    # What creates a token answers with a secret, which must not be kept for a repeat.
    assert ("Idempotency-Key" in names) is (operation.method == "POST" and operation.id != "create_token")


def test_every_reference_has_a_schema():
    text = msgspec.json.encode(DOCUMENT).decode()
    wanted = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert wanted == wanted & set(DOCUMENT["components"]["schemas"])
    assert "Problem" in wanted


def test_document_lists_all_problems_of_http():
    text = msgspec.json.encode(DOCUMENT).decode()
    # Groups of the tree that are never raised themselves, and what only framework and Kafka callers meet.
    groups = {cls.code for cls in errors.leaves() if cls.__subclasses__()} - {"internal_error"}
    elsewhere = {"route_not_found", "method_not_allowed", "not_allowed", "unsupported_txn_action"}
    elsewhere |= {cls.code for cls in errors.leaves(errors.GroupError)}
    elsewhere |= {
        "invalid_record", "invalid_timestamp", "invalid_group", "invalid_regex", "invalid_session_timeout",
        "metadata_too_large",
        "invalid_config", "invalid_partitions", "invalid_replication_factor", "invalid_replica_assignment",
        "unacceptable_credential", "authentication_failed", "unknown_user", "unknown_topic_id", "group_not_found",
        "producer_fenced", "unknown_transactional_id",
            # and what keeps a broker from starting
            "unreadable_format",
            # and what the SDK raises by itself
            "client_closed", "unexpected_answer", "unreadable_value",
    }  # fmt: skip
    missing = {code for code in errors.by_code() if f'"{code}"' not in text} - groups - elsewhere
    assert missing == set()
