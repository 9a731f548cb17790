"""Snapshots of the transaction buffer of a sidecar topic: fsck begins there, and finds what it found before."""

from __future__ import annotations

import pytest

from redis_ledger.fsck import service
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from tests.support.broker import begun, one, records, values_of
from tests.support.buffer_snapshots import checked, load, stored, take


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(service, "BETWEEN_S", 0.02)


@pytest.mark.parametrize("kind", ["redis_url", "cluster_url"])
async def test_a_snapshot_between_open_transactions_of_the_sidecar_buffer_changes_no_answer(kind, prefix, request):
    """SC-11, SC-12, TB-15"""
    async with one(request.getfixturevalue(kind), prefix, coordinators=1) as broker:
        await broker.topics.create("t", settings={TXN_BUFFER: BUFFERS["sidecar"]})
        opened = [await begun(broker, f"{n}a", f"{n}b") for n in range(3)]
        await broker.records.produce("t", records("plain"))
        await broker.transactions.commit(opened[1])
        # Given a snapshot with an open transaction below it and above it
        await take(broker)
        held = await load(broker)
        assert (held.index.position, held.trace().stable(), held.aborted) == (3, 3, [])
        before = await stored(broker)
        assert [*(await checked(broker)).left] == [*(await checked(broker, full=True)).left] == []
        # When transactions end behind it
        await broker.transactions.abort(opened[0])
        await broker.transactions.commit(opened[2])
        await broker.transactions.commit(await begun(broker, "single"))
        # Then both checks agree, also with the next snapshot
        for _ in range(2):
            assert [*(await checked(broker)).left] == [*(await checked(broker, full=True)).left] == []
            await take(broker)
        assert (await load(broker)).index.position == 6
        assert await stored(broker) != before
        assert await values_of(broker, "t") == ["plain", "1a", "1b", "2a", "2b", "single"]
