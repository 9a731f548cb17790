"""Notices at once that another broker has joined, has left, or that its process has ended.

    another broker's heartbeat publishes that it joins, leaves or has another address ──▶ read the live brokers

So a client that asks any broker for the cluster gets all brokers from the start.  Many clients look again after minutes
only, and would have no other address if the one broker they know ends.

    idle connection to the peer's HTTP address ──ends──▶ connect again ──refused──▶ the peer counts as silent
                                                              └─connected, timed out, ...──▶ its heartbeats decide

The kernel of a killed process closes its connections and its port immediately, while its heartbeats are missed only
after SILENT_MS.  A refusal counts only if a connection to the same address existed before, so a firewall or a proxy
between brokers cannot remove a live broker.  One that is removed by mistake is back with its next heartbeat.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from redis_ledger.broker.cluster.live_brokers import LiveBrokers
from redis_ledger.errors import LedgerError
from redis_ledger.telemetry.logs import RateLimitedLog, get

SYNC_S = 1.0  # between two looks at which brokers are live
CONNECT_S_MAX = 2.0
PAUSE_S_MIN, PAUSE_S_MAX = 0.02, 5.0  # before a connection is opened again
STEADY_S = 1.0  # a connection that lasted so long starts with the shortest pause again
_log = get()


class PeerWatch:
    """Holds one idle connection to each other live broker, and a subscription to their changes."""

    def __init__(self, live_brokers: LiveBrokers) -> None:
        self._live_brokers = live_brokers
        self._limited_log = RateLimitedLog(every_s=10.0)
        self._watches: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._sync: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._sync = asyncio.get_running_loop().create_task(self._stay_in_sync())

    async def close(self) -> None:
        tasks = [*self._watches.values(), *([self._sync] if self._sync else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _stay_in_sync(self) -> None:
        changed, unsubscribe = asyncio.Event(), None
        try:
            while True:
                if unsubscribe is None:
                    unsubscribe = await self._subscribe(changed)
                self._update({node.name: node.http for node in self._live_brokers.all})
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SYNC_S):
                        await changed.wait()
                if changed.is_set():
                    changed.clear()
                    await self._read_live_brokers()
        finally:
            if unsubscribe is not None:
                unsubscribe()

    async def _subscribe(self, changed: asyncio.Event) -> Callable[[], None] | None:
        try:
            unsubscribe = await self._live_brokers.on_change(changed.set)
        except LedgerError:
            return None  # the regular heartbeats read the live brokers
        changed.set()  # what was published before this is unknown
        return unsubscribe

    async def _read_live_brokers(self) -> None:
        try:
            await self._live_brokers.send_heartbeat()
        except LedgerError:
            return
        except Exception as error:  # noqa: BLE001 - the peers must still be watched
            self._limited_log.failed("the live brokers could not be read", error)

    def _update(self, peers: Mapping[str, str]) -> None:
        """peers: broker → its HTTP address, of the live brokers; this one is left out."""
        wanted = {(name, http) for name, http in peers.items() if name != self._live_brokers.name}
        for peer in self._watches.keys() - wanted:
            self._watches.pop(peer).cancel()
        for name, http in wanted - self._watches.keys():
            if (address := address_of(http)) is not None:
                watch = self._watch(name, *address)
                self._watches[name, http] = asyncio.get_running_loop().create_task(watch)

    async def _watch(self, name: str, host: str, port: int) -> None:
        was_connected, pause_s = False, PAUSE_S_MIN
        while True:
            began_s = asyncio.get_running_loop().time()
            try:
                async with asyncio.timeout(CONNECT_S_MAX):
                    reader, writer = await asyncio.open_connection(host, port)
            except ConnectionRefusedError:
                if was_connected:
                    was_connected = False
                    await self._remove(name)
            except OSError:  # TimeoutError is one
                pass
            else:
                was_connected = True
                await _until_it_ends(reader, writer)
            lasted_s = asyncio.get_running_loop().time() - began_s
            pause_s = PAUSE_S_MIN if lasted_s >= STEADY_S else min(pause_s * 2, PAUSE_S_MAX)
            await asyncio.sleep(pause_s)

    async def _remove(self, name: str) -> None:
        try:
            if await self._live_brokers.remove(name):
                _log.warning("a broker has ended: its port is closed", broker=name)
        except LedgerError:
            return  # without Redis nothing can be removed; later its missing heartbeats count
        except Exception as error:  # noqa: BLE001 - the peer must still be watched
            self._limited_log.failed("a broker that has ended could not be removed", error, broker=name)


async def _until_it_ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        with contextlib.suppress(OSError):
            await reader.read(1)  # nothing is sent, so nothing is received but the end
    finally:
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def address_of(http: str) -> tuple[str, int] | None:
    """Host and port of an HTTP address; None if it is none."""
    try:
        parts = urlsplit(http)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname and port else None
