"""A real Sentinel beside the servers of redis_servers.py, and one that names the primary that a test wants."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

from tests.support.reaper import ends_with_us
from tests.support.redis_servers import READY_S_MAX, Server, binary

SERVICE = "mine"


class Sentinel(Server):
    """url: of a store that follows the primary."""

    def start(self) -> None:
        """The settings are in a file: a sentinel insists on one, and writes to it."""
        self.url = f"redis+sentinel://127.0.0.1:{self.port}/{SERVICE}"
        self._process = subprocess.Popen(
            [binary(), str(self.folder / "sentinel.conf"), "--sentinel"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        ends_with_us(self._process)
        until = time.monotonic() + READY_S_MAX
        while not self._is_ready():
            assert time.monotonic() < until, "the sentinel did not start"
            time.sleep(0.02)  # a server has no other way to tell that it listens

    def _is_ready(self) -> bool:
        with contextlib.suppress(OSError):
            return self.ask("PING") == b"PONG"
        return False

    def wait_for_replicas(self, count: int, *, patience_s: float = 15.0) -> None:
        """Until it knows so many replicas, which it learns from the primary every ten seconds."""
        until = time.monotonic() + patience_s
        while len(self.known_replicas()) < count:
            assert time.monotonic() < until, "the sentinel did not find the replicas"
            time.sleep(0.1)  # nor that it has found a replica

    def primary_port(self) -> int:
        answer = self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", SERVICE)
        assert isinstance(answer, list), answer
        return int(answer[1])

    def known_replicas(self) -> list[object]:
        replicas = self.ask("SENTINEL", "REPLICAS", SERVICE)
        return replicas if isinstance(replicas, list) else []

    def configure(self, primary_port: int, *, quorum: int = 1, down_after_ms: int = 1_000) -> None:
        """Writes its first settings; from then on it keeps them itself."""
        (self.folder / "sentinel.conf").write_text(
            f"port {self.port}\nbind 127.0.0.1\ndir {self.folder}\n"
            f"sentinel monitor {SERVICE} 127.0.0.1 {primary_port} {quorum}\n"
            f"sentinel down-after-milliseconds {SERVICE} {down_after_ms}\n"
            f"sentinel failover-timeout {SERVICE} 2000\n"
        )


@contextlib.contextmanager
def sentinel(primary: Server, *, down_after_ms: int = 1_000) -> Iterator[Sentinel]:
    """A sentinel that watches the primary and promotes a replica by itself."""
    with tempfile.TemporaryDirectory(prefix="rl-") as folder:
        server = Sentinel(Path(folder))
        server.configure(primary.port, down_after_ms=down_after_ms)
        try:
            server.start()
            yield server
        finally:
            server.kill()


@contextlib.asynccontextmanager
async def naming(port: Sequence[int]) -> AsyncIterator[str]:
    """The URL of a sentinel that names the port in the list: a real one needs ten seconds for a failover."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1_000)
        text = str(port[0])
        writer.write(f"*2\r\n$9\r\n127.0.0.1\r\n${len(text)}\r\n{text}\r\n".encode())
        await reader.read()
        writer.close()

    watcher = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"redis+sentinel://127.0.0.1:{watcher.sockets[0].getsockname()[1]}/{SERVICE}"
    finally:
        watcher.close()
