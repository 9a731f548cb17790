"""Errors that the SDK raises by itself; no broker answers with them."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict, LedgerError


class ClientClosed(Conflict):
    """The client, producer or consumer is closed. Create a new one."""

    code = "client_closed"


class UnexpectedAnswer(LedgerError):
    """The server at this address did not respond like a broker. Check the address and any proxy in between."""

    code, http_status = "unexpected_answer", 502


class UnreadableValue(LedgerError):
    """The record's value is not in the requested format. Read it as bytes."""

    code = "unreadable_value"
