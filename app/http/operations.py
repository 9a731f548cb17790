"""The table of operations: routing, decoding, errors, idempotency, metrics and the OpenAPI document derive from it.

@routes.post("/v1/transactions/{id}:commit", errors=(AlreadyAborted,), keyed=True)
async def commit(call: Call, id: str, body: Commit) -> Ended:

path parameters    by name, as text
body: Commit       the JSON body, decoded; with `optional=True` an empty body is an empty object
query: FetchQuery  the query, decoded by the same model rules
-> Ended           the response body, sent with `status`; None is 204; an HttpResponse is sent unchanged
requires=(...)     permissions, see `app/http/authorization.py`; checked first
act="topic.create" an administrative action; the audit log records success and failure
"""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple, cast

import msgspec
from prometheus_client import Counter

from redis_ledger.app.http import errors, idempotency, json_counts
from redis_ledger.app.http.asgi import Receive, Scope, Send
from redis_ledger.app.http.authorization import PUBLIC, Authorizer
from redis_ledger.app.http.decoding import BodyReader, QueryReader
from redis_ledger.app.http.request import (
    BATCH,
    ClientGone,
    Endpoint,
    HttpRequest,
    HttpResponse,
    PathParameters,
    Services,
    reply,
)
from redis_ledger.auth.acl import ANONYMOUS
from redis_ledger.auth.requirement import Requirement
from redis_ledger.errors import (
    AlreadyAborted,
    AlreadyCommitted,
    CoordinatorNotFound,
    Forbidden,
    InvalidRequest,
    InvalidTxnStatus,
    LedgerError,
    TransactionAbortOnly,
    TransactionEnded,
    TransactionNotFound,
    TransactionsDisabled,
    TransactionTimedOut,
)
from redis_ledger.telemetry import logs, metrics, tracing
from redis_ledger.telemetry.series import HistogramSeries

_TRACE_HEADERS = (b"traceparent", b"tracestate")
# Recorded in the audit log only for transactions of other principals.
OWN_ACTS = frozenset(("transaction.abort", "transaction.commit"))
# Operations that write records: their Idempotency-Key includes a producer id.
PRODUCES = frozenset(("produce", "schedule"))
_NO_CONTENT = HttpResponse(204)
UNKNOWN = "unknown"  # the operation label of requests without a route
# Errors of operations on a transaction.
TRANSACTION_ERRORS = (
    TransactionNotFound, CoordinatorNotFound, InvalidTxnStatus, TransactionEnded, AlreadyCommitted, AlreadyAborted,
    TransactionTimedOut, TransactionAbortOnly, TransactionsDisabled,
)  # fmt: skip


def count_unrouted(outcome: str) -> None:
    """Counts a request that reached no operation."""
    metrics.http_requests.labels(UNKNOWN, outcome).inc()


class LoggedRequest(NamedTuple):
    """The context of a request in log lines."""

    operation: Operation
    request: HttpRequest
    parameters: PathParameters

    def resources(self) -> dict[str, str]:
        """The resources of the request: topic, partition, subscription, txn."""
        found = dict(self.parameters)
        if (name := found.pop("name", None)) is not None:
            found["subscription"] = name
        if (id := found.pop("id", None)) is not None and self.operation.tag == "transactions":
            found["txn"] = id
        transaction = getattr(self.request.json_body, "transaction", None)
        return {**found, "txn": transaction} if isinstance(transaction, str) else found

    def log_fields(self) -> dict[str, str]:
        principal = self.request.caller.principal
        return {
            "operation": self.operation.id, "request_id": self.request.request_id, **self.resources(),
            "principal": "" if principal == ANONYMOUS else principal,
        }  # fmt: skip


_logged_request = cast(
    "Callable[[tuple[Operation, HttpRequest, PathParameters]], LoggedRequest]", partial(tuple.__new__, LoggedRequest)
)


@dataclass(slots=True, eq=False)
class Operation:
    """An operation.

    answers  status → body type (None: no body)
    raw      the body may also be record batches
    streamed the body is bytes, which the endpoint reads while they arrive
    keyed    supports Idempotency-Key
    hot      served by the fast path
    """

    method: str
    path: str
    id: str
    tag: str
    endpoint: Endpoint
    status: int
    summary: str
    description: str
    answers: Mapping[int, Any]
    errors: tuple[type[LedgerError], ...]
    keyed: bool
    hot: bool
    raw: bool
    streamed: bool
    optional: bool
    body: type[msgspec.Struct] | None
    query: type[msgspec.Struct] | None
    examples: Mapping[str, Any]
    requires: tuple[Requirement, ...]
    act: str

    _body: BodyReader = field(init=False, repr=False)
    _query: QueryReader = field(init=False, repr=False)
    _authorizer: Authorizer = field(init=False, repr=False)
    _seconds: HistogramSeries = field(init=False, repr=False)
    _outcomes: dict[str, Counter] = field(init=False, repr=False)

    @property
    def is_public(self) -> bool:
        return self.requires is PUBLIC

    def __post_init__(self) -> None:
        if self.body is not None:
            self._body = BodyReader(self.body, raw=self.raw, optional=self.optional)
        if self.query is not None:
            self._query = QueryReader(self.query)
        self._authorizer = Authorizer(self.requires)
        self._seconds = metrics.http_request_seconds.of(self.id)
        self._outcomes = {"ok": metrics.http_requests.labels(self.id, "ok")}

    async def serve(
        self, services: Services, scope: Scope, receive: Receive, send: Send, parameters: PathParameters
    ) -> None:
        started = perf_counter()
        metrics.http_requests_running.inc()
        outcome = "gone"
        request = HttpRequest(services, scope, receive)
        logs.current_request.set(_logged_request((self, request, parameters)))
        answer: HttpResponse | None = None
        try:
            if tracing.tracer is None:
                answer, outcome = await self._answer(request, parameters)
            else:
                answer, outcome = await self._traced(request, parameters)
        except ClientGone:
            return
        finally:
            if answer is None or not answer.is_streamed:
                request.end()
            else:
                request.end_decoding()
            metrics.http_requests_running.dec()
            self._seconds.observe(perf_counter() - started)
            counted = self._outcomes.get(outcome)
            if counted is None:
                counted = self._outcomes[outcome] = metrics.http_requests.labels(self.id, outcome)
            counted.inc()
        if answer.status >= 400:
            answer.headers.append((b"x-request-id", request.request_id.encode()))
        try:
            await answer.send(send)
        finally:
            if answer.is_streamed:
                request.end()

    async def _traced(self, request: HttpRequest, parameters: PathParameters) -> tuple[HttpResponse, str]:
        """Runs `_answer` in a span of the client's trace."""
        given = dict(request.scope["headers"])
        context = tracing.context_of(*(given.get(name, b"").decode("latin-1") or None for name in _TRACE_HEADERS))
        facts = {"http.request.method": self.method, "http.route": self.path, "redis_ledger.operation": self.id}
        with tracing.serving(f"{self.method} {self.path}", context, facts) as span:
            answer, outcome = await self._answer(request, parameters)
            span.set_attribute("http.response.status_code", answer.status)
            span.set_attributes(
                {f"redis_ledger.{name}": v for name, v in LoggedRequest(self, request, parameters).resources().items()}
            )
            if answer.status >= 500:
                tracing.failed(span, outcome)
        return answer, outcome

    async def _answer(self, request: HttpRequest, parameters: PathParameters) -> tuple[HttpResponse, str]:
        """The response, and the outcome for metrics.  Raises only ClientGone and CancelledError."""
        scope = request.scope
        try:
            broker = request.broker
            has_quota = self.tag != "health" and broker.quotas.is_on
            if broker.security.is_on and not self.is_public:
                request.reauthorize = partial(self._authorizer.authorize, request, parameters)
                if not self._authorizer.allows_at_once(request, parameters):
                    await self._authorize(request, request.reauthorize, has_quota=has_quota)
            if has_quota:
                return await self._within_quota(request, parameters)
            return await self._once(request, parameters)
        except LedgerError as error:
            if self._is_noted(request) or (self.act and isinstance(error, Forbidden)):
                target = self._target(request, parameters)
                await request.broker.audit.failed(request.caller, self.act, target, error, **request.facts)
            return errors.problem(error), error.code
        except (ClientGone, asyncio.CancelledError):
            raise
        except Exception as error:  # noqa: BLE001 - an unhandled exception would drop the connection
            known = errors.from_exception(error)
            if known is None:
                return errors.internal_error(error, self.id, path=scope["path"][:200]), LedgerError.code
            return errors.problem(known), known.code

    async def _authorize(
        self, request: HttpRequest, authorize: Callable[[], Awaitable[None]], *, has_quota: bool
    ) -> None:
        """A request that is denied counts for the quota too.  Raises Unauthenticated, Forbidden,
        QuotaExceeded."""
        try:
            await authorize()
        except Forbidden:
            if has_quota:
                request.broker.quotas.admit(request.caller.principal)
            raise

    async def _within_quota(self, request: HttpRequest, parameters: PathParameters) -> tuple[HttpResponse, str]:
        """Checks the quota before the body is read; charges the bytes read and sent.  Raises QuotaExceeded."""
        quotas, principal = request.broker.quotas, request.caller.principal
        # Charge bytes read, not declared: a false Content-Length would exhaust the quota of all users of the principal.
        declared = min(request.declared_bytes(), request.config.body_bytes_max)
        quotas.admit(principal, bytes_in=declared)
        answered = 0
        try:
            answer, outcome = await self._once(request, parameters)
            answered = len(answer.body) or answer.chunks_bytes
        finally:
            # Bytes decoded for the response are already charged.
            bytes_out = max(answered - request.decoded_bytes, 0)
            quotas.charge(principal, bytes_in=max(request.body_bytes - declared, 0), bytes_out=bytes_out)
        return answer, outcome

    async def _once(self, request: HttpRequest, parameters: PathParameters) -> tuple[HttpResponse, str]:
        """Raises the errors of the endpoint."""
        if self.keyed and (key := idempotency.key_of(request)) is not None:
            return await idempotency.once(
                request,
                key,
                lambda: self.run(request, parameters),
                produces=self.id in PRODUCES,
                has_body=not self.streamed,
            )
        return await self.run(request, parameters), "ok"

    async def run(self, request: HttpRequest, parameters: PathParameters) -> HttpResponse:
        """Raises the errors of the endpoint."""
        arguments: dict[str, Any] = dict(parameters)
        if self.body is not None:
            data = await request.body()
            if len(data) > json_counts.SMALL_BYTES and (not self.raw or request.content_type() != BATCH):
                await json_counts.check(data, self.body, request.config)
            arguments["body"] = request.json_body = self._body.read(data, request.content_type())
        if self.query is not None:
            arguments["query"] = self._query.read(request.scope["query_string"])
        elif request.scope["query_string"] and self.tag != "health":
            raise InvalidRequest(f"{self.method} {self.path} takes no query parameters; remove the query.")
        result = await self.endpoint(request, **arguments)
        if self._is_noted(request):
            await request.broker.audit.note(
                request.caller, self.act, self._target(request, parameters), **request.facts
            )
        if isinstance(result, HttpResponse):
            return result
        return _NO_CONTENT if result is None else reply(result, self.status)

    def _is_noted(self, request: HttpRequest) -> bool:
        return bool(self.act) and not (request.is_own and self.act in OWN_ACTS)

    def _target(self, request: HttpRequest, parameters: PathParameters) -> str:
        return request.target or " ".join(parameters.values())


class Routes:
    """The operations of one router, in order."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.operations: list[Operation] = []

    def get(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare("GET", path, **options)

    def post(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare("POST", path, **options)

    def put(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare("PUT", path, **options)

    def patch(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare("PATCH", path, **options)

    def delete(self, path: str, **options: Any) -> Callable[[Endpoint], Endpoint]:
        return self._declare("DELETE", path, **options)

    def _declare(
        self,
        method: str,
        path: str,
        *,
        status: int = 200,
        answers: Mapping[int, Any] | None = None,
        errors: Sequence[type[LedgerError]] = (),
        keyed: bool = False,
        hot: bool = False,
        raw: bool = False,
        streamed: bool = False,
        optional: bool = False,
        examples: Mapping[str, Any] | None = None,
        requires: tuple[Requirement, ...] | None = None,
        act: str = "",
    ) -> Callable[[Endpoint], Endpoint]:
        assert requires is not None, f"{method} {path} does not declare its requirements"

        def declare(endpoint: Endpoint) -> Endpoint:
            hints = typing.get_type_hints(endpoint)
            body = hints.get("body")
            if typing.get_args(body):
                body = next(kind for kind in typing.get_args(body) if kind is not bytes)
            text = inspect.getdoc(endpoint) or ""
            summary, _, description = text.partition("\n\n")
            answered = hints["return"]
            self.operations.append(
                Operation(
                    method=method, path=path, id=endpoint.__name__, tag=self.tag, endpoint=endpoint, status=status,
                    summary=" ".join(summary.split()).rstrip("."), description=" ".join(description.split()),
                    answers=answers or {status: None if answered is type(None) else answered},
                    errors=tuple(errors), keyed=keyed, hot=hot, raw=raw, streamed=streamed,
                    optional=optional, body=body,
                    query=hints.get("query"), examples=examples or {}, requires=requires, act=act,
                )
            )  # fmt: skip
            return endpoint

        return declare
