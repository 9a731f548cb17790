"""HTTP to any of several brokers: one call in, one answer or one typed exception out, repeated where that is safe.

    call ─→ broker n ─ answer ─→ back
              │ failed: retries.py says what is known, and whether to go on
              └─→ broker n+1 … after a round of all brokers wait, until the time is up

Any broker serves anything, so the client stays with the one that answered last.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from redis_ledger.client import retries
from redis_ledger.client.bearer import Bearer, header
from redis_ledger.client.concurrency import sleep
from redis_ledger.client.retries import Failure
from redis_ledger.client.trust import believed
from redis_ledger.errors import InvalidRequest, Unauthenticated

T = TypeVar("T")

BATCH = "application/vnd.redis-ledger.batch"
CONNECT_S_MAX = 3.0


def path(*parts: str | int, call: str = "") -> str:
    """/v1/part/part:call with every part percent-encoded."""
    return "/v1/" + "/".join(quote(str(part), safe="") for part in parts) + call


class Transport:
    """urls: brokers, tried in turn.  timeout_ms: total time of one operation.  attempt_ms: longest wait for one answer,
    beyond what the call itself asks the broker to wait.  token, token_file: see bearer.py.  headers: of every request;
    an authorization among them is shown instead of a token.  ca_file, cert_file, key_file: see trust.py.  http: takes
    the place of the network."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        timeout_ms: int = 30_000,
        attempt_ms: int = 10_000,
        connections_max: int = 100,
        token: str | None = None,
        token_file: str | None = None,
        headers: Mapping[str, str] | None = None,
        ca_file: str | None = None,
        cert_file: str | None = None,
        key_file: str | None = None,
        http: httpx.BaseTransport | None = None,
    ) -> None:
        self._urls = [url.rstrip("/") for url in urls]
        for url in self._urls:
            if not url.startswith(("http://", "https://")):
                raise InvalidRequest(
                    f"{url!r} is not the address of a broker; addresses look like http://127.0.0.1:8080."
                )
        if not self._urls:
            raise InvalidRequest("A client needs the address of at least one broker.")
        self.timeout_ms = timeout_ms
        self._attempt_s = attempt_ms / 1000
        self._current = 0
        own = httpx.Headers(headers)
        self.bearer = Bearer(None, None) if "authorization" in own else Bearer(token, token_file)
        limits = httpx.Limits(max_connections=connections_max, max_keepalive_connections=connections_max)
        trusted = believed(self._urls, ca_file, cert_file=cert_file, key_file=key_file)
        self._http = httpx.Client(limits=limits, transport=http, headers=own, trust_env=False, verify=trusted)

    def close(self) -> None:
        self._http.close()

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        answer: type[T],
        params: Mapping[str, str | int] | None = None,
        repeatable: bool = True,
        idempotency_key: bool = False,
        wait_ms: int = 0,
        timeout_ms: int | None = None,
    ) -> T:
        """One JSON call.  answer: the type its JSON is read as; None when there is none to read.

        repeatable: doing it twice does no more than doing it once.  idempotency_key: make it so, by a key of this call.
        wait_ms: how long the broker was asked to wait before it answers.
        """
        headers = {}
        if body is not None:
            headers["content-type"] = "application/json"
        if idempotency_key:
            headers["idempotency-key"] = secrets.token_hex(16)
        response = self.send(
            method,
            path,
            None if body is None else msgspec.json.encode(body),
            headers=headers,
            params=params,
            repeatable=repeatable or idempotency_key,
            wait_ms=wait_ms,
            timeout_ms=timeout_ms,
        )
        return msgspec.json.decode(response.content or b"null", type=answer)

    def send(
        self,
        method: str,
        path: str,
        content: bytes | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        params: Mapping[str, str | int] | None = None,
        repeatable: bool = True,
        wait_ms: int = 0,
        timeout_ms: int | None = None,
    ) -> httpx.Response:
        """The answer, whose status is below 400.  Raises the exception that the broker's problem names, OutcomeUnknown
        when the answer of a change was lost and repeating did not help or was not allowed, else Unavailable."""
        timeout_ms = self.timeout_ms if timeout_ms is None else timeout_ms
        deadline_s = monotonic() + (timeout_ms + wait_ms) / 1000
        lost = False
        attempt = untrusted = 0
        while True:
            attempt += 1
            broker = self._current
            left_s = max(deadline_s - monotonic(), 0.001)
            answer_s = min(left_s, self._attempt_s + wait_ms / 1000)
            last: Exception
            shown = self.bearer.token
            try:
                response = self._http.request(
                    method,
                    self._urls[broker] + path,
                    content=content,
                    headers={**header(shown), **(headers or {})},
                    params=params,
                    timeout=httpx.Timeout(answer_s, connect=min(answer_s, CONNECT_S_MAX)),
                )
                if response.status_code < 400:
                    return response
                if lost and method == "DELETE" and response.status_code == 404:
                    return httpx.Response(204)  # the attempt whose answer was lost has done it
                last = retries.error_of(response.status_code, response.content)
                failure = retries.of_problem(last, response.status_code)
                if isinstance(last, Unauthenticated) and self.bearer.is_renewed(shown):
                    continue
                if failure is Failure.FINAL:
                    raise last
            except httpx.TransportError as error:
                last, failure = error, retries.of_connection(error)
            lost = lost or (failure is Failure.LOST and method != "GET")
            pause_s = max(retries.wait_s(attempt, len(self._urls), random.random()), retries.asked_to_wait_s(last))
            untrusted = untrusted + 1 if failure is Failure.UNTRUSTED else 0
            may_repeat = retries.may_repeat(failure, repeatable) and untrusted < len(self._urls)
            if not may_repeat or monotonic() + pause_s >= deadline_s:
                raise retries.gave_up(method, path, last, lost=lost, timeout_ms=timeout_ms) from last
            if self._current == broker:
                self._current = (broker + 1) % len(self._urls)
            if pause_s:
                sleep(pause_s)
