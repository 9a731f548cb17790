"""Watermarks of a partition against the live transactions of their coordinators."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from redis_ledger.fsck.coordinator_facts import padded
from redis_ledger.fsck.finding import Edit
from redis_ledger.fsck.held_check import HeldCheck
from redis_ledger.ledger.place import Place
from redis_ledger.store.keys import PartitionKeys

PLACE = Place("t", "abc", 0, PartitionKeys("rl", "t", 0))


class StoredWatermark:
    """The reads of a partition with one watermark, and of a coordinator with these live transactions."""

    store = SimpleNamespace(prefix="rl")

    def __init__(self, coordinator: bytes, watermark: bytes, live: list[int]) -> None:
        self._row, self._live = (coordinator, watermark), live

    async def rows(self, slot: bytes, key: bytes) -> Any:
        assert key == PLACE.keys.watermarks
        yield [self._row]

    async def command(self, slot: bytes, *args: Any) -> Any:
        assert args[0] == "ZRANGEBYLEX"
        return sorted(padded(serial) for serial in self._live)[:1]


@pytest.mark.parametrize(
    ("coordinator", "watermark", "live", "written"),
    [
        (b"0", b"4", [5, 7], []),
        (b"0", b"5", [5, 7], [(b"0", 4)]),
        (b"0", b"6", [5, 7], [(b"0", 4)]),
        (b"0", b"99", [7], [(b"0", 6)]),
        (b"0", b"99", [], []),
        (b"0", b"x", [5], [(b"0",)]),
        (b"x", b"1", [5], [(b"x",)]),
        (b"3", b"99", [5], []),  # there is no coordinator 3
    ],
)
async def test_a_watermark_is_below_every_live_transaction(
    coordinator: bytes, watermark: bytes, live: list[int], written: list[tuple[Any, ...]]
):
    reading: Any = StoredWatermark(coordinator, watermark, live)
    found = await HeldCheck(reading, PLACE, 1).check_watermarks()
    edits = [each.repair for each in found if isinstance(each.repair, Edit)]
    assert [write.args for each in edits for write in each.writes] == written
    assert len(found) == len(written)
