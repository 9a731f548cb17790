"""Requests in flight: what a connection needs to write the response, and what the log shows of a request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

from redis_ledger.kafka.request_context import RequestContext
from redis_ledger.kafka.router import Route


class InFlightRequest(NamedTuple):
    """A pipelined request.  began: monotonic time, s.  size: bytes of its frame."""

    route: Route
    version: int
    correlation_id: int
    began: float
    size: int
    future: asyncio.Future[Any]


class RequestSummary(NamedTuple):
    """The fields of a request that log lines have."""

    api: str
    correlation_id: int
    call: RequestContext

    def log_fields(self) -> dict[str, str]:
        peer = self.call.peer
        request_id = f"{self.call.client_id or peer.host}-{self.correlation_id}"
        principal = peer.principal if peer.is_authenticated else ""
        return {"operation": self.api, "request_id": request_id, "peer": peer.host, "principal": principal}


# One is built for every request and read only when a line is logged; tuple.__new__ builds it in C.
summary = cast("Callable[[tuple[str, int, RequestContext]], RequestSummary]", partial(tuple.__new__, RequestSummary))
