"""The SDK: talks HTTP to any broker.  `_async/` is written by hand, `_sync/` is generated from it.

Names are loaded when they are asked for, so that a program with threads never loads the other half.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redis_ledger.client._async.client import AsyncClient
    from redis_ledger.client._async.consumer import AsyncConsumer
    from redis_ledger.client._async.producer import AsyncProducer
    from redis_ledger.client._async.sender import AsyncSending
    from redis_ledger.client._async.transaction import AsyncTransaction
    from redis_ledger.client._sync.client import Client
    from redis_ledger.client._sync.consumer import Consumer
    from redis_ledger.client._sync.producer import Producer
    from redis_ledger.client._sync.sender import Sending
    from redis_ledger.client._sync.transaction import Transaction
    from redis_ledger.client.models import Message, Record, RecordPosition, ScheduledPosition, ScheduledRecord
    from redis_ledger.client.security_models import Acl
    from redis_ledger.client.snapshots import Snapshot
    from redis_ledger.client.states import TxnState

__all__ = [
    "Acl",
    "AsyncClient",
    "AsyncConsumer",
    "AsyncProducer",
    "AsyncSending",
    "AsyncTransaction",
    "Client",
    "Consumer",
    "Message",
    "Producer",
    "Record",
    "RecordPosition",
    "ScheduledPosition",
    "ScheduledRecord",
    "Sending",
    "Snapshot",
    "Transaction",
    "TxnState",
]  # fmt: skip

_HOMES = {
    "Acl": "security_models",
    "Message": "models",
    "Record": "models",
    "RecordPosition": "models",
    "ScheduledPosition": "models",
    "ScheduledRecord": "models",
    "Snapshot": "snapshots",
    "TxnState": "states",
    "Client": "client",
    "Consumer": "consumer",
    "Producer": "producer",
    "Sending": "sender",
    "Transaction": "transaction",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name.removeprefix("Async"))
    if name not in __all__ or home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if home not in ("models", "security_models", "snapshots", "states"):
        home = f"{'_async' if name.startswith('Async') else '_sync'}.{home}"
    return getattr(import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return __all__
