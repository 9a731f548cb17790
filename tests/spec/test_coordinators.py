"""Coordinators without owners: every broker serves every coordinator immediately, also while Redis loads its data."""

from __future__ import annotations

import asyncio
import time

import pytest

from redis_ledger.errors import (
    AlreadyAborted,
    AlreadyCommitted,
    CoordinatorNotFound,
    InvalidTxnStatus,
    StoreTimeout,
    StoreUnavailable,
    TransactionNotFound,
    TransactionTimedOut,
)
from redis_ledger.ids import TxnId
from redis_ledger.proto.txn_log_pb2 import TransactionLogOp as Op
from redis_ledger.txn import log as txn_log
from tests.support.broker import eventually, live_transactions, one, receive_values, records, status, two, values_of
from tests.support.busy_machine import busy_machine
from tests.support.loading_redis import fill, finish_loading, is_loading, restart_loading
from tests.support.proxy import proxy
from tests.support.redis_servers import redis_server
from tests.support.rest import client_of

# -- TC-01: many coordinators ------------------------------------------------------------------------------------------


async def test_a_running_broker_serves_the_coordinators_that_another_one_added(redis_url, prefix):
    """TC-01: 2 coordinators become 4 for all brokers, each counts its own serials, and 3 does not take one away."""
    async with one(redis_url, prefix, name="old", coordinators=2) as old:
        before = [(await old.transactions.begin()).id for _ in range(2)]
        assert [txn.coordinator for txn in before] == [0, 1]
        async with one(redis_url, prefix, name="more", coordinators=4) as more:

            async def known():
                return len(old.coordinators)

            assert await eventually(known, 4, 10) == 4
            begun = [(await old.transactions.begin()).id for _ in range(4)]
            assert sorted(txn.coordinator for txn in begun) == [0, 1, 2, 3]
            assert sorted(begun)[:2] > before
            for txn in begun:
                assert (await more.transactions.commit(txn)).status == "committed"
        async with one(redis_url, prefix, name="fewer", coordinators=3) as fewer:
            assert (await fewer.ready())["coordinators"] == len(fewer.coordinators) == 4
            while (txn := (await fewer.transactions.begin()).id).coordinator != 3:
                pass
            assert txn > max(begun)
            assert (await old.transactions.abort(txn)).status == "aborted"


# -- TC-05: new transactions are spread -------------------------------------------------------------------------------


@pytest.mark.parametrize("keyed", [False, True])
async def test_a_coordinator_whose_node_stands_still_gets_no_transaction_and_delays_none(cluster, prefix, keyed):
    """TC-05: eight begins, one after the other, within five seconds; then eight at once."""
    async with one(cluster.url, prefix, name="asks", coordinators=4) as broker:
        owners = [cluster.owner(broker.store.topology.slot(each.keys.state)) for each in broker.coordinators]
        stopped = owners[0]
        away = {number for number, owner in enumerate(owners) if owner is stopped}
        assert len(away) < 4, "all coordinators are at one node"
        await broker.maintenance.close()
        # When the node of some coordinators stands still
        assert stopped.ask("CLIENT", "PAUSE", 8_000, "ALL") == b"OK"

        async def begin(number):
            return (await broker.transactions.begin(nonce=f"{prefix}{number}" if keyed else "")).id

        async with busy_machine(broker) as machine:
            started_s = time.monotonic()
            begun = [await begin(number) for number in range(8)]
            begun += await asyncio.gather(*(begin(number) for number in range(8, 16)))
            ids = [TxnId.of_producer((await broker.producers.allocate())[0]) for _ in range(8)]
            took_s = time.monotonic() - started_s
        # Then the others begin all transactions, and allocate the ids of idempotent producers
        assert took_s < 5 + machine.lost_s
        assert {each.coordinator for each in begun + ids} <= {0, 1, 2, 3} - away
        assert len(set(begun)) == 16
        # And a begin that is repeated there is the same transaction
        if keyed:
            assert await begin(8) == begun[8]

        # When the node is back, then its coordinators have their turn again
        async def used():
            more = [(await broker.transactions.begin()).id for _ in range(8)]
            begun.extend(more)
            return {txn.coordinator for txn in more}

        assert await eventually(used, {0, 1, 2, 3}, 20) == {0, 1, 2, 3}
        # And what it began too late is aborted
        assert await eventually(lambda: live_transactions(broker), len(begun)) == len(begun)


# -- TC-02: one writer at a time ---------------------------------------------------------------------------------------


async def test_a_broker_that_slept_through_the_steps_of_another_writes_behind_them(redis, redis_url, prefix):
    """TC-02: the log has the steps of both in one order, and the late one cannot contradict what was decided."""
    async with proxy("127.0.0.1", redis.port) as relay:
        async with one(relay.url, prefix, name="sleeps", coordinators=1) as sleeps:
            await sleeps.maintenance.close()
            txn = (await sleeps.transactions.begin()).id
            # Given a broker whose begin and commit are on their way, and not in Redis yet
            relay.hold()
            late = asyncio.create_task(sleeps.transactions.begin())
            await asyncio.sleep(0)
            ending = asyncio.create_task(sleeps.transactions.commit(txn))
            # When another one begins, and aborts the transaction of the first, in the meantime
            async with one(redis_url, prefix, name="works", coordinators=1, end_overdue_ms=60_000) as works:
                others = [(await works.transactions.begin()).id.serial for _ in range(3)]
                assert others == sorted({txn.serial, *others})[1:]
                assert (await works.transactions.abort(txn)).status == "aborted"
                relay.release()
                # Then the first gets a serial behind those, and the answer that its transaction was aborted
                last = (await late).id.serial
                assert last > others[-1]
                with pytest.raises(AlreadyAborted):
                    await ending
                begins = [
                    placed.record.serial
                    async for placed in txn_log.read(works.store, works.coordinators.of(txn).keys)
                    if placed.record.op == Op.NEW and placed.record.serial != str(txn.serial)
                ]
                assert begins == [str(serial) for serial in (*others, last)]


# -- TC-10: three errors -----------------------------------------------------------------------------------------------


async def test_coordinator_transaction_and_status_are_refused_by_different_codes_over_rest(redis_url, prefix):
    """TC-10: the status distinguishes them, and a client needs no other information."""
    async with one(redis_url, prefix, end_overdue_ms=60_000) as broker, client_of(broker) as http:
        await broker.topics.create("t")
        ended = {}
        for name, commit in (("committing", True), ("aborting", False)):
            ended[name] = (await broker.transactions.begin()).id
            await broker.coordinators.decide(ended[name], commit=commit)
        expired = (await broker.transactions.begin(1)).id
        assert await eventually(lambda: status(broker, expired), "aborted") == "aborted"
        body = {"partitions": [{"topic": "t", "partition": 0}]}
        answers = {}
        for txn in ("0-999999", "77-0", *map(str, ended.values()), str(expired)):
            answer = await http.post(f"/v1/transactions/{txn}/partitions", json=body)
            answers[txn] = (answer.status_code, answer.json()["code"], answer.json()["retriable"])
        assert list(answers.values()) == [
            (404, "transaction_not_found", False),
            (404, "coordinator_not_found", False),
            (409, "already_committed", False),
            (409, "already_aborted", False),
            (409, "transaction_timed_out", False),
        ]
        assert {CoordinatorNotFound.kafka_code, TransactionNotFound.kafka_code} == {15, 105}
        for error in (AlreadyCommitted, AlreadyAborted, TransactionTimedOut):
            assert error.kafka_code == InvalidTxnStatus.kafka_code == 48
        for end in ("commit", "abort"):
            for txn, code in (("0-999999", "transaction_not_found"), ("77-0", "coordinator_not_found")):
                answer = await http.post(f"/v1/transactions/{txn}:{end}", json={})
                assert (answer.status_code, answer.json()["code"]) == (404, code)


# -- TC-11, TC-16: nothing is loaded -----------------------------------------------------------------------------------

LOADED_S = 120.0  # or until `finish_loading`


async def test_while_redis_loads_a_step_waits_or_fails_retriably_and_no_transaction_is_denied(prefix):
    """TC-11, AK-24: the broker that is asked has just started; its first steps are an acknowledgement and a commit."""
    with redis_server() as server:
        fill(server)
        async with one(server.url, prefix, name="before", redis_retry_ms=20_000, redis_timeout_ms=20_000) as before:
            await before.topics.create("t")
            await before.topics.create("in")
            await before.subscriptions.create("in", "s")
            await before.records.produce("in", records("a", "b"))
            first, second = await receive_values(before, "in", "s")
            txn = (await before.transactions.begin()).id
            await before.records.produce("t", records("out"), transaction=txn)
            async with (
                one(server.url, prefix, name="patient", redis_retry_ms=20_000, redis_timeout_ms=20_000) as patient,
                one(server.url, prefix, name="hasty", redis_retry_ms=100, redis_timeout_ms=100) as hasty,
            ):
                # When Redis is killed and loads its data
                restart_loading(server, LOADED_S)
                # Then one that cannot wait is refused retriably, and one that can gets its answers in order
                with pytest.raises((StoreTimeout, StoreUnavailable)) as refused:
                    await hasty.transactions.get(txn)
                assert refused.value.retriable
                assert is_loading(server), "Redis had loaded everything by then"
                acks = [patient.subscriptions.ack("in", "s", "c1", [id_], transaction=txn) for id_ in (first, second)]
                both = asyncio.gather(*acks)
                await asyncio.sleep(0.1)  # they wait
                assert not both.done()
                finish_loading(server)
                assert await both == [1, 1]
                assert (await patient.transactions.commit(txn)).status == "committed"
                assert await values_of(patient, "t") == ["out"]
                (cursor,) = (await patient.subscriptions.stats("in", "s")).cursors
                assert (cursor.mark_delete, cursor.pending) == (2, 0)


async def test_a_crowd_of_first_contacts_is_served_at_once_though_the_first_reply_is_lost(redis, redis_url, prefix):
    """TC-16: 50 commits and 50 begins are the first calls of a broker; these cost a few calls to Redis, not 100."""
    async with one(redis_url, prefix, coordinators=1) as other:
        await other.topics.create("t")
        txns = [(await other.transactions.begin()).id for _ in range(50)]
        for txn in txns:
            await other.records.produce("t", records(str(txn.serial)), transaction=txn)
        async with proxy("127.0.0.1", redis.port) as relay, one(relay.url, prefix, coordinators=1) as fresh:
            await fresh.maintenance.close()
            calls = fresh.coordinators.of(txns[0])._calls
            relay.cuts = 1
            answers = await asyncio.gather(
                *(fresh.transactions.commit(txn) for txn in txns), *(fresh.transactions.begin() for _ in range(50))
            )
            assert relay.connections > 1, "no reply was lost"
            assert [answer.status for answer in answers] == ["committed"] * 50 + ["open"] * 50
            assert len({answer.id for answer in answers}) == 100
            assert fresh.coordinators.of(txns[0])._calls - calls < 20
        assert await values_of(other, "t") == [str(txn.serial) for txn in txns]


async def test_brokers_that_begin_at_one_coordinator_at_once_share_no_serial(redis_url, prefix):
    """TC-02, TC-04"""
    async with two(redis_url, prefix, coordinators=1) as (first, second):
        begun = await asyncio.gather(*(broker.transactions.begin() for broker in (first, second) * 200))
        assert len({txn.id for txn in begun}) == 400
