"""What the transport sends and receives, as typed values or LedgerErrors: addresses, headers, JSON, problems.

status 2xx             decode: the type that the call expects, else UnexpectedAnswer, or OutcomeUnknown for a change
status 3xx             UnexpectedAnswer: brokers do not redirect
status 4xx, 5xx        the exception that the problem (RFC 9457) names; else UnexpectedAnswer; LedgerError itself, which
                       retries.py knows, for what proxies answer while a broker is away
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, TypeVar

import httpx
import msgspec

from redis_ledger.errors import InvalidRequest, LedgerError, OutcomeUnknown, UnexpectedAnswer, by_code

T = TypeVar("T")

OF_PROXIES = (502, 503, 504)  # without a code of ours; whether the broker saw the request is not known
_MEMBERS = frozenset({"type", "title", "status", "detail", "code", "retriable", "instance"})
_EXCERPT_BYTES = 200


def address(url: Any) -> str:
    """The address of a broker without a slash at its end.  Raises InvalidRequest."""
    try:
        found = url.rstrip("/")
        if found.startswith(("http://", "https://")) and httpx.URL(found).host and not found.endswith("/v1"):
            return str(found)
    except (AttributeError, TypeError, ValueError, httpx.InvalidURL):
        pass
    if str(url).rstrip("/").endswith("/v1"):
        raise InvalidRequest(f"{url!r} ends with /v1, which the client adds by itself; leave it out.")
    raise InvalidRequest(f"{url!r} is not the address of a broker; addresses look like http://127.0.0.1:8080.")


def parsed(url: str, params: Mapping[str, str | int] | None = None) -> tuple[httpx.URL, dict[str, str]]:
    """The address of a request, and the header that a name and a password in it stand for.  Raises httpx.InvalidURL."""
    found = httpx.URL(url, params=params) if params else httpx.URL(url)
    if not found.userinfo:
        return found, {}
    named = base64.b64encode(f"{found.username}:{found.password}".encode()).decode()
    return found, {"authorization": f"Basic {named}"}


def headers(given: Mapping[str, str] | None, user_agent: str) -> httpx.Headers:
    """A user-agent among those that are given replaces ours.  Raises InvalidRequest."""
    try:
        found = {str(name).lower(): str(value).encode("ascii") for name, value in dict(given or {}).items()}
    except (TypeError, ValueError):
        found = {"": b""}
    if any(not name.isascii() or not name or any(c < 32 for c in value) for name, value in found.items()):
        raise InvalidRequest("headers is not a dict of names and values in printable ASCII.")
    ours = {"accept": b"*/*", "accept-encoding": b"gzip, deflate", "user-agent": user_agent.encode()}
    return httpx.Headers({name.encode(): value for name, value in {**ours, **found}.items()})


def encode(body: Any) -> bytes:
    """Raises InvalidRequest."""
    try:
        return msgspec.json.encode(body)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidRequest(f"The request cannot be written as JSON: {error}.") from error


def decode(method: str, path: str, response: httpx.Response, type: type[T]) -> T:
    """Raises UnexpectedAnswer, or OutcomeUnknown if the call changes something."""
    try:
        return msgspec.json.decode(response.content or b"null", type=type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise unreadable(method, path, response, str(error)) from error


def unreadable(method: str, path: str, response: httpx.Response, why: str) -> LedgerError:
    """The status says that it was done, but the answer is not one of a broker."""
    said = f"{method} {path} was answered with status {response.status_code}, but not as a broker answers: {why}."
    if method == "GET":
        return UnexpectedAnswer(f"{said} Check the address and any proxy in between. ({_excerpt(response)})")
    return OutcomeUnknown(
        f"{said} It may or may not have been carried out; check before repeating it. ({_excerpt(response)})"
    )


def refused(method: str, url: str, error: Exception) -> LedgerError:
    """httpx could not send the request, or could not read the answer for a reason other than the network."""
    if isinstance(error, httpx.DecodingError) and method != "GET":
        return OutcomeUnknown(
            f"{method} {url} was sent, and its answer cannot be read: {error}; check before repeating it."
        )
    if isinstance(error, httpx.DecodingError):
        return UnexpectedAnswer(f"The answer to {method} {url} cannot be read: {error}.")
    return InvalidRequest(f"{method} {url} cannot be sent: {error}.")


class Problem(msgspec.Struct):
    """What of an RFC 9457 problem every answer has; the other members are facts."""

    code: str = ""
    detail: str = ""
    title: str = ""


def error_of(method: str, path: str, response: httpx.Response) -> LedgerError:
    """The exception that an answer without success stands for."""
    status, facts = response.status_code, {}
    try:
        problem = msgspec.json.decode(response.content, type=Problem)
        facts = {n: fact for n, fact in msgspec.json.decode(response.content).items() if n not in _MEMBERS}
    except (msgspec.MsgspecError, AttributeError, UnicodeDecodeError, RecursionError):
        problem = Problem()
    known = by_code().get(problem.code)
    if known is not None:
        return _made(known, problem.detail or problem.title or f"The answer had status {status}.", facts)
    said = f"{method} {path} was answered with status {status}, but not by a broker"
    if problem.code and problem.detail:  # a newer broker, whose codes this client does not have
        return _made(LedgerError, problem.detail, {**facts, "problem_code": problem.code, "http_status": status})
    if status in OF_PROXIES:
        return LedgerError(f"{said}; a proxy answers so while the brokers behind it are away. ({_excerpt(response)})")
    if 300 <= status < 400:
        where = response.headers.get("location", "nowhere")
        return UnexpectedAnswer(f"{said}: it redirects to {where[:200]}. Give the client the address of a broker.")
    return UnexpectedAnswer(f"{said}. Check the address and any proxy in between. ({_excerpt(response)})")


def _made(kind: type[LedgerError], detail: str, facts: dict[str, Any]) -> LedgerError:
    """A class may take particular facts where it is raised; here the facts are those of the answer, whatever names
    they have."""
    error = kind.__new__(kind)
    LedgerError.__init__(error, detail)
    error.facts = facts
    return error


def _excerpt(response: httpx.Response) -> str:
    return response.content[:_EXCERPT_BYTES].decode("utf-8", "replace").strip() or "it has no body"
