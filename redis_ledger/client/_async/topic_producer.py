"""What a transaction needs of a producer."""

from __future__ import annotations

from typing import Any, Protocol

from redis_ledger.client._async.sender import AsyncSending
from redis_ledger.client.deliveries import Moment, Span
from redis_ledger.client.models import Headers


class AsyncTopicProducer(Protocol):
    """A producer, as a transaction sends with it."""

    async def send(
        self,
        value: Any,
        *,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
        timestamp_ms: int | None = None,
        deliver_at: Moment | None = None,
        deliver_after: Span | None = None,
        txn: Any = None,
    ) -> AsyncSending: ...
