"""Idempotency-Key: claims the key, runs the request once and stores the response.

    status < 400                 stored; a repeated request gets it with Idempotent-Replayed: true
    rejected, nothing changed    the key is released, so that a corrected request may use it; unless there was an
                                 earlier attempt, which may have changed something
    anything else                the key stays claimed; a repeated request resumes with the same producer id and nonce

Errors are never stored.  Idempotency-Key-TTL (seconds) shortens the time for which the key occupies memory in Redis.
See `redis_ledger.broker.idempotency`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

import msgspec

from redis_ledger.app.http.request import JSON, HttpRequest, HttpResponse
from redis_ledger.broker.idempotency import Claim, check_key
from redis_ledger.errors import BadRequest, Conflict, InvalidRequest, NotFound, StorageFull, Unavailable
from redis_ledger.telemetry import logs

REPLAYED = (b"idempotent-replayed", b"true")
KEY, TTL = b"idempotency-key", b"idempotency-key-ttl"
TTL_S_MAX = 2_592_000


def key_of(request: HttpRequest) -> str | None:
    """Raises InvalidRequest for a time to live without a key."""
    key = request.header(KEY)
    if key is None and request.header(TTL) is not None:
        raise InvalidRequest("Idempotency-Key-TTL requires an Idempotency-Key.")
    return key


def fingerprint(request: HttpRequest, body: bytes) -> bytes:
    """SHA-256 of method, path, query, content type and body."""
    scope = request.scope
    head = (scope["method"], scope["path"], scope["query_string"].decode("latin-1"), request.content_type())
    return hashlib.sha256("\0".join(head).encode() + b"\0" + body).digest()


async def once(
    request: HttpRequest,
    key: str,
    run: Callable[[], Awaitable[HttpResponse]],
    *,
    produces: bool = False,
    has_body: bool = True,
) -> tuple[HttpResponse, str]:
    """Runs the request once.

    produces   the request may write records and needs a producer id
    has_body   False: the endpoint streams the body, so only its length is compared

    Raises the errors of `run` and of the claim.
    """
    check_key(key)
    body = await request.body() if has_body else b"%d" % request.declared_bytes()
    producer_id = await request.broker.producers.ids.allocate_keyed() if produces else None
    # With authentication on, keys are scoped to the principal: no one gets the response of another principal.
    scope = request.caller.principal if request.broker.security.is_on else ""
    claim = await request.broker.idempotency.claim(
        key, fingerprint(request, body), producer_id=producer_id, scope=scope, keep_ms=_ttl_ms(request)
    )
    if claim.replay is not None:
        status, kept = claim.replay
        return HttpResponse(status, kept, JSON, [REPLAYED]), "replayed"
    request.claim = claim
    try:
        answer = await run()
    except BaseException as error:
        await _release(claim, error)
        raise
    claim.finish(answer.status, answer.body)
    return answer, "ok"


def _ttl_ms(request: HttpRequest) -> int | None:
    """Raises InvalidRequest."""
    text = request.header(TTL)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:10]) <= TTL_S_MAX):
        raise InvalidRequest(f"Idempotency-Key-TTL is a number of seconds, 1 to {TTL_S_MAX}, not {text[:20]!r}.")
    return int(text[:10]) * 1000


def is_in_doubt(error: BaseException, claim: Claim) -> bool:
    """Whether the request, in this attempt or an earlier one, may have changed data."""
    if claim.resumed:
        return True
    if isinstance(error, (BadRequest, NotFound)):
        return False
    if isinstance(error, StorageFull) and claim.producer_id is None:
        return False  # a transaction is rolled back as a whole
    if isinstance(error, Conflict):
        return claim.producer_id is not None  # records for several partitions: some may be written
    return not isinstance(error, msgspec.MsgspecError)


async def _release(claim: Claim, error: BaseException) -> None:
    try:
        await (claim.suspend() if is_in_doubt(error, claim) else claim.release())
    except Unavailable as lost:
        logs.get().warning("Idempotency-Key not released; its claim will expire", code=lost.code, detail=lost.detail)
