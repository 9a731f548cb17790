"""Leases of messages that were handed out and are not settled: which are extended when.  Pure.

handed out ──⅓──── due ─▶ extended ──⅓──── due ─▶ … until it is settled, lost, or lease_max_s is over
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from redis_ledger.client.models import Message
from redis_ledger.ids import MessageId


class Lease(NamedTuple):
    since_s: float
    until_s: float


class HeldLeases:
    def __init__(self, ack_timeout_s: float, lease_max_s: float) -> None:
        self._ack_timeout_s, self._lease_max_s = ack_timeout_s, lease_max_s
        self._leases: dict[MessageId, Lease] = {}

    def __len__(self) -> int:
        return len(self._leases)

    def add(self, messages: Iterable[Message], now_s: float) -> None:
        for each in messages:
            self._leases[each.id] = Lease(now_s, each.leased_until_s)

    def forget(self, ids: Iterable[MessageId]) -> None:
        for each in ids:
            self._leases.pop(each, None)

    def forget_upto(self, last: MessageId) -> None:
        """Those of its partition up to this one."""
        self.forget([each for each in self._leases if each.partition == last.partition and each.offset <= last.offset])

    def clear(self) -> None:
        self._leases.clear()

    def due(self, now_s: float) -> list[MessageId]:
        """Those of which a third of the lease is over.  Forgets those that were held for the longest time allowed."""
        self.forget([id for id, lease in self._leases.items() if now_s - lease.since_s >= self._lease_max_s])
        ends_s = now_s + self._ack_timeout_s * 2 / 3
        return [id for id, lease in self._leases.items() if lease.until_s <= ends_s]

    def extend(self, ids: Iterable[MessageId], began_s: float) -> None:
        """They are leased for another ack timeout, from the time at which the request began."""
        for each in ids:
            if each in self._leases:
                self._leases[each] = self._leases[each]._replace(until_s=began_s + self._ack_timeout_s)
