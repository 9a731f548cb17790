"""Stores that are opened on a busy machine."""

from __future__ import annotations

import time
from typing import Any

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.store import Store

PATIENCE_S = 10.0


async def open_store(url: str, **options: Any) -> Store:
    """As Store.open, but tries again for PATIENCE_S if Redis does not reply within retry_ms on a busy machine."""
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await Store.open(url, **options)
        except StoreUnavailable as error:
            if type(error) is not StoreUnavailable or time.monotonic() >= until_s:
                raise
