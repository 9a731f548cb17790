"""The commands that carry queued batches to Redis: their payload, then the script that accepts it.

    one MULTI   XADD data:1   XADD data:1   ledger/append           plain batches
                XADD data:-1  XADD data:-1  ledger/schedule         batches with records that are due later
                XADD data:-1  XADD data:-1  ledger/append_sidecar   transactional batches in the sidecar buffer
                ...

Batches keep their order: neighbours of one kind share a script call, and all script calls are in one MULTI.
Source: PIP-195; docs/decisions/0012, 0044.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redis_ledger.ledger.append_request import (
    Kind,
    QueuedAppend,
    append_arguments,
    payload_commands,
    schedule_arguments,
)
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import ScriptCall

APPEND = Script.load("ledger/append")
APPEND_SIDECAR = Script.load("ledger/append_sidecar")
SCHEDULE = Script.load("ledger/schedule")


class AppendCalls:
    """ledger, delay_ledger: where this broker believes that payload goes; a script corrects it."""

    def __init__(self, keys: PartitionKeys, topic_id: str) -> None:
        self._keys, self._topic_id = keys, topic_id
        self.delay_ledger = -1
        self.use_ledger(1)

    def use_ledger(self, number: int) -> int:
        self.ledger, self._data_key = number, self._keys.data(number)
        return number

    def commands(self, kind: Kind, items: Sequence[QueuedAppend], now_ms: int) -> list[Any]:
        if kind is Kind.PLAIN:
            return self._plain(items, now_ms)
        return self._split(items, now_ms) if kind is Kind.SPLIT else self._aside(items, now_ms)

    def _plain(self, items: Sequence[QueuedAppend], now_ms: int) -> list[Any]:
        data = self._data_key
        commands: list[Any] = [(b"XADD", data, b"NOMKSTREAM", b"0-*", b"b", item.request.payload) for item in items]
        keys = (*self._keys.append_keys, data)
        args, further = append_arguments(items, len(keys))
        args = [self._topic_id, self.ledger, now_ms, self._keys.wake, *args]
        commands.append(ScriptCall(APPEND, (*keys, *further), args))
        return commands

    def _aside(self, items: Sequence[QueuedAppend], now_ms: int) -> list[Any]:
        k, data = self._keys, self._keys.data(self.delay_ledger)
        commands: list[Any] = [(b"XADD", data, b"NOMKSTREAM", b"0-*", b"b", item.request.payload) for item in items]
        keys = (*k.append_keys, k.sidecar, data, *k.delay.schedule_keys)
        args, further = append_arguments(items, len(keys))
        args = [self._topic_id, self.delay_ledger, now_ms, *args]
        commands.append(ScriptCall(APPEND_SIDECAR, (*keys, *further), args))
        return commands

    def _split(self, items: Sequence[QueuedAppend], now_ms: int) -> list[Any]:
        k, data, delay_data = self._keys, self._data_key, self._keys.data(self.delay_ledger)
        commands = payload_commands(items, data, delay_data)
        args: list[Any] = [self._topic_id, self.ledger, self.delay_ledger, now_ms, k.wake]
        args += (len(items), *schedule_arguments(items, self.delay_ledger))
        keys = (*k.append_keys, data, delay_data, *k.delay.schedule_keys, k.sidecar)
        commands.append(ScriptCall(SCHEDULE, keys, args))
        return commands
