"""A pipelined request that waits for its answer."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from redis_ledger.kafka.routes import Route


class Pending(NamedTuple):
    """began: by the monotonic clock, s; size: of its frame."""

    route: Route
    version: int
    correlation_id: int
    began: float
    size: int
    future: asyncio.Future[Any]
