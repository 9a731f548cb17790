"""The state directory of a broker: what it has answered, on its disk."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time

from tests.support.broker import one, records


async def test_a_broker_that_stops_while_it_saves_keeps_what_it_answered_last(redis_url, prefix, tmp_path, monkeypatch):
    saving, started, together = list[int](), threading.Event(), list[int]()
    fsync = os.fsync

    def slow(descriptor: int) -> None:
        saving.append(descriptor)
        together.append(len(saving))
        started.set()
        time.sleep(0.3)  # a slow disk
        fsync(descriptor)
        saving.remove(descriptor)

    async with one(redis_url, prefix, state_dir=str(tmp_path)) as broker:
        await broker.topics.create("orders", 1)
        await broker.records.produce("orders", records("a"))
        monkeypatch.setattr(os, "fsync", slow)
        # When the broker stops in the middle of a save
        assert await asyncio.to_thread(started.wait, 10)
        await broker.records.produce("orders", records("b"))
    monkeypatch.undo()
    (file,) = (json.loads(path.read_bytes()) for path in tmp_path.glob("*.json"))
    assert [row[4] for row in file["partitions"]] == [2]
    assert set(together) == {1}
