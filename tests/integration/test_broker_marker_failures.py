"""An end whose marker cannot be written: nothing of it is visible before the marker is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.broker import (
    SWEPT_S_MAX,
    begun,
    eventually,
    heads,
    live_transactions,
    one,
    records,
    two,
    values_of,
    vanish,
)
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


@pytest.mark.parametrize("commit", [True, False])
async def test_an_end_that_another_broker_takes_over_is_tried_until_the_sixth_time(redis_url, prefix, commit):
    """TS-09: the broker that decided died; the sweep of the next one fails five times, and ends it once."""
    async with two(redis_url, prefix, coordinators=1, one_call_transactions=False) as (dead, living):
        await dead.topics.create("t")
        txn = await begun(dead, "a")
        await dead.coordinators.decide(txn, commit=commit)
        trouble = Trouble(living.store)
        trouble.fails["txn/end"] = 5
        await vanish(dead)
        assert await eventually(lambda: live_transactions(living), 0, SWEPT_S_MAX + 10) == 0
        assert trouble.failed == 5
        assert await values_of(living, "t") == (["a"] if commit else [])
        assert await values_of(living, "t", isolation="read_uncommitted") == ["a", "[marker]"]
        outcome = (await living.transactions.get(txn)).status
        assert outcome == ("committed" if commit else "aborted")
