"""Problem details (RFC 9457): the body of every HTTP error.

    {"type": "urn:redis-ledger:problem:sequence_gap", "title": "The sequence number is not the next one",
     "status": 409, "detail": "... Send the missing batch first; nothing was written.",
     "code": "sequence_gap", "retriable": false, "expected": 7}

`code` is stable and for programs, `detail` for people: the cause and the remedy.  Unexpected exceptions become
internal_error; the traceback is logged and never sent.
"""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from redis_ledger.app.http.request import HttpResponse
from redis_ledger.errors import (
    InvalidJson,
    InvalidRequest,
    LedgerError,
    MethodNotAllowed,
    RequestTooLarge,
    RouteNotFound,
    Unauthenticated,
    Unavailable,
)
from redis_ledger.telemetry import logs

CONTENT_TYPE = b"application/problem+json"
TYPE_PREFIX = "urn:redis-ledger:problem:"
_OWN_MEMBERS = frozenset(("type", "title", "status", "detail", "code", "retriable"))
_CHOICE = re.compile(r"Invalid enum value (.+)", re.DOTALL)
_PATH = re.compile(r" - at `(.+)`\Z", re.DOTALL)


def problem(error: LedgerError, status: int | None = None) -> HttpResponse:
    """status: overrides the error's HTTP status."""
    cls = type(error)
    status = cls.http_status if status is None else status
    body: dict[str, Any] = {
        "type": TYPE_PREFIX + cls.code,
        "title": cls.title(),
        "status": status,
        "detail": error.detail,
        "code": cls.code,
        "retriable": cls.retriable,
    }
    body.update((name, value) for name, value in error.facts.items() if name not in _OWN_MEMBERS)
    answer = HttpResponse(status, msgspec.json.encode(body, enc_hook=str), CONTENT_TYPE)
    if isinstance(error, Unavailable) and cls.retriable:
        seconds = math.ceil(error.facts.get("retry_after_s", 1))
        answer.headers.append((b"retry-after", b"%d" % max(seconds, 1)))
    if isinstance(error, Unauthenticated):
        answer.headers.append((b"www-authenticate", b"Bearer"))
    if isinstance(error, RequestTooLarge):
        answer.headers.append((b"connection", b"close"))
    return answer


def from_exception(error: Exception) -> LedgerError | None:
    """Converts exceptions caused by the request; None for all others."""
    if isinstance(error, LedgerError):
        return error
    if isinstance(error, msgspec.ValidationError):
        return InvalidRequest(_sentence(str(error)))
    if isinstance(error, msgspec.DecodeError):
        return InvalidJson(f"The body is not valid JSON: {str(error).removeprefix('JSON is malformed: ')}.")
    return None


def internal_error(error: BaseException, operation: str, **fields: Any) -> HttpResponse:
    logs.get().error("request failed", operation=operation, exc_info=error, **fields)
    return problem(LedgerError("Internal error; see the broker's log for this operation."))


def _sentence(text: str) -> str:
    """ "Expected `int` >= 0 - at `$.records[3].partition`" → "$.records[3].partition: expected int >= 0." """
    found = _PATH.search(text)
    path = found[1].replace("`", "") if found else "$"
    what = (text[: found.start()] if found else text).replace("`", "")
    what = _CHOICE.sub(r"\1 is not allowed; /openapi.json lists the values", what)
    return f"{path}: {what[:1].lower()}{what[1:300]}."


def no_route(path: str) -> HttpResponse:
    return problem(RouteNotFound(f"No resource at {path[:200]!r}. /docs lists the paths."))


def wrong_method(method: str, path: str, allowed: list[str]) -> HttpResponse:
    takes = ", ".join(allowed)
    detail = f"{path[:200]!r} does not support {method[:20]}; it supports {takes}."
    if method == "GET" and path.endswith("/records"):
        detail += " Records are read from one partition: GET /v1/topics/{topic}/partitions/{partition}/records."
    answer = problem(MethodNotAllowed(detail, allowed=allowed))
    answer.headers.append((b"allow", takes.encode()))
    return answer
