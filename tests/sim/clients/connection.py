"""The SDK's client of a run."""

from __future__ import annotations

from redis_ledger import AsyncClient
from tests.sim.clients.context import Context


def connect(context: Context) -> AsyncClient:
    return AsyncClient(context.urls, timeout_ms=10_000, attempt_ms=2_500)
