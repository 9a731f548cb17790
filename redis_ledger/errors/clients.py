"""Errors that the SDK raises by itself; no broker answers with them."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict, LedgerError


class ClientClosed(Conflict):
    """The client, or the producer or consumer made by it, is closed. Make a new one."""

    code = "client_closed"


class UnexpectedAnswer(LedgerError):
    """The server at this address does not answer as a broker does. Check the address, and any proxy on the way."""

    code, http_status = "unexpected_answer", 502


class UnreadableValue(LedgerError):
    """The value of a record does not have the requested form. Read it as bytes."""

    code = "unreadable_value"
