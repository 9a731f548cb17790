"""Records what real clients send: a TCP proxy between a client and a broker, which keeps a few frames of each kind.

    python -m tests.fuzz.record librdkafka -- tests/compat/librdkafka/run.sh
    python -m tests.fuzz.record java -- some-script                                     reads KAFKA=host:port
    python -m tests.fuzz.record java --upstream 127.0.0.1:9092 --port 19092 -- ...      in front of another broker

Without --upstream a broker of ours is started, which tells clients the proxy's address.  Another broker has to be
configured so beforehand (advertised.listeners).  Of each API and version the shortest frame, the longest below
FRAME_BYTES_MAX and one of middle length are kept, in corpus/<api>.<version>.<client>.bin: as on the wire, one after
the other.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import struct
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from redis_ledger.kafka.protocol.messages import API_VERSIONS
from tests.fuzz.process import HOST, address, environment, running

CORPUS = Path(__file__).parent / "corpus"
FRAME_BYTES_MAX = 1_200
FLUSH = 64 * 1024

Kept = dict[tuple[int, int], set[bytes]]


class Recorder:
    """kept: (API key, version) → frames with their lengths, each different."""

    def __init__(self) -> None:
        self.kept: Kept = defaultdict(set)
        self.seen = 0
        self.upstream: tuple[str, int] = (HOST, 0)
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, port: int) -> int:
        self._server = await asyncio.start_server(self._serve, HOST, port)
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self.upstream)
        answers = asyncio.create_task(self._relay(there, writer, keep=False))
        try:
            await self._relay(reader, back, keep=True)
        finally:
            answers.cancel()
            await asyncio.gather(answers, return_exceptions=True)
            for each in (writer, back):
                each.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, keep: bool) -> None:
        pending = bytearray()
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(FLUSH):
                writer.write(data)
                await writer.drain()
                if keep:
                    pending += data
                    self._cut(pending)
            writer.write_eof()

    def _cut(self, pending: bytearray) -> None:
        while len(pending) >= 4:
            end = 4 + int.from_bytes(pending[:4], "big")
            if len(pending) < end:
                return
            frame = bytes(pending[:end])
            del pending[:end]
            self.seen += 1
            if 14 <= len(frame) <= FRAME_BYTES_MAX:
                key, version = struct.unpack_from(">hh", frame, 4)
                self.kept[key, version].add(frame)

    async def close(self) -> None:
        self._server.close()


def chosen(frames: set[bytes]) -> list[bytes]:
    """The shortest, the longest, and one between; fewer if there are no three lengths."""
    by_length = {len(frame): frame for frame in sorted(frames)}
    lengths = sorted(by_length)
    return [by_length[n] for n in sorted({lengths[0], lengths[len(lengths) // 2], lengths[-1]})]


def write(kept: Kept, label: str) -> list[Path]:
    CORPUS.mkdir(exist_ok=True)
    paths = []
    for (key, version), frames in sorted(kept.items()):
        if (api := API_VERSIONS.get(key)) is not None:
            paths.append(CORPUS / f"{api.module}.{version}.{label}.bin")
            paths[-1].write_bytes(b"".join(chosen(frames)))
    return paths


async def record(label: str, upstream: str | None, port: int, command: list[str]) -> int:
    recorder = Recorder()
    advertised = f"{HOST}:{await recorder.listen(port)}"
    async with contextlib.AsyncExitStack() as stack:
        if upstream is None:
            recorder.upstream = (await stack.enter_async_context(running(advertised=advertised))).kafka
        else:
            recorder.upstream = address(upstream)
        # Results of a suite that is used as a driver are kept apart from those of real runs.
        out = stack.enter_context(tempfile.TemporaryDirectory(prefix="redis-ledger-fuzz-"))
        client = await asyncio.create_subprocess_exec(*command, env={**environment(), "KAFKA": advertised, "OUT": out})
        code = await client.wait()
        await recorder.close()
    paths = write(recorder.kept, label)
    size = sum(path.stat().st_size for path in paths)
    print(f"{recorder.seen} frames, {len(paths)} files, {size} bytes; the client ended with {code}", file=sys.stderr)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("label", help="the client's name, part of the files' names")
    parser.add_argument("--upstream", metavar="HOST:PORT")
    parser.add_argument("--port", type=int, default=0, help="where the proxy listens")
    parser.add_argument("command", nargs="+")
    asked = parser.parse_args()
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    return asyncio.run(record(asked.label, asked.upstream, asked.port, asked.command))


if __name__ == "__main__":
    sys.exit(main())
