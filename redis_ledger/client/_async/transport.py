"""HTTP to any of several brokers: one call in, one answer or one typed exception out, repeated where that is safe.

    call ─→ slot ─→ broker n ─ answer ─→ back
                      │ failed: retries.py says what is known, and whether to go on
                      └─→ broker n+1 … after a round of all brokers wait, until the time is up

Any broker serves anything, so the client stays with the one that answered last.  Nothing but LedgerErrors leaves this
module: answers.py turns what is not a broker's answer into one.
"""

from __future__ import annotations

import itertools
import random
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from copy import copy
from functools import lru_cache, partial
from time import monotonic
from typing import Any, TypeAlias, TypeVar
from urllib.parse import quote

import httpx

from redis_ledger.client import answers, arguments, retries
from redis_ledger.client._async.connections import AsyncConnections
from redis_ledger.client._async.slots import AsyncSlots
from redis_ledger.client.bearer import Bearer, header
from redis_ledger.client.concurrency import async_sleep
from redis_ledger.client.retries import Failure
from redis_ledger.client.trust import believed, public_authorities
from redis_ledger.errors import ClientClosed, InvalidRequest, OutcomeUnknown, Unauthenticated
from redis_ledger.version import VERSION

T = TypeVar("T")
AsyncContent: TypeAlias = "bytes | Callable[[], AsyncIterator[bytes] | bytes] | None"

BATCH = "application/vnd.redis-ledger.batch"
USER_AGENT = f"redis-ledger-python/{VERSION}"
CONNECT_S_MAX = 3.0
ADDRESSES_MAX = 256
REQUESTS_MAX = 10
POLLS_MAX = 100
KEY_SLACK_S = 60  # the broker keeps the key of a call for longer than the call may last


def path(*parts: str | int, call: str = "") -> str:
    """/v1/part/part:call with every part percent-encoded.  Raises InvalidRequest."""
    return "/v1/" + "/".join(quote(arguments.name(part), safe="") for part in parts) + call


class AsyncTransport:
    """urls: brokers, tried in turn.  timeout_ms: total time of one operation.  attempt_ms: longest wait for one answer,
    beyond what the call itself asks the broker to wait.  requests_max: requests under way at once; polls_max: those
    that ask the broker to wait, which have slots of their own.  token, token_file: see bearer.py.  headers: of every
    request; an authorization among them is shown instead of a token.  ca_file, cert_file, key_file: see trust.py.
    http: takes the place of the network."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        timeout_ms: int = 30_000,
        attempt_ms: int = 10_000,
        requests_max: int = REQUESTS_MAX,
        polls_max: int = POLLS_MAX,
        token: str | None = None,
        token_file: str | None = None,
        headers: Mapping[str, str] | None = None,
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        http: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        arguments.check(timeout_ms=timeout_ms, attempt_ms=attempt_ms, requests_max=requests_max, polls_max=polls_max)
        self._urls = [answers.address(url) for url in arguments.sequence("urls", urls)]
        if not self._urls:
            raise InvalidRequest("A client needs the address of at least one broker.")
        self.timeout_ms = timeout_ms
        self._attempt_s = attempt_ms / 1000
        self._current = 0
        self._is_closed = False
        self._requests, self._polls = AsyncSlots(requests_max), AsyncSlots(polls_max)
        own = answers.headers(headers, USER_AGENT)
        self._addresses = lru_cache(ADDRESSES_MAX)(answers.parsed)  # to parse one takes as long as to send it
        self.bearer = Bearer(None, None) if "authorization" in own else Bearer(token, token_file)
        self._connect: Callable[[], httpx.AsyncBaseTransport] | None = None
        if http is None:
            trusted = believed(self._urls, ca_file, cert_file=cert_file, key_file=key_file)
            if trusted is True:
                trusted = public_authorities()
            one = httpx.Limits(max_connections=1, max_keepalive_connections=1)
            self._connect = partial(httpx.AsyncHTTPTransport, verify=trusted, limits=one, trust_env=False)
            http = AsyncConnections(self._connect)
        self._http, self._headers = http, dict(own)

    def anew(self) -> AsyncTransport:
        """The same without its connections, for a process that was forked.  Itself if it was given `http`: what that
        shares with the parent is not known."""
        if self._connect is None:
            return self
        other = copy(self)
        other._requests, other._polls = self._requests.anew(), self._polls.anew()
        other._http = AsyncConnections(self._connect)
        return other

    async def close(self) -> None:
        self._is_closed = True
        await self._http.aclose()

    def check_open(self) -> None:
        """Raises ClientClosed."""
        if self._is_closed:
            raise ClientClosed("The client is closed; make a new one.")

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        answer: type[T],
        params: Mapping[str, str | int] | None = None,
        repeatable: bool = True,
        idempotency_key: bool | str = False,
        wait_ms: int = 0,
        timeout_ms: int | None = None,
        on_lost: Callable[[], None] | None = None,
    ) -> T:
        """One JSON call.  answer: the type its JSON is read as; None when there is none to read.

        body             or a function that returns it for each attempt, the first of which is 0
        repeatable       doing it twice does no more than doing it once
        idempotency_key  makes it repeatable: True for a key of this call, or the key itself
        wait_ms          the longest that the broker waits before it answers
        on_lost          called when an answer was lost, before the call is repeated
        """
        headers = {}
        if body is not None:
            headers["content-type"] = "application/json"
        if idempotency_key:
            headers["idempotency-key"] = secrets.token_hex(16) if idempotency_key is True else idempotency_key
        if idempotency_key is True:  # only this call repeats it
            asked_ms = (self.timeout_ms if timeout_ms is None else timeout_ms) + wait_ms
            headers["idempotency-key-ttl"] = str(asked_ms // 1000 + KEY_SLACK_S)
        attempts = itertools.count()

        def content() -> bytes:
            return answers.encode(body(next(attempts)))

        response = await self.send(
            method,
            path,
            None if body is None else content if callable(body) else answers.encode(body),
            headers=headers,
            params=params,
            repeatable=repeatable or bool(idempotency_key),
            wait_ms=wait_ms,
            timeout_ms=timeout_ms,
            on_lost=on_lost,
        )
        return answers.decode(method, path, response, answer)

    async def send(
        self,
        method: str,
        path: str,
        content: AsyncContent = None,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str | int] | None = None,
        repeatable: bool = True,
        wait_ms: int = 0,
        timeout_ms: int | None = None,
        on_lost: Callable[[], None] | None = None,
        is_streamed: bool = False,
    ) -> httpx.Response:
        """The answer, whose status is 2xx.

        content      a function returns the pieces of the body, anew for each attempt
        is_streamed  the body of the answer is not read; the caller closes it

        Raises the exception that the broker's problem names, OutcomeUnknown when the answer of a change was lost and
        repeating did not help or was not allowed, else Unavailable.  An attempt whose answer was lost may have been
        carried out, whatever the exception: see on_lost.
        """
        timeout_ms = self.timeout_ms if timeout_ms is None else timeout_ms
        deadline_s = monotonic() + (timeout_ms + wait_ms) / 1000
        slots = self._polls if wait_ms else self._requests
        lost = False
        attempt = untrusted = 0
        while True:
            attempt += 1
            broker = self._current
            last: Exception
            shown = self.bearer.token
            try:
                async with slots.taken(deadline_s) as is_held:
                    if not is_held:
                        raise retries.no_slot(method, path, is_poll=bool(wait_ms), lost=lost, timeout_ms=timeout_ms)
                    response = await self._exchange(
                        method,
                        self._urls[broker] + path,
                        content=content,
                        headers={**header(shown), **(headers or {})},
                        params=params,
                        answer_s=min(max(deadline_s - monotonic(), 0.001), self._attempt_s + wait_ms / 1000),
                        is_streamed=is_streamed,
                    )
                if response.is_success:
                    return response
                if lost and method == "DELETE" and response.status_code == 404:
                    return httpx.Response(204)  # the attempt whose answer was lost has done it
                last = answers.error_of(method, path, response)
                failure = retries.of_problem(last, response.status_code)
                if isinstance(last, Unauthenticated) and self.bearer.is_renewed(shown):
                    continue
                if failure is Failure.FINAL:
                    raise last
            except httpx.TransportError as error:
                last, failure = error, retries.of_connection(error)
            except ClientClosed as closed:
                if lost:
                    raise OutcomeUnknown(f"The client was closed while {method} {path} was being repeated.") from closed
                raise
            if failure is Failure.LOST and method != "GET":
                lost = True
                if on_lost is not None:
                    on_lost()
            pause_s = max(retries.wait_s(attempt, len(self._urls), random.random()), retries.asked_to_wait_s(last))
            untrusted = untrusted + 1 if failure is Failure.UNTRUSTED else 0
            may_repeat = retries.may_repeat(failure, repeatable) and untrusted < len(self._urls)
            if not may_repeat or monotonic() + pause_s >= deadline_s:
                raise retries.gave_up(method, path, last, lost=lost, timeout_ms=timeout_ms) from last
            if self._current == broker:
                self._current = (broker + 1) % len(self._urls)
            if pause_s:
                await async_sleep(pause_s)

    async def _exchange(
        self,
        method: str,
        url: str,
        *,
        content: AsyncContent,
        headers: Mapping[str, str],
        params: Mapping[str, str | int] | None,
        answer_s: float,
        is_streamed: bool,
    ) -> httpx.Response:
        """One request.  Raises httpx.TransportError, which says how far it came, or a LedgerError."""
        self.check_open()
        try:
            address, shown = answers.parsed(url, params) if params else self._addresses(url)
            request = httpx.Request(
                method,
                address,
                headers={**self._headers, **headers, **shown},
                content=content() if callable(content) else content,
                extensions={"timeout": httpx.Timeout(answer_s, connect=min(answer_s, CONNECT_S_MAX)).as_dict()},
            )
            response = await self._http.handle_async_request(request)
            response.request = request
            try:
                if not is_streamed or not response.is_success:
                    await response.aread()
            except BaseException:
                await response.aclose()
                raise
            return response
        except httpx.TransportError:
            raise
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise answers.refused(method, url, error) from error
        except RuntimeError as error:
            self.check_open()
            # What asyncio says of a loop that has ended, or is not the one that the connections belong to.
            raise InvalidRequest(
                f"An AsyncClient works in the event loop that it was first used in. ({error})"
            ) from error
