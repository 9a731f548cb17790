"""What a connection keeps of a request: while it waits for its answer, and for the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

from redis_ledger.kafka.request_context import RequestContext
from redis_ledger.kafka.router import Route


class InFlightRequest(NamedTuple):
    """began: by the monotonic clock, s; size: of its frame."""

    route: Route
    version: int
    correlation_id: int
    began: float
    size: int
    future: asyncio.Future[Any]


class RequestSummary(NamedTuple):
    """A request as the log sees it."""

    api: str
    correlation_id: int
    call: RequestContext

    def log_fields(self) -> dict[str, str]:
        peer = self.call.peer
        request_id = f"{self.call.client_id or peer.host}-{self.correlation_id}"
        principal = peer.principal if peer.is_authenticated else ""
        return {"operation": self.api, "request_id": request_id, "peer": peer.host, "principal": principal}


# With tuple.__new__ a request's is made in C: it is there for every one, and looked at when something is logged.
asked = cast("Callable[[tuple[str, int, RequestContext]], RequestSummary]", partial(tuple.__new__, RequestSummary))
