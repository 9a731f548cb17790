"""A transaction over one partition is one append, against real brokers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from redis_ledger import AsyncClient
from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.server import HttpServer
from redis_ledger.broker.broker import Broker
from tests.support.broker import backlog, one, values_of
from tests.support.proxy import proxy

VALUES = [f"{n}" for n in range(10)]


@contextlib.asynccontextmanager
async def served(url: str, prefix: str) -> AsyncIterator[tuple[Broker, str]]:
    """A broker without background work, and its address."""
    async with one(url, prefix, coordinators=1) as broker:
        await broker.maintenance.close()
        server = HttpServer(create_app(broker), "127.0.0.1", 0, drain_s=2)
        await server.start()
        try:
            yield broker, server.address
        finally:
            await server.stop()


async def logged(broker: Broker) -> int:
    """How many entries were ever added to the transaction logs of all coordinators."""
    added = 0
    for coordinator in broker.coordinators:
        keys = coordinator.keys
        if await broker.store.command("EXISTS", keys.log, key=keys.state):
            found = await broker.store.command("XINFO", "STREAM", keys.log, key=keys.state)
            fields = found if isinstance(found, dict) else dict(zip(found[::2], found[1::2], strict=True))
            added += int(fields[b"entries-added"])
    return added


def calls_of(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The scripts that the broker calls from now on, in order."""
    names, call, multi = list[str](), broker.store.call, broker.store.multi

    def called(script: Any, *args: Any, **options: Any) -> Any:
        names.append(script.name)
        return call(script, *args, **options)

    def together(key: bytes, commands: Any, **options: Any) -> Any:
        names.append("+".join(each.script.name if hasattr(each, "script") else each[0].decode() for each in commands))
        return multi(key, commands, **options)

    monkeypatch.setattr(broker.store, "call", called)
    monkeypatch.setattr(broker.store, "multi", together)
    return names


@pytest.mark.parametrize("server", ["redis_url", "cluster_url"])
async def test_ten_sends_to_one_partition_and_a_commit_are_one_append(request, server, prefix, monkeypatch):
    """CL-17"""
    async with served(request.getfixturevalue(server), prefix) as (broker, url), AsyncClient(url) as client:
        await client.topics.create("t", 2)
        async with client.transaction() as first:  # gets the client a producer id
            await first.send("t", "first", partition=1)
        before, calls = await logged(broker), calls_of(broker, monkeypatch)
        # When ten records are sent to one partition and committed
        async with client.transaction() as txn:
            sendings = [await txn.send("t", value, partition=1) for value in VALUES]
            assert calls == []
        # Then that is one write, and no coordinator has logged anything
        assert calls == ["XADD+ledger/append"]
        assert await logged(broker) == before
        assert [await sending.result() for sending in sendings] == [(1, offset) for offset in range(1, 11)]
        # And the records are contiguous, without a marker
        assert await values_of(broker, "t", 1, isolation="read_uncommitted") == ["first", *VALUES]


async def test_a_client_that_ends_before_the_commit_leaves_nothing(redis_url, prefix):
    """CL-17"""
    async with served(redis_url, prefix) as (broker, url):
        async with AsyncClient(url) as client:
            await client.topics.create("t")
            txn = client.transaction()
            for value in VALUES:
                await txn.send("t", value)
        assert await values_of(broker, "t", isolation="read_uncommitted") == []
        assert await broker.transactions.list() == []


async def test_a_client_that_loses_the_connection_after_the_append_has_written_all_ten_once(redis_url, prefix):
    """CL-17"""
    async with served(redis_url, prefix) as (broker, url), proxy("127.0.0.1", httpx.URL(url).port or 0) as relay:
        await broker.topics.create("t")
        async with AsyncClient(f"http://127.0.0.1:{relay.port}") as client:
            for cut_after in (0, 1, 40, 120):
                async with client.transaction() as txn:
                    for value in VALUES:
                        await txn.send("t", value)
                    await client.topics.list()  # so that the next answer is that of the append
                    relay.cut_after = cut_after
                assert relay.cut_after is None
        assert await values_of(broker, "t", isolation="read_uncommitted") == VALUES * 4


async def test_an_acknowledgement_after_five_sends_makes_it_a_usual_transaction(redis_url, prefix):
    """CL-17"""
    async with served(redis_url, prefix) as (broker, url), AsyncClient(url) as client:
        async with client.producer("in") as producer:
            await producer.send("input")
        await client.topics.create("t")
        async with client.consumer("in", "s") as consumer:
            [message] = await consumer.receive(wait_ms=10_000)
            async with client.transaction() as txn:
                for value in VALUES[:5]:
                    await txn.send("t", value)
                await txn.ack(consumer, message)
                for value in VALUES[5:]:
                    await txn.send("t", value)
        assert txn.id is None
        assert len(await broker.transactions.list("committed")) == 1
        assert await values_of(broker, "t", isolation="read_uncommitted") == [*VALUES, "[marker]"]
        assert await backlog(broker, "in", "s") == 0


async def test_a_second_partition_after_five_sends_makes_it_a_usual_transaction(redis_url, prefix):
    """CL-17: ten records on two partitions, each there once and behind them a marker."""
    async with served(redis_url, prefix) as (broker, url), AsyncClient(url) as client:
        await client.topics.create("t", 2)
        async with client.transaction() as txn:
            for n, value in enumerate(VALUES):
                await txn.send("t", value, partition=n // 5)
            assert await broker.transactions.list() == []
        assert [shown.status for shown in await broker.transactions.list()] == ["committed"]
        for partition in (0, 1):
            log = await values_of(broker, "t", partition, isolation="read_uncommitted")
            assert log == [*VALUES[5 * partition :][:5], "[marker]"]


async def test_more_bytes_than_one_append_takes_are_sent_in_a_usual_transaction(redis_url, prefix):
    """CL-17: seen whole when it is committed, and not before."""
    values = [f"{n}" * 400_000 for n in range(10)]
    async with served(redis_url, prefix) as (broker, url), AsyncClient(url) as client:
        await client.topics.create("t")
        async with client.transaction() as txn:
            for value in values:
                await txn.send("t", value)
            assert [shown.status for shown in await broker.transactions.list()] == ["open"]
            assert await values_of(broker, "t") == []
        assert await values_of(broker, "t", isolation="read_uncommitted") == [*values, "[marker]"]
        assert await values_of(broker, "t") == values
