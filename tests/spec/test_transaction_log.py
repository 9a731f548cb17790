"""The transaction log: its records, and failures to write, clean or read it."""

from __future__ import annotations

import asyncio
import random
import re
import time
from typing import Any

import pytest
from redis import Redis

from redis_ledger.clock import ManualClock
from redis_ledger.errors import (
    LedgerError,
    StoreUnavailable,
    TooFewReplicas,
    TransactionNotFound,
    TransactionTimedOut,
)
from redis_ledger.ids import TxnId
from redis_ledger.proto.txn_log_pb2 import TransactionLogOp as Op
from redis_ledger.proto.txn_log_pb2 import TransactionLogStatus as Status
from redis_ledger.telemetry import transaction_metrics
from redis_ledger.txn import log as txn_log
from redis_ledger.txn.coordinator import Decision, Participant
from tests.support.broker import (
    begun,
    eventually,
    live_transactions,
    one,
    outstanding,
    receive_values,
    records,
    status,
    values_of,
    vanish,
)
from tests.support.busy_machine import busy_machine
from tests.support.ledger_scripts import TxnCoordinator
from tests.support.proxy import proxy
from tests.support.redis_servers import redis_server


async def logged(broker, txn):
    """The living records of its coordinator."""
    return [placed.record async for placed in txn_log.read(broker.store, broker.coordinators.of(txn).keys)]


async def log_length(broker):
    lengths = [await broker.store.command("XLEN", c.keys.log, key=c.keys.state) for c in broker.coordinators]
    return sum(lengths)


async def test_a_step_on_a_transaction_that_is_not_there_writes_no_record(redis_url, prefix):
    """TS-14: so no record of the log is without its beginning, and none is left when the beginning goes."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        unknown, participant = TxnId(0, 99), Participant("t", (await broker.catalog.get("t")).id, 0)
        for step in (
            lambda: broker.coordinators.add(unknown, [participant]),
            lambda: broker.coordinators.decide(unknown, commit=True),
            lambda: broker.coordinators.decide(unknown, commit=False),
        ):
            with pytest.raises(TransactionNotFound):
                await step()
        await broker.coordinators.done(unknown, lazy=False)
        assert await broker.coordinators.expire(unknown) is None
        assert await log_length(broker) == 0
        # And the records of one that ends go together
        txn = (await broker.transactions.begin()).id
        await broker.records.produce("t", records("a"), transaction=txn)
        assert {record.op for record in await logged(broker, txn)} == {Op.NEW, Op.ADD_PARTITION}
        await broker.transactions.commit(txn)
        assert await eventually(lambda: log_length(broker), 0) == 0


async def test_a_replay_gives_the_outcomes_that_callers_got_of_1_000_commits_that_raced_their_deadlines(
    redis_url, prefix
):
    """TS-03, TS-21: the loser of a race is refused and leaves no record, also for a broker that starts afterwards."""
    clock = ManualClock()
    settings: dict[str, Any] = {"coordinators": 2, "end_overdue_ms": 60_000, "clock": clock}
    async with one(redis_url, prefix, **settings) as first, one(redis_url, prefix, **settings) as second:
        for broker in (first, second):
            await broker.maintenance.close()
        txns = [txn.id for txn in await asyncio.gather(*(first.transactions.begin(10) for _ in range(1_000)))]
        clock.advance(10)
        # When one broker commits all of them and the other expires all of them, in an order of its own
        commits = [first.coordinators.decide(txn, commit=True) for txn in txns]
        expiries = [second.coordinators.expire(txn) for txn in random.Random(3).sample(txns, len(txns))]
        replies = await asyncio.gather(*commits, *expiries, return_exceptions=True)
        told = {
            txn: TransactionTimedOut if isinstance(reply, BaseException) else "committed"
            for txn, reply in zip(txns, replies[:1_000], strict=True)
        }
        assert {type(reply) for reply in replies[:1_000]} == {Decision, TransactionTimedOut}
        assert {type(reply) for reply in replies[1_000:]} == {Decision, type(None)}
        won = {reply.txn for reply in replies[1_000:] if isinstance(reply, Decision)}
        assert won == {txn for txn, outcome in told.items() if outcome != "committed"}
        # Then a replay has one decision of each, which is the one that its caller got
        replayed: dict[TxnId, list[int]] = {}
        for coordinator in first.coordinators:
            async for placed in txn_log.read(first.store, coordinator.keys):
                record = placed.record
                replayed.setdefault(TxnId(coordinator.number, int(record.serial)), []).append(record.new_status)
        last = {"committed": Status.COMMITTING, TransactionTimedOut: Status.ABORTING}
        assert replayed == {txn: [Status.OPEN, last[outcome]] for txn, outcome in told.items()}
        await vanish(first)
        await vanish(second)
    # And a broker that starts afterwards completes them so
    clock.advance(60_000)
    async with one(redis_url, prefix, **settings) as after:
        assert await eventually(lambda: live_transactions(after), 0) == 0
        shown = {txn: await after.transactions.get(txn) for txn in txns}
        final = {"committed": ("committed", False), TransactionTimedOut: ("aborted", True)}
        assert {txn: (each.status, each.timed_out) for txn, each in shown.items()} == {
            txn: final[outcome] for txn, outcome in told.items()
        }
        assert await log_length(after) == 0


@pytest.mark.parametrize("finished", [20_000, pytest.param(200_000, marks=pytest.mark.full)])
async def test_a_start_after_many_transactions_reads_no_more_than_those_that_live(redis, prefix, finished):
    """TS-20: ten, and one that is older than all the others."""
    clock, at_once = ManualClock(), 500
    settings: dict[str, Any] = {"coordinators": 1, "clock": clock}
    client = Redis.from_url(redis.url)
    async with one(redis.url, prefix, **settings) as broker:
        await broker.topics.create("t")
        oldest = await begun(broker, "oldest", timeout_ms=900_000)
        script = TxnCoordinator(client, prefix)
        script.now = clock.now_ms()
        for first in range(oldest.serial + 1, oldest.serial + finished, at_once):
            serials = range(first, first + at_once)
            script.apply(*["begin 60000 - - t/t-1/0"] * at_once, *[f"end {n} {'AC'[n % 2]}" for n in serials])
            script.apply(*[f"complete {n}" for n in serials])
        live = [await begun(broker, str(n)) for n in range(10)]
        assert {txn.serial for txn in live} == set(range(oldest.serial + finished + 1, oldest.serial + finished + 11))
        await vanish(broker)
    client.close()
    # Then the log has the begin and the partition of each of the eleven
    sent_before, began_s = sent_bytes(redis), time.monotonic()
    async with busy_machine() as machine, one(redis.url, prefix, **settings) as after:
        shown = await after.transactions.list("open")
        assert time.monotonic() - began_s < 2 + machine.lost_s
        assert sent_bytes(redis) - sent_before < 100_000
        assert [txn.id for txn in shown] == [oldest, *live]
        assert len(await logged(after, oldest)) == 22
        assert await log_length(after) <= 22
        # And all of them go on
        await asyncio.gather(*(after.transactions.commit(txn.id) for txn in shown))
        assert sorted(await values_of(after, "t")) == [*"0123456789", "oldest"]
        assert await eventually(lambda: log_length(after), 0) == 0


def sent_bytes(server):
    """What the server has sent to its clients since it started."""
    (sent,) = re.findall(rb"total_net_output_bytes:(\d+)", server.ask("INFO", "stats"))
    return int(sent)


@pytest.mark.parametrize("damage", ["deleted", "unreadable"])
async def test_a_log_that_cannot_be_read_stops_no_transaction(redis_url, prefix, damage):
    """TS-15: serving reads the state and never the log; reading an unknown version is an error, and ends at once."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        await broker.topics.create("t")
        txns = [(await broker.transactions.begin()).id for _ in range(4)]
        for txn in txns[:2]:
            await broker.records.produce("t", records("before"), transaction=txn)
        keys = broker.coordinators.of(txns[0]).keys
        if damage == "deleted":
            await broker.store.command("XTRIM", keys.log, "MAXLEN", 0, key=keys.state)
        else:
            ((last, _),) = await broker.store.command("XREVRANGE", keys.log, "+", "-", "COUNT", 1, key=keys.state)
            newer = txn_log.MAGIC + b"\x00\x07"
            await broker.store.command("XADD", keys.log, last[:-1] + b"2", "r", newer, key=keys.state)
            with pytest.raises(txn_log.UnsupportedVersion):
                await logged(broker, txns[0])
        await vanish(broker)
        async with one(redis_url, prefix, coordinators=1) as after:
            for txn in txns:
                assert await status(after, txn) == "open"
                await after.records.produce("t", records("after"), transaction=txn)
            assert [(await after.transactions.commit(txn)).status for txn in txns[:3]] == ["committed"] * 3
            assert (await after.transactions.abort(txns[3])).status == "aborted"
            assert await eventually(lambda: live_transactions(after), 0) == 0
            assert sorted(await values_of(after, "t")) == ["after"] * 3 + ["before"] * 2


async def test_the_log_of_a_broker_shows_each_kind_of_step_with_its_fields(redis_url, prefix):
    """TS-16: begin, partition, subscription, decision by a client and decision by the deadline."""
    async with one(redis_url, prefix, coordinators=1, end_overdue_ms=60_000) as broker:
        await broker.maintenance.close()
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s/u")
        await broker.records.produce("t", records("in"))
        (id_,) = await receive_values(broker, "t", "s/u")
        begun = await broker.transactions.begin(5_000, owner="al ice")
        await broker.records.produce("t", records("out"), transaction=begun.id)
        await broker.subscriptions.ack("t", "s/u", "c1", [id_], transaction=begun.id)
        expired = (await broker.transactions.begin(1)).id
        await asyncio.sleep(0.01)  # its deadline passes
        assert await broker.coordinators.expire(expired) is not None
        await broker.coordinators.decide(begun.id, commit=True)
        found = await logged(broker, begun.id)
    topic_id, first, second = found[1].participants[0].split("/")[1], str(begun.id.serial), str(expired.serial)
    shown = [
        (r.op, r.serial, r.expected_status, r.new_status, list(r.participants), r.timeout_ms, r.owner, r.max_serial)
        for r in found
    ]
    first, second = str(begun.id.serial), str(expired.serial)
    assert shown == [
        (Op.NEW, first, 0, Status.OPEN, [], 5_000, "al%20ice", first),
        (Op.ADD_PARTITION, first, 0, 0, [f"t/{topic_id}/0"], 0, "", first),
        (Op.ADD_SUBSCRIPTION, first, 0, 0, [f"t/{topic_id}/0/s%2Fu"], 0, "", first),
        (Op.NEW, second, 0, Status.OPEN, [], 1, "", second),
        (Op.UPDATE, second, Status.OPEN, Status.ABORTING, [], 0, "", second),
        (Op.UPDATE, first, Status.OPEN, Status.COMMITTING, [], 0, "", second),
    ]
    assert all(0 <= record.time_ms - begun.started_ms < 60_000 for record in found)
    assert 0 <= found[0].started_ms - begun.started_ms < 60_000


async def test_begins_of_a_call_that_redis_refuses_fail_and_the_next_ones_work(prefix):
    """TS-17, BW-12: five begins of one call fail, none of them is there, and five more succeed without a restart."""
    with redis_server() as server:
        async with one(server.url, prefix, coordinators=1) as broker:
            await broker.maintenance.close()
            calls = broker.coordinators.of(TxnId(0, 0))._calls
            assert server.ask("CONFIG", "SET", "min-replicas-to-write", "1") == b"OK"
            answers = await asyncio.gather(*(broker.transactions.begin() for _ in range(5)), return_exceptions=True)
            assert [type(answer) for answer in answers] == [TooFewReplicas] * 5
            assert broker.coordinators.of(TxnId(0, 0))._calls == calls + 1, "the five did not share a call"
            assert await live_transactions(broker) == 0
            assert server.ask("CONFIG", "SET", "min-replicas-to-write", "0") == b"OK"
            begun = await asyncio.gather(*(broker.transactions.begin() for _ in range(5)))
            serials = [txn.id.serial for txn in begun]
            assert serials == sorted(set(serials))
        async with one(server.url, prefix, coordinators=1) as after:
            assert [txn.id for txn in await after.transactions.list()] == [txn.id for txn in begun]
            assert [record.serial for record in await logged(after, TxnId(0, 0))] == [str(serial) for serial in serials]


async def test_a_store_that_closes_during_begins_answers_each_once_and_keeps_what_it_confirmed(redis_url, prefix):
    """TS-18, BW-13: 512 begins, closed when the first are answered; what was confirmed is there afterwards."""
    async with one(redis_url, prefix, coordinators=1) as broker:
        begins = [asyncio.create_task(broker.transactions.begin()) for _ in range(512)]
        await asyncio.wait(begins, return_when=asyncio.FIRST_COMPLETED)
        await broker.store.close()
        answers = await asyncio.gather(*begins, return_exceptions=True)
        late = await asyncio.gather(broker.transactions.begin(), return_exceptions=True)
    confirmed = [answer.id for answer in answers if not isinstance(answer, BaseException)]
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert confirmed
    assert refused, "all begins were answered before the store closed"
    assert len(confirmed) + len(refused) == 512
    assert all(isinstance(answer, LedgerError) for answer in refused)
    assert isinstance(late[0], StoreUnavailable)
    confirmed_first = [not isinstance(answer, BaseException) for answer in answers]
    assert confirmed_first == sorted(confirmed_first, reverse=True), "a begin was confirmed after one that was refused"
    async with one(redis_url, prefix, coordinators=1) as after:
        there = {txn.id for txn in await after.transactions.list(limit=1_000)}
        assert set(confirmed) <= there


async def test_a_completion_that_is_lost_fails_no_commit_and_the_sweep_cleans_the_log(redis_url, prefix, monkeypatch):
    """TS-19"""
    async with one(redis_url, prefix, coordinators=1, one_call_transactions=False) as broker:
        await broker.topics.create("t")
        done, lost = broker.coordinators.done, list[TxnId]()

        def lose_first(txn, ends, **more):
            if not lost:
                lost.append(txn)
                failed = asyncio.get_running_loop().create_future()
                failed.set_exception(StoreUnavailable())
                failed.exception()
                return failed
            return done(txn, ends, **more)

        monkeypatch.setattr(broker.coordinators, "done", lose_first)
        txn = (await broker.transactions.begin()).id
        await broker.records.produce("t", records("a"), transaction=txn)
        assert (await broker.transactions.commit(txn)).status == "committed"
        assert lost == [txn]
        assert await values_of(broker, "t") == ["a"]
        assert await eventually(lambda: status(broker, txn), "committed") == "committed"
        assert await eventually(lambda: log_length(broker), 0) == 0
        assert await values_of(broker, "t", isolation="read_uncommitted") == ["a", "[marker]"]


@pytest.mark.parametrize("count", [2_000, pytest.param(5_000, marks=pytest.mark.full)])
@pytest.mark.parametrize(("script_name", "number_at", "most"), [("txn/end", 3, 16), ("txn/apply_and_end", 13, 32)])
async def test_ends_over_a_link_that_breaks_three_times_are_bounded_and_all_come_through(
    redis, prefix, monkeypatch, script_name, number_at, most, count
):
    """TS-25: thousands of ends at once on 20 partitions; calls are bounded, and nothing stays under way.

    number_at: the place of the number of ends in the arguments of the script
    """
    settings = {"coordinators": 2, "end_overdue_ms": 30_000, "one_call_transactions": script_name != "txn/end"}
    async with proxy("127.0.0.1", redis.port) as relay:
        async with one(relay.url, prefix, **settings) as broker:
            await broker.topics.create("t", 20)
            txns = [txn.id for txn in await asyncio.gather(*(broker.transactions.begin() for _ in range(count)))]
            produces = [
                broker.records.produce("t", records(str(n)), partition=n % 20, transaction=txn)
                for n, txn in enumerate(txns)
            ]
            await asyncio.gather(*produces)
            call, sizes = broker.store.call, list[int]()

            def counted(script, keys, args, *, retry=True):
                if script.name == script_name:
                    sizes.append(int(args[number_at]))
                return call(script, keys, args, retry=retry)

            monkeypatch.setattr(broker.store, "call", counted)
            ends = [asyncio.create_task(broker.transactions.commit(txn)) for txn in txns]
            pending = transaction_metrics.committed
            for percent in (2, 34, 66):
                while sum(sizes) < count * percent // 100:
                    await asyncio.sleep(0)
                assert script_name != "txn/end" or pending.pending > 0
                relay.cut()
            async with asyncio.timeout(30):
                answers = await asyncio.gather(*ends)
            assert {answer.status for answer in answers} == {"committed"}
            assert relay.connections > 3
            assert max(sizes) <= most
            assert pending.pending == 0
            assert all(ends.group.is_idle for ends in broker.transactions._participants._partitions.values())
            assert await eventually(lambda: live_transactions(broker), 0) == 0
            assert await outstanding(broker, "t") == 0
            found = [value for n in range(20) for value in await values_of(broker, "t", n)]
            assert sorted(map(int, found)) == list(range(count))
