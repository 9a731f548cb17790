"""Removes function libraries of releases that no live broker runs any more.

    heartbeat of each broker   "libraries": hashes of those that it calls
    redis_ledger_txn_<hash>    in no live broker's heartbeat at two looks ─▶ FUNCTION DELETE on every primary

A process that still calls a removed library, such as a tool or a broker with another prefix, loads it again
(store/script_calls.py).
"""

from __future__ import annotations

from redis_ledger.broker.cluster.live_brokers import LiveBrokers
from redis_ledger.store.function_library import hash_of
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.telemetry.logs import get

_log = get()


class UnusedLibraries:
    def __init__(self, store: Store, live_brokers: LiveBrokers) -> None:
        self._store, self._live_brokers = store, live_brokers
        self._unused: frozenset[bytes] = frozenset()  # at the last look

    async def remove(self) -> None:
        """Also loads libraries that a node has refused, for example when its memory was full."""
        await self._store.load_libraries()
        used = self._live_brokers.libraries | {hash_of(library.name) for library in Script.libraries()}
        unused = frozenset(name for name in await self._store.libraries() if hash_of(name) not in used)
        gone, self._unused = unused & self._unused, unused
        for name in sorted(gone):
            await self._store.everywhere(b"FUNCTION", b"DELETE", name)
            _log.info("removed a function library that no live broker uses", library=name.decode())
