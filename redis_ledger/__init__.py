"""redis-ledger: a transactional event log on Redis.  Here are the names of its SDK; importing them loads no broker.

    from redis_ledger import Client

    with Client("http://127.0.0.1:8080") as client, client.transaction() as txn:
        txn.send("invoices", {"order": 7, "total": 12}, key="order-7")

`AsyncClient` is the same for asyncio.  Errors are in `redis_ledger.errors`, and the root of them is `LedgerError`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from redis_ledger.errors import LedgerError
from redis_ledger.ids import MessageId, ScheduledId, TxnId

if TYPE_CHECKING:
    from redis_ledger import errors
    from redis_ledger.client import AsyncClient, Client, Message, Record, RecordPosition, Snapshot

__all__ = [
    "AsyncClient", "Client", "LedgerError", "Message", "MessageId", "Record", "RecordPosition", "ScheduledId",
    "Snapshot", "TxnId", "errors",
]  # fmt: skip

# The broker is in this package too and has no use for the SDK, so that is loaded when it is asked for.
_CLIENT = ("AsyncClient", "Client", "Message", "Record", "RecordPosition", "Snapshot")


def __getattr__(name: str) -> object:
    if name not in _CLIENT:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("redis_ledger.client"), name)


def __dir__() -> list[str]:
    return __all__
