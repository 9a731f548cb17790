"""When the append-only file of the embedded server is rewritten."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from redis import Redis

from redis_ledger.app.embedded_redis import file_rewrite
from redis_ledger.app.embedded_redis.file_rewrite import FileRewrite, Footprint, is_due
from redis_ledger.app.embedded_redis.server import EmbeddedServer
from tests.support.processes import eventually

GIB = 2**30


def test_a_server_that_loads_its_data_or_has_no_file_is_left_alone() -> None:
    assert Footprint.of({}) == Footprint(file_bytes=0, data_bytes=0)
    assert not is_due(Footprint.of({"loading": "1", "aof_current_size": str(GIB)}))
    assert is_due(Footprint.of({"loading": "0", "aof_current_size": str(GIB)}))


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (Footprint(file_bytes=GIB - 1, data_bytes=0), False),  # too small to matter
        (Footprint(file_bytes=GIB, data_bytes=0), True),  # everything was deleted
        (Footprint(file_bytes=50 * GIB, data_bytes=50 * GIB), False),  # a log that only grows
        (Footprint(file_bytes=30 * GIB, data_bytes=10 * GIB), True),
        (Footprint(file_bytes=30 * GIB - 1, data_bytes=10 * GIB), False),
        (Footprint(file_bytes=GIB, data_bytes=0, is_busy=True), False),
        (Footprint(file_bytes=0, data_bytes=GIB), False),  # the file is switched off
    ],
)
def test_only_a_file_of_mostly_deleted_data_is_due(now: Footprint, expected: bool) -> None:
    assert is_due(now) is expected


async def test_a_growing_log_is_not_rewritten_and_a_deleted_one_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_rewrite, "FILE_BYTES_MIN", 4 << 20)
    embedded = EmbeddedServer.attach(tmp_path / "data", "process", {})
    try:
        with Redis(unix_socket_path=str(embedded.socket)) as server:
            for number in range(100):
                server.xadd(f"log{number % 4}", {"d": b"x" * 65_536})
            rewriter = FileRewrite(lambda: embedded.socket)
            assert server.info("persistence")["aof_current_size"] > 4 << 20
            assert not await asyncio.to_thread(rewriter.look)
            server.delete(*(f"log{number}" for number in range(4)))
            assert await asyncio.to_thread(rewriter.look)
            await asyncio.to_thread(eventually, lambda: server.info("persistence")["aof_current_size"] < 1 << 20)
            assert not await asyncio.to_thread(rewriter.look)
    finally:
        await asyncio.to_thread(embedded.release)


async def test_a_server_that_is_down_is_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_rewrite, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(file_rewrite, "PAUSE_S", 0.01)
    looks: list[int] = []

    def socket() -> Path:
        looks.append(1)
        return tmp_path / "nothing listens here"

    running = asyncio.create_task(FileRewrite(socket).run())
    await asyncio.to_thread(eventually, lambda: len(looks) > 2)
    assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
