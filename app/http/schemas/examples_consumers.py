"""Examples of a subscription's consumers, for the OpenAPI document."""

from __future__ import annotations

from redis_ledger.app.http.schemas.examples import Examples

CLOSE_CONSUMER: Examples = {"request": {"consumer": "worker-1"}, "200": {"redelivering": 3}}
