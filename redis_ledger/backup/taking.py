"""Takes a backup of a running Redis: of all primaries in one state.

    node 0   snapshot ──▶ writes ──────▶│ 8120          each node is followed like by a replica, then cut at the
    node 1   ──▶ snapshot ──▶ writes ──▶│ 977           offset that it had in the pause
    writes of brokers              ──▶  pause  ──▶

The snapshots are of different times. All offsets are read twice, one reading after the other. If both are the same, no
node changed between the end of the first reading and the begin of the second, so the offsets are one state of all
nodes. The pause lets two readings agree; it is not needed for the proof. It ends by itself if this process dies.
Source: docs/decisions/0033; the double collect of Afek et al., "Atomic snapshots of shared memory", 1993.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from redis_ledger.backup import layout
from redis_ledger.backup.layout import Backup, BackupError, NodeBackup
from redis_ledger.clock import Clock
from redis_ledger.errors import LedgerError
from redis_ledger.store.address import Address
from redis_ledger.store.replica_stream import Position, ReplicaStream
from redis_ledger.store.server_info import parse_facts
from redis_ledger.store.store import ReplyError, Store

ATTEMPTS_MAX = 20  # at a cut; a primary's PING to its replicas, every ten seconds, is a reason to repeat it
BETWEEN_S = 0.1
T = TypeVar("T")


class Source(NamedTuple):
    """A primary that is followed, and its files. copied: set when its snapshot is complete."""

    name: str
    stream: ReplicaStream
    place: Path
    copied: asyncio.Event


async def take(store: Store, folder: Path, clock: Clock, *, pause_ms_max: int, say: Callable[[str], object]) -> Backup:
    """Writes a backup to a new folder. pause_ms_max: of writes. Raises BackupError, LedgerError."""
    store.admission.serve_any()
    before = await _slots(store)
    addresses = [link.address for link in store.topology.links() if link.address is not None]
    if len(addresses) < store.primaries:
        raise BackupError("A primary of Redis cannot be reached.")
    places = await asyncio.to_thread(layout.create, folder, len(addresses))
    with contextlib.ExitStack() as stack:
        sources = [
            Source(each.name, await _opened(each, stack), place, asyncio.Event())
            for each, place in zip(addresses, places, strict=True)
        ]
        following = asyncio.gather(*map(_follow, sources))
        try:
            say(f"copying {len(sources)} primaries")
            await _with(following, _copied(sources))
            cut = await _with(following, _cut(store, pause_ms_max))
            taken_ms = clock.now_ms()
            _check_primaries(sources, cut.positions)
            await _with(following, _reach(sources, cut.positions))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
    if await _slots(store) != before:
        raise BackupError("Slots of the Redis Cluster were moved meanwhile: take the backup again.")
    nodes = [await asyncio.to_thread(_finished, each, at) for each, at in zip(sources, cut.positions, strict=True)]
    paused_ms = round(cut.paused_s * 1000, 1)
    backup = Backup(layout.FORMAT, taken_ms, store.prefix, addresses[0].db, paused_ms, nodes)
    await asyncio.to_thread(layout.write_index, folder, backup)
    return backup


# -- following ---------------------------------------------------------------------------------------------------------


async def _opened(address: Address, stack: contextlib.ExitStack) -> ReplicaStream:
    try:
        stream = await ReplicaStream.open(address)
    except OSError as error:
        raise _refused(address.name, error) from error
    stack.callback(stream.close)
    return stream


async def _follow(source: Source) -> None:
    """Writes the snapshot and all writes after it, until it is cancelled."""
    stream, place = source.stream, source.place
    try:
        with layout.opened(place / layout.BASE) as file:
            await stream.start()
            await stream.snapshot(file.write)
        source.copied.set()
        with layout.opened(place / layout.INCREMENT) as file:
            await stream.follow(file.write)
    except OSError as error:
        raise _refused(source.name, error) from error


async def _copied(sources: Sequence[Source]) -> None:
    for source in sources:
        await source.copied.wait()


async def _reach(sources: Sequence[Source], positions: Sequence[Position]) -> None:
    for source, at in zip(sources, positions, strict=True):
        await source.stream.reach(at.offset)


def _finished(source: Source, at: Position) -> NodeBackup:
    """Cuts off what was written after the cut."""
    with open(source.place / layout.INCREMENT, "r+b") as file:
        file.truncate(at.offset - source.stream.begin.offset)
    return NodeBackup(source.name, at.replication_id, at.offset, layout.digests(source.place))


def _refused(name: str, error: OSError) -> BackupError:
    return BackupError(f"Redis at {name} cannot be copied: {str(error) or type(error).__name__}.")


async def _with(following: asyncio.Future[list[None]], work: Coroutine[Any, Any, T]) -> T:
    """Does the work; fails with the streams if one of them breaks."""
    task = asyncio.ensure_future(work)
    either: set[asyncio.Future[Any]] = {task, following}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    if not task.done():
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        following.result()
    return await task


# -- cutting -----------------------------------------------------------------------------------------------------------


class Cut(NamedTuple):
    """positions: one state of all nodes, in the order of the store. paused_s: how long writes waited."""

    positions: list[Position]
    paused_s: float


async def _cut(store: Store, pause_ms_max: int) -> Cut:
    paused_s = 0.0
    for _ in range(ATTEMPTS_MAX):
        began_s = time.monotonic()
        try:
            _checked(await store.everywhere("CLIENT", "PAUSE", pause_ms_max, "WRITE"))
            first = await _positions(store)
            second = await _positions(store)
        finally:
            with contextlib.suppress(LedgerError):
                await store.everywhere("CLIENT", "UNPAUSE")
        paused_s += time.monotonic() - began_s
        if first == second:
            return Cut(first, paused_s)
        await asyncio.sleep(BETWEEN_S)
    raise BackupError(
        f"The primaries were never in one state for two readings of {pause_ms_max} ms: "
        "try again, with a longer --pause-ms-max or at a quieter time."
    )


async def _positions(store: Store) -> list[Position]:
    found = list[Position]()
    for reply in _checked(await store.everywhere("INFO", "replication")):
        facts = parse_facts(reply)
        if facts.get("role") != "master":
            raise BackupError("A node of Redis is no primary any more: take the backup again.")
        found.append(Position(facts["master_replid"], int(facts["master_repl_offset"])))
    return found


def _check_primaries(sources: Sequence[Source], positions: Sequence[Position]) -> None:
    for source, at in zip(sources, positions, strict=True):
        if source.stream.begin.replication_id != at.replication_id or at.offset < source.stream.begin.offset:
            raise BackupError(f"Redis at {source.name} was restarted or replaced meanwhile: take the backup again.")


async def _slots(store: Store) -> list[bytes]:
    """The slots of each node of a Redis Cluster. Raises BackupError if some are being moved."""
    if not store.topology.has_slots:
        return []
    found = list[bytes]()
    for reply in _checked(await store.everywhere("CLUSTER", "NODES")):
        words = next(line.split() for line in reply.splitlines() if b"myself" in line.split()[2])
        found.append(b" ".join([words[0], *words[8:]]))
        if any(word.startswith(b"[") for word in words[8:]):
            raise BackupError("Slots of the Redis Cluster are being moved: take the backup when that is done.")
    return found


def _checked(replies: Sequence[T]) -> Sequence[T]:
    for reply in replies:
        if isinstance(reply, ReplyError):
            raise BackupError(f"Redis refused a command that a backup needs: {reply}.")
    return replies
