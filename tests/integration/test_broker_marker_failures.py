"""An end whose marker cannot be written: nothing of it is visible before the marker is."""

from __future__ import annotations

from typing import Any

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.ids import TxnId
from redis_ledger.records.control import read_marker
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
from tests.support.kafka_client import KafkaClient, listening
from tests.support.kafka_transactional import NEW, OLD, Transactional
from tests.support.rest import client_of

ENDS = pytest.mark.parametrize(
    ("commit", "first"), [(True, ["a", "behind"]), (False, ["behind"])], ids=["commit", "abort"]
)

RETRIABLE = {14, 15, 16, 51}  # COORDINATOR_LOAD_IN_PROGRESS, _NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT_TRANSACTIONS


class Between:
    """A partition between the tries of an end: every look also appends a plain record and one of another transaction.

    0 a·t  1 behind  2 plain 1  3 other 1·u  4 plain 2  5 other 2·u  6 marker·t  7 plain 3  8 other 3·u
    """

    def __init__(self, broker: Broker, other: TxnId) -> None:
        self._broker, self.other, self.tries = broker, other, 0
        self.seen: list[Any] = []

    async def look(self) -> None:
        self.tries += 1
        self.seen.append((await heads(self._broker), await values_of(self._broker, "t")))
        await self._broker.records.produce("t", records(f"plain {self.tries}"))
        await self._broker.records.produce("t", records(f"other {self.tries}"), transaction=self.other)

    async def check(self, commit: bool, first: list[str]) -> None:
        """After two tries that failed and one that did not."""
        assert self.seen == [((0, 0, 2, 1), []), ((0, 0, 4, 2), []), ((0, 3, 7, 1), [*first, "plain 1"])]
        assert await heads(self._broker) == (0, 3, 9, 1), "the other transaction is open"
        await self._broker.transactions.commit(self.other)
        others = ["plain 1", "other 1", "plain 2", "other 2", "plain 3", "other 3"]
        assert await values_of(self._broker, "t") == [*first, *others]
        found = await self._broker.records.fetch("t", 0, 0, isolation="read_uncommitted")
        outcomes = [read_marker(batch.data).commit for batch in found.batches if batch.is_control]
        assert outcomes == [commit, True], "each has one marker"


@ENDS
async def test_a_marker_that_fails_twice_moves_nothing_until_it_is_written(
    redis_url, prefix, monkeypatch, commit, first
):
    """TB-27: the stable offset and what is visible stay, whatever is appended between the tries of one commit."""
    async with one(redis_url, prefix, coordinators=1, end_overdue_ms=60_000, one_call_transactions=False) as broker:
        await broker.topics.create("t")
        txn = await begun(broker, "a")
        await broker.records.produce("t", records("behind"))
        between = Between(broker, await begun(broker))
        ends = broker.transactions._participants.end

        async def noted(decision):
            try:
                return await ends(decision)
            finally:
                if decision.txn == txn:
                    await between.look()

        monkeypatch.setattr(broker.transactions._participants, "end", noted)
        trouble = Trouble(broker.store)
        trouble.fails["txn/end"] = 2
        answer = await (broker.transactions.commit if commit else broker.transactions.abort)(txn)
        assert answer.status == ("committed" if commit else "aborted")
        assert trouble.failed == 2
        await between.check(commit, first)


@ENDS
async def test_a_call_that_decides_and_ends_and_fails_twice_is_reported_as_retriable(redis_url, prefix, commit, first):
    """TB-27: where one call decides and writes the marker, the client sends it again, and nothing has changed."""
    async with one(redis_url, prefix, coordinators=1, end_overdue_ms=60_000, one_call_transactions=True) as broker:
        await broker.topics.create("t")
        txn = await begun(broker, "a")
        await broker.records.produce("t", records("behind"))
        between = Between(broker, await begun(broker))
        trouble = Trouble(broker.store)
        trouble.fails["txn/apply_and_end"] = 2
        async with client_of(broker) as http:
            for _ in range(2):
                answer = await http.post(f"/v1/transactions/{txn}:{'commit' if commit else 'abort'}")
                assert (answer.status_code, answer.json()["retriable"]) == (503, True)
                await between.look()
            answer = await http.post(f"/v1/transactions/{txn}:{'commit' if commit else 'abort'}")
            assert answer.json()["status"] == ("committed" if commit else "aborted")
            await between.look()
        assert trouble.failed == 2
        await between.check(commit, first)


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


@ENDS
@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("together", [True, False], ids=["in one call", "in steps"])
async def test_a_kafka_client_repeats_an_end_whose_marker_fails_twice(
    redis_url, prefix, together, version, commit, first
):
    """TB-27: with the codes on which clients send EndTxn again, and one marker at the end."""
    async with (
        one(redis_url, prefix, coordinators=1, end_overdue_ms=60_000, one_call_transactions=together) as broker,
        listening(broker) as address,
        KafkaClient(address) as client,
    ):
        await broker.topics.create("t")
        producer = await Transactional(client, "pay", version).init()
        assert await producer.send("t", "a") == 0
        await broker.records.produce("t", records("behind"))
        trouble = Trouble(broker.store)
        trouble.fails["txn/apply_and_end" if together else "txn/end"] = 2
        codes = [await producer.end(commit)]
        while codes[-1]:
            assert await heads(broker) == (0, 0, 2, 1)
            codes.append(await producer.end(commit))
        assert trouble.failed == 2
        assert set(codes[:-1]) <= RETRIABLE
        assert await heads(broker) == (0, 3, 3, 0)
        assert await values_of(broker, "t") == first
