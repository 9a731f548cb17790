"""Leaving a `with` block: closes what it opened, and keeps the exception that the block was left by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redis_ledger.errors import LedgerError


def close_after(error: BaseException | None, close: Callable[[], Any]) -> None:
    """error: what the block was left by; an error of closing is then a note on it, and is raised otherwise."""
    try:
        close()
    except LedgerError as failure:
        if error is None:
            raise
        if error is not failure:
            error.add_note(f"Closing failed as well: {failure.detail}")
