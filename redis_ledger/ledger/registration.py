"""A partition's registration with a transaction, sent to Redis right before a batch that needs it.

    register, wait, append            two round trips
    register, append right behind     one, where one server has all keys and executes in the order of sending

The coordinator's script stores its reply to each broker's newest call.  ledger/append looks there whether the partition
was registered, and with which transaction.  Source: docs/decisions/0039.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from redis_ledger.ids import TxnId
from redis_ledger.store.connection import Arg

UNKNOWN_SERIAL = "?"


@dataclass(frozen=True, slots=True)
class Registration:
    """calls      the coordinator's key with its replies to brokers
    call, place   number of the call, and of the operation in it (from 1)
    txn           the transaction, when the call has been answered; or the error
    """

    coordinator: int
    calls: bytes
    broker: str
    call: int
    place: int
    txn: asyncio.Future[TxnId]

    def known(self) -> TxnId | None:
        """The transaction, if the call has been answered with one."""
        return None if not self.txn.done() or self.txn.cancelled() or self.txn.exception() else self.txn.result()

    def error(self) -> BaseException | None:
        """Why the partition is not registered, as far as it is known."""
        return self.txn.exception() if self.txn.done() and not self.txn.cancelled() else None

    def arguments(self, key: int) -> tuple[Arg, Arg, Arg]:
        """Coordinator, serial and verification of a batch, as ledger/append takes them.  key: the place of `calls` in
        its KEYS."""
        txn = self.known()
        if txn is not None:
            return txn.coordinator, txn.serial, 1
        return self.coordinator, UNKNOWN_SERIAL, f"{key}:{self.call}:{self.place}:{self.broker}"

    def __str__(self) -> str:
        return str(self.known() or "")
