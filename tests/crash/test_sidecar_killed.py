"""The sidecar buffer when a broker stops while it deletes, and when Redis is killed: nothing is lost or left over."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.ledger.entries import parse_log
from redis_ledger.ledger.release_sidecar import RELEASE
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from tests.support.broker import begun, behind_a_proxy, eventually, live_transactions, one, records, two, values_of
from tests.support.busy_machine import within
from tests.support.redis_servers import redis_server
from tests.support.sidecar import all_buffered, buffered

ASIDE = {TXN_BUFFER: BUFFERS["sidecar"]}
LARGE = 1_200  # batches: three pages


class Stopped(Exception):
    """The broker stops here."""


async def payload_entries(broker: Broker) -> int:
    k = (await broker.catalog.partition("t", 0)).keys
    return int(await broker.store.command("XLEN", k.data(-1), key=k.state))


def stop_after(monkeypatch: pytest.MonkeyPatch, broker: Broker, calls: int) -> None:
    """The broker makes so many calls of ledger/release_sidecar, and then stops."""
    send, made = broker.store.call, 0

    def counted(script: Any, *rest: Any, **more: Any) -> Any:
        nonlocal made
        if script is RELEASE:
            made += 1
            if made > calls:
                raise Stopped
        return send(script, *rest, **more)

    monkeypatch.setattr(broker.store, "call", counted)


@pytest.mark.parametrize("ends_by", ["abort", "trim"])
@pytest.mark.parametrize("calls", [0, 1, 2, 3])
async def test_a_release_that_stops_anywhere_is_finished_by_another_broker(
    redis_url, prefix, monkeypatch, calls, ends_by
):
    """SC-14, SC-16: and an open transaction and a committed one beside it stay whole."""
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t", settings=ASIDE)
        # Given a large transaction that was aborted, or committed and trimmed
        txn = (await first.transactions.begin()).id
        await first.transactions.add_partitions(txn, [("t", 0)])
        await asyncio.gather(*(write(first, txn) for _ in range(LARGE)))
        if ends_by == "abort":
            await first.transactions.abort(txn)
        else:
            await first.transactions.commit(txn)
            await first.topics.delete_records("t", 0, LARGE)
        open_txn = await begun(first, "later 1", "later 2")
        await first.transactions.commit(await begun(first, "kept 1", "kept 2"))
        # When a broker stops between two pages
        stop_after(monkeypatch, first, calls)
        with pytest.raises(Stopped):
            await first.aborted_payload.look_at_all()
        left = await payload_entries(first)
        assert 4 < left <= 4 + LARGE
        assert await values_of(second, "t", offset=LARGE * (ends_by == "trim")) == ["kept 1", "kept 2"]
        # Then another one goes on, and repeats nothing that harms
        for _ in range(2):
            await second.aborted_payload.look_at_all()
            assert (await payload_entries(second), await buffered(second, "t")) == (4, 4)
        await second.transactions.commit(open_txn)
        assert (await values_of(second, "t", offset=LARGE * (ends_by == "trim")))[2:] == ["later 1", "later 2"]


async def write(broker: Broker, txn: Any) -> None:
    await broker.records.produce("t", records("large"), transaction=txn)


async def test_two_brokers_that_release_at_once_delete_everything_once(redis_url, prefix):
    """SC-16"""
    async with two(redis_url, prefix) as (first, second):
        await first.topics.create("t", settings=ASIDE)
        for _ in range(3):
            txn = await begun(first)
            await first.transactions.add_partitions(txn, [("t", 0)])
            await asyncio.gather(*(write(first, txn) for _ in range(LARGE // 2)))
            await first.transactions.abort(txn)
        await asyncio.gather(*(broker.aborted_payload.look_at_all() for broker in (first, second, first)))
        assert (await payload_entries(first), await all_buffered(first, ["t"])) == (0, 0)
        k = (await first.catalog.partition("t", 0)).keys
        issued, deleted, _, _, unlogged, *_ = (await first.store.command("HGET", k.ledgers, -1, key=k.state)).split()
        assert (int(issued) - int(deleted), int(unlogged)) == (0, 0)


@pytest.mark.parametrize("in_one_call", [False, True])
async def test_a_commit_whose_reply_is_lost_anywhere_is_one_entry_of_the_log(redis, prefix, in_one_call):
    """SC-05, SC-06: between the decision and the end, too."""
    async with behind_a_proxy(redis, prefix, coordinators=1, one_call_transactions=in_one_call) as (broker, relay):
        await broker.topics.create("t", settings=ASIDE)
        expected = list[str]()
        for number in range(6):
            txn = await begun(broker, f"{number}a", f"{number}b")
            before = len(relay.requests)

            async def cut(count: int = before + number + 1) -> None:
                while len(relay.requests) < count:
                    await asyncio.sleep(0)
                relay.cuts = 1

            cutter = asyncio.create_task(cut())
            async with within(10):
                ended = await broker.transactions.commit(txn)
            cutter.cancel()
            await asyncio.gather(cutter, return_exceptions=True)
            relay.cuts = 0
            assert ended.status in ("committed", "committing")
            assert await eventually(lambda: live_transactions(broker), 0) == 0
            expected += [f"{number}a", f"{number}b"]
            assert await values_of(broker, "t") == expected
        k = (await broker.catalog.partition("t", 0)).keys
        assert len(parse_log(await broker.store.command("XRANGE", k.log, "-", "+", key=k.state))) == 6


async def test_the_index_of_transactions_is_the_same_after_redis_was_killed():
    """SC-11: status, records and place of open, committed and aborted transactions, and they go on."""
    with redis_server(appendonly="yes", appendfsync="always") as server:
        async with one(server.url, "k") as broker:
            await broker.topics.create("t", settings=ASIDE)
            committed = await begun(broker, "a", "b", "c")
            aborted, opened = await begun(broker, "x", "y"), await begun(broker, "d", "e")
            await broker.transactions.commit(committed)
            await broker.transactions.abort(aborted)
            await broker.aborted_payload.look_at_all()

            async def index() -> Any:
                k = (await broker.catalog.partition("t", 0)).keys
                states = [await broker.partition_transactions.get("t", 0, txn) for txn in (committed, aborted, opened)]
                members = await broker.store.command("ZRANGE", k.sidecar, 0, -1, key=k.state)
                rows = await broker.store.command("HGETALL", k.open, key=k.state)
                return states, members, rows, await broker.participant_details.of(opened, 0, 10)

            before = await index()
            server.kill()
            server.start()
            assert await index() == before
        # And a broker that comes anew sees the same, and ends the open one
        async with one(server.url, "k") as broker:
            assert await index() == before
            assert await values_of(broker, "t") == ["a", "b", "c"]
            await broker.transactions.commit(opened)
            assert await values_of(broker, "t") == ["a", "b", "c", "d", "e"]
            assert await all_buffered(broker, ["t"]) == 5
