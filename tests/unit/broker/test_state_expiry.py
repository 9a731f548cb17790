"""Scans of a partition's producers that take several pages and several turns."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from redis_ledger.broker.topics.state_expiry import (
    FORGET_PRODUCERS,
    LAP_LOOKS,
    PAGE,
    PRODUCER_SILENT_MS,
    StateExpiry,
)
from redis_ledger.clock import ManualClock
from redis_ledger.config import Config
from redis_ledger.ledger.partition import Partition

PARTITION = cast(
    Partition,
    SimpleNamespace(
        topic_id="t",
        number=0,
        keys=SimpleNamespace(producers=b"producers", open=b"open", state=b"state", ended=b"ended", watermarks=b"w"),
    ),
)
CONFIG = Config(idempotency_key_ms=1_000)


class Producers:
    """Rows in pages of HSCAN.  rows: the time of the last batch by producer id.  pages: the ids of each page."""

    def __init__(self, rows: dict[int, int], pages: Sequence[Sequence[int]], per_turn: int) -> None:
        self.rows, self.scanned = rows, list[int]()
        self._pages, self._per_turn = pages, per_turn

    async def command(self, name: str, table: bytes, *rest: Any, key: bytes) -> Any:
        if name == "HLEN":
            return self._per_turn * PAGE * LAP_LOOKS
        page = int(rest[0])
        self.scanned.append(page)
        rows = [part for pid in self._pages[page] if pid in self.rows for part in (b"%d" % pid, self._row(pid))]
        return b"%d" % ((page + 1) % len(self._pages)), rows

    async def call(self, script: object, keys: object, arguments: Sequence[Any]) -> Any:
        if script is not FORGET_PRODUCERS:
            return [0, 0, 0]
        for pid, row in zip(arguments[::2], arguments[1::2], strict=True):
            assert row == self._row(int(pid))
            del self.rows[int(pid)]
        return [0]

    def _row(self, pid: int) -> bytes:
        return b"0 %d x" % self.rows[pid]


def expiry_of(producers: Producers, clock: ManualClock) -> StateExpiry:
    return StateExpiry(cast(Any, producers), CONFIG, clock)


@pytest.mark.parametrize("per_turn", [1, 2, 3])
@pytest.mark.parametrize("first", range(3))
async def test_the_next_expiry_is_the_earliest_of_all_pages(per_turn, first):
    clock = ManualClock()
    now = clock.now_ms()
    pages = [[1, 2], [3, 4], [5, 6]]
    rows = {pid: now - 10 for page in pages for pid in page} | {pages[first][1]: now - 500}
    expiry = expiry_of(Producers(rows, pages, per_turn), clock)
    await expiry.look(PARTITION)
    while expiry.is_scanning("t", 0):
        await expiry.look(PARTITION)
    assert expiry.next_ms("t", 0) == now - 500 + PRODUCER_SILENT_MS


@pytest.mark.parametrize(("per_turn", "turns"), [(1, [[0], [1], [2], [0]]), (2, [[0, 1], [2], [0, 1], [2]])])
async def test_each_turn_continues_the_scan_and_a_new_one_begins_at_the_start(per_turn, turns):
    clock = ManualClock()
    producers = Producers(dict.fromkeys(range(1, 4), clock.now_ms()), [[1], [2], [3]], per_turn)
    expiry = expiry_of(producers, clock)
    for expected in turns:
        producers.scanned.clear()
        await expiry.look(PARTITION)
        assert producers.scanned == expected
        assert expiry.is_scanning("t", 0) == (expected[-1] != 2)


async def test_silent_producers_of_every_page_are_forgotten_and_others_stay():
    clock = ManualClock()
    now = clock.now_ms()
    silent, recent = now - PRODUCER_SILENT_MS - 1, now - PRODUCER_SILENT_MS
    producers = Producers({1: silent, 2: recent, 3: silent, 4: recent, 5: silent}, [[1, 2], [3, 4], [5]], per_turn=1)
    expiry = expiry_of(producers, clock)
    for _ in range(3):
        await expiry.look(PARTITION)
    assert producers.rows == {2: recent, 4: recent}
    assert expiry.next_ms("t", 0) == now
