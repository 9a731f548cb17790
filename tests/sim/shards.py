"""Shards: a primary with its replicas, of which one is promoted when the primary fails.  Asks them past the proxies.

primary ◀── link replicas-<primary> ── replicas       Sentinel: shard0; Redis Cluster: three shards
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from tests.sim.recorder import Recorder
from tests.sim.redis_nodes import AddLink, RedisNodes
from tests.sim.schedule import Schedule
from tests.support.redis_servers import Server

ANSWER_S_MAX, LOOK_S = 1.5, 0.1
SETTLED_S_MAX = 120.0


class Shards(RedisNodes):
    """members: shard → names of its servers.  ports: name → the port that it announces."""

    def __init__(self, plan: Schedule, folder: Path, add_link: AddLink) -> None:
        super().__init__(plan, folder, add_link)
        self.members: dict[str, list[str]] = {}
        self.ports: dict[str, int] = {}

    async def primary(self, shard: str) -> str:
        """Its name; empty if none is known now."""
        raise NotImplementedError

    async def known_primary(self, shard: str) -> str:
        """Raises AssertionError if none is known now."""
        found = await self.primary(shard)
        assert found, f"{shard} has no primary now"
        return found

    def shard_of(self, name: str) -> str:
        return next(shard for shard, members in self.members.items() if name in members)

    async def attach(self, shard: str, name: str) -> None:
        """Makes a server that was started again a replica, as its own configuration would."""

    async def fail_over(self, shard: str, how: str = "") -> None:
        """Asks for a promotion while the primary is alive.  how: "", FORCE or TAKEOVER."""
        raise NotImplementedError

    async def replicas(self, shard: str) -> list[str]:
        primary = await self.primary(shard)
        return [name for name in self.members[shard] if name != primary]

    async def until_promoted(self, shard: str, before: str, within_s: float = SETTLED_S_MAX) -> str:
        """Returns the name of the new primary.  Raises AssertionError."""

        async def is_new() -> bool:
            return await self.primary(shard) not in ("", before)

        await eventually(is_new, f"{shard} has no new primary", within_s)
        return await self.primary(shard)

    async def settle(self) -> None:
        """Returns when every shard has a primary, and its replicas have all that it had at this moment."""
        for shard in self.members:
            offsets: dict[str, int] = {}

            async def is_in_step(shard: str = shard, offsets: dict[str, int] = offsets) -> bool:
                primary = await self.primary(shard)
                found = await asked(self.servers[primary], "INFO", "replication") if primary else None
                if not isinstance(found, bytes):
                    return False
                lines = dict(line.split(b":", 1) for line in found.splitlines() if b":" in line)
                offset = offsets.setdefault(primary, int(lines[b"master_repl_offset"]))
                rows = [_row(value) for name, value in lines.items() if name.startswith(b"slave") and b"ip=" in value]
                done = [row for row in rows if row[b"state"] == b"online" and int(row[b"offset"]) >= offset]
                return lines[b"role"] == b"master" and len(done) == len(self.members[shard]) - 1

            await eventually(is_in_step, f"the replicas of {shard} are not in step")

    async def watch(self, recorder: Recorder) -> None:
        """Records every promotion, until it is cancelled."""
        known = {shard: await self.primary(shard) for shard in self.members}
        while True:
            for shard, before in known.items():
                now = await self.primary(shard)
                if now and now != before:
                    recorder.note("promotion", shard=shard, was=before, now=now)
                    known[shard] = now
            await asyncio.sleep(LOOK_S)


def _row(value: bytes) -> Mapping[bytes, bytes]:
    """slave0: ip=127.0.0.1,port=12345,state=online,offset=14,lag=0"""
    pairs: Sequence[list[bytes]] = [part.split(b"=", 1) for part in value.split(b",")]
    return {pair[0]: pair[1] for pair in pairs}


async def asked(server: Server, *command: str | bytes | int) -> object:
    """Returns None if the server does not answer soon."""
    if not server.is_running:
        return None
    try:
        # Not `asyncio.wait_for`: that of Python 3.11 may swallow the cancellation by a timeout around this one.
        async with asyncio.timeout(ANSWER_S_MAX):
            return await asyncio.to_thread(server.ask, *command)
    except (OSError, TimeoutError):
        return None


async def eventually(holds: Callable[[], Awaitable[bool]], otherwise: str, within_s: float = SETTLED_S_MAX) -> None:
    """Raises AssertionError."""
    until = time.monotonic() + within_s
    while not await holds():
        assert time.monotonic() < until, otherwise
        await asyncio.sleep(LOOK_S)
