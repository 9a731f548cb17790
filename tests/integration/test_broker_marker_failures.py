"""An end whose marker cannot be written: nothing of it is visible before the marker is."""

from __future__ import annotations

from typing import Any

from tests.support.broker import begun, heads, one, records, values_of
from tests.support.crashing_store import Trouble


async def test_a_marker_that_fails_twice_moves_nothing_until_it_is_written(redis_url, prefix, monkeypatch):
    """TB-27: stable offset, end and open transactions are those of before after each failure."""
    async with one(redis_url, prefix, coordinators=1, end_overdue_ms=60_000, one_call_transactions=False) as broker:
        await broker.topics.create("t")
        txn = await begun(broker, "a")
        await broker.records.produce("t", records("behind"))
        ends, seen = broker.transactions._participants.end, list[tuple[Any, ...]]()

        async def noted(decision):
            try:
                await ends(decision)
            finally:
                seen.append((await heads(broker), await values_of(broker, "t")))

        monkeypatch.setattr(broker.transactions._participants, "end", noted)
        trouble = Trouble(broker.store)
        trouble.fails["txn/end"] = 2
        assert (await broker.transactions.commit(txn)).status == "committed"
        assert trouble.failed == 2
        assert seen == [((0, 0, 2, 1), [])] * 2 + [((0, 3, 3, 0), ["a", "behind"])]
