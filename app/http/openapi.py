"""The OpenAPI 3.1 document, generated from the table of operations and the schemas.

Every operation lists all its problems: its own and the common ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from redis_ledger import errors
from redis_ledger.app.http.errors import TYPE_PREFIX
from redis_ledger.app.http.idempotency import TTL_S_MAX
from redis_ledger.app.http.operations import Operation
from redis_ledger.app.http.request import BATCH
from redis_ledger.app.http.schemas import core
from redis_ledger.errors import LedgerError
from redis_ledger.version import VERSION

REF = "#/components/schemas/{name}"
PROBLEM_MEDIA = "application/problem+json"
TAGS = {
    "topics": "Partitioned logs.",
    "records": "Produce and fetch, as JSON or as record batches.",
    "scheduled": "Scheduled records: list, reschedule, cancel.",
    "offload": "Records offloaded to Parquet: plans, segments and manifests.",
    "subscriptions": "Cursors with acknowledgements: receive, acknowledge, nack, seek.",
    "transactions": "Atomic production and acknowledgement.",
    "coordinators": "Transaction coordinators: statistics, logs, and their number.",
    "producers": "Producer ids for idempotent production.",
    "batched writes": "Thresholds of the writes that several transactions share.",
    "quotas": "Limits of principals on each broker.",
    "security": "ACLs, tokens, users and the audit log.",
    "health": "Probes, metrics and the entry point.",
}
PATH_PARAMETERS: dict[str, dict[str, Any]] = {
    "topic": {
        "description": "A topic's name.",
        "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,249}$"},
        "example": "orders",
    },
    "partition": {
        "description": "Partitions are numbered from 0.",
        "schema": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
        "example": 0,
    },
    "offset": {
        "description": "The offset of a record.",
        "schema": {"type": "integer", "minimum": 0, "maximum": core.NUMBER_MAX},
        "example": 17,
    },
    "name": {
        "description": "A subscription's name, percent-encoded; 1 to 200 printable characters. "
        "A Kafka group's may have any others, and more.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 32_767},
        "example": "billing",
    },
    "scheduled": {
        "description": "The id of a scheduled record.",
        "schema": {"type": "string", "pattern": r"^[0-9]{1,9}:[0-9]{1,12}\.[0-9]{1,6}$"},
        "example": "0:17.0",
    },
    "token": {
        "description": "The id of an API token.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 40},
        "example": "4f2a91c07be3",
    },
    "user": {
        "description": "A user's name, percent-encoded; 1 to 255 printable characters.",
        "schema": {"type": "string", "minLength": 1, "maxLength": 255},
        "example": "ada",
    },
    "log": {
        "description": "transaction_log, or pending_acks for transactional acknowledgements.",
        "schema": {"type": "string", "enum": ["transaction_log", "pending_acks"]},
        "example": "transaction_log",
    },
    "principal": {
        "description": "A principal such as User:ada; User:* is the default.",
        "schema": {"type": "string", "minLength": 6, "maxLength": 255, "pattern": "^User:"},
        "example": "User:ada",
    },
    "id": {
        "description": "A transaction id.",
        "schema": {"type": "string", "pattern": "^[0-9]{1,5}-[0-9]{1,15}$"},
        "example": "3-3821040230400",
    },
    "coordinator": {
        "description": "Coordinators are numbered from 0.",
        "schema": {"type": "integer", "minimum": 0, "maximum": 32_767},
        "example": 3,
    },
}
ANY_ERRORS = (
    errors.InvalidRequest, errors.StoreUnavailable, errors.RedisUnfit, errors.TooFewReplicas, errors.StoreTimeout,
    errors.NotReplicated, errors.Draining, errors.ClientMemoryFull, errors.StoredDamaged, LedgerError,
)  # fmt: skip
BODY_ERRORS = (errors.InvalidJson, errors.RequestTooLarge, errors.StorageFull)
KEY_ERRORS = (errors.RequestInProgress, errors.IdempotencyKeyReused)
KEY_PARAMETER = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes the request idempotent: a repeat gets the stored response, with Idempotent-Replayed: true.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[ -~]+$"},
    "example": "7d5f6b1c-step-42",
}
TTL_PARAMETER = {
    "name": "Idempotency-Key-TTL",
    "in": "header",
    "required": False,
    "description": "Lifetime of the key in seconds; default and maximum: idempotency_key_ms.",
    "schema": {"type": "integer", "minimum": 1, "maximum": TTL_S_MAX},
    "example": 90,
}
BEARER = "bearer"
SECURITY = {
    BEARER: {
        "type": "http",
        "scheme": "bearer",
        "description": "An API token (`rl_...`) or a JSON Web Token, if auth_required is on.",
    }
}
INTRO = """\
A transactional event log on Redis. Records are produced to topics and received through subscriptions; produces and
acknowledgements in one transaction become visible together or not at all.

Errors are `application/problem+json` (RFC 9457) with a stable `code`; `retriable` states whether the same request may
succeed later. Every POST that changes data supports `Idempotency-Key`, except `POST /v1/tokens`, whose response
contains a secret and is not stored."""


def document(operations: Sequence[Operation]) -> dict[str, Any]:
    models = _models(operations)
    _, components = msgspec.json.schema_components(models, ref_template=REF)
    _mend(components)
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, components)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "redis-ledger",
            "version": VERSION,
            "summary": "A transactional event log on Redis.",
            "description": INTRO,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/", "description": "This broker; any broker serves any request."}],
        "security": [{}, {BEARER: []}],
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": SECURITY},
    }


def _models(operations: Iterable[Operation]) -> list[Any]:
    found: dict[Any, None] = {core.Problem: None}
    for operation in operations:
        for kind in (operation.body, *operation.answers.values()):
            if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                found[kind] = None
    return list(found)


def _mend(components: dict[str, Any]) -> None:
    """Adjusts what msgspec cannot derive."""
    for schema in components.values():
        schema.pop("title", None)
    # Members beyond the standard ones depend on the code.
    components["Problem"]["additionalProperties"] = True


def _operation(operation: Operation, components: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "operationId": operation.id,
        "tags": [operation.tag],
        "summary": operation.summary,
        "description": _description(operation),
    }
    if operation.is_public:
        shown["security"] = []
    parameters = [*_path_parameters(operation), *_query_parameters(operation, components)]
    if operation.keyed:
        parameters += (KEY_PARAMETER, TTL_PARAMETER)
    if parameters:
        shown["parameters"] = parameters
    if operation.body is not None or operation.streamed:
        shown["requestBody"] = _request_body(operation)
    shown["responses"] = {**_answers(operation), **_problems(operation)}
    return shown


def _description(operation: Operation) -> str:
    text = operation.description or f"{operation.summary}."
    if operation.is_public or not operation.requires:
        return text
    permissions = "; ".join(each.describe() for each in operation.requires)
    return f"{text}\n\nRequired permissions (with auth_required): {permissions}."


def _path_parameters(operation: Operation) -> list[dict[str, Any]]:
    named = [piece.split("}")[0] for piece in operation.path.split("{")[1:]]
    return [{"name": name, "in": "path", "required": True, **PATH_PARAMETERS[name]} for name in named]


def _query_parameters(operation: Operation, components: dict[str, Any]) -> list[dict[str, Any]]:
    if operation.query is None:
        return []
    _, shapes = msgspec.json.schema_components([operation.query], ref_template=REF)
    shape = shapes.pop(operation.query.__name__)
    components.update(shapes)
    parameters = []
    for name, schema in shape["properties"].items():
        choices = [choice for choice in schema.get("anyOf", ()) if choice != {"type": "null"}]
        if len(choices) == 1:
            schema = choices[0]
        elif schema.get("default", 0) is None:
            schema = {key: value for key, value in schema.items() if key != "default"}
        text = schema.pop("description", f"{name.replace('_', ' ').capitalize()}.")
        parameter = {"name": name, "in": "query", "required": False, "description": text, "schema": schema}
        example = operation.examples.get("query", {}).get(name)
        if example is not None:
            parameter["example"] = int(example) if example.isdigit() else example
        parameters.append(parameter)
    return parameters


def _schema(kind: Any) -> dict[str, Any]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {"$ref": REF.format(name=kind.__name__)}
    return {"type": "object"}


def _request_body(operation: Operation) -> dict[str, Any]:
    if operation.streamed:
        return {"required": True, "content": _BYTES}
    content: dict[str, Any] = {"application/json": {"schema": _schema(operation.body)}}
    if "request" in operation.examples:
        content["application/json"]["example"] = operation.examples["request"]
    if operation.raw:
        content[BATCH] = {"schema": {"description": "One or more RecordBatch v2, one after the other."}}
    return {"required": not operation.optional, "content": content}


def _answers(operation: Operation) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for status, kind in operation.answers.items():
        answer: dict[str, Any] = {"description": _ANSWERED.get(status, "Done.")}
        if kind is str:
            answer["content"] = {"text/plain": {"schema": {"type": "string"}}}
        elif kind is bytes:
            answer["content"] = _BYTES
        elif kind is not None:
            answer["content"] = {"application/json": {"schema": _schema(kind)}}
            if str(status) in operation.examples:
                answer["content"]["application/json"]["example"] = operation.examples[str(status)]
        if operation.id == "fetch":
            answer["content"][BATCH] = {"schema": {"description": "Record batches, one after the other."}}
            answer["headers"] = {name: _offset_header(text) for name, text in _FETCH_HEADERS.items()}
        if operation.keyed:
            answer.setdefault("headers", {})["Idempotent-Replayed"] = {
                "description": "true if this is the stored response of an earlier request with the same key.",
                "schema": {"type": "string", "enum": ["true"]},
            }
        answers[str(status)] = answer
    return answers


_BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_ANSWERED = {200: "Done.", 201: "Created.", 204: "Done; no body."}
_FETCH_HEADERS = {
    "Redis-Ledger-Next-Offset": "Next offset to read.",
    "Redis-Ledger-Start-Offset": "Log start offset.",
    "Redis-Ledger-Stable-Offset": "Last stable offset.",
    "Redis-Ledger-End-Offset": "Log end offset.",
}


def _offset_header(text: str) -> dict[str, Any]:
    return {
        "description": f"{text} Only for record batches.",
        "required": False,
        "schema": {"type": "integer", "minimum": 0},
    }


def problems_of(operation: Operation) -> list[type[LedgerError]]:
    """All problems of an operation, without duplicates."""
    found = [*operation.errors, *ANY_ERRORS]
    if "{topic}" in operation.path:
        found.append(errors.InvalidTopicName)
    if operation.body is not None:
        found += BODY_ERRORS
    if operation.keyed:
        found += KEY_ERRORS
    if operation.tag != "health":
        found.append(errors.QuotaExceeded)
    if not operation.is_public:
        found.append(errors.Unauthenticated)
        found += [error for each in operation.requires for error in each.errors()]
    return list(dict.fromkeys(found))


def _problems(operation: Operation) -> dict[str, Any]:
    by_status: dict[int, list[type[LedgerError]]] = {}
    for error in problems_of(operation):
        by_status.setdefault(error.http_status, []).append(error)
    return {str(status): _problem(by_status[status]) for status in sorted(by_status)}


def _problem(found: list[type[LedgerError]]) -> dict[str, Any]:
    lines = [f"* `{error.code}`: {' '.join((error.__doc__ or '').split())}" for error in found]
    examples = {
        error.code: {
            "summary": error.title(),
            "value": {
                "type": TYPE_PREFIX + error.code,
                "title": error.title(),
                "status": error.http_status,
                "detail": " ".join((error.__doc__ or "").split()),
                "code": error.code,
                "retriable": error.retriable,
            },
        }
        for error in found
    }
    schema = {"allOf": [_schema(core.Problem)], "properties": {"code": {"enum": [error.code for error in found]}}}
    return {"description": "\n".join(lines), "content": {PROBLEM_MEDIA: {"schema": schema, "examples": examples}}}
