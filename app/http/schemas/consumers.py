"""Bodies of a subscription's consumers."""

from __future__ import annotations

from redis_ledger.app.http.schemas.core import Consumer, Request


class CloseConsumer(Request):
    consumer: Consumer = "default"
