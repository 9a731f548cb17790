"""Thresholds of batched writes: large records, changes at run time, the downgrade check, and what batching saves."""

from __future__ import annotations

import asyncio
import json
import math
import statistics
import time
from typing import Any

import pytest
import structlog
from typer.testing import CliRunner

from redis_ledger.app.cli.main import app
from redis_ledger.broker.transactions.batched_writes import DEGENERATE
from redis_ledger.cursor import scripts
from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import TxnId
from redis_ledger.txn import log as txn_log
from tests.support.broker import live_transactions, one, receive_values, records, two
from tests.support.busy_machine import busy_machine
from tests.support.rest import client_of
from tests.support.threaded_broker import threaded_broker

FOLLOWED_S_MAX = 1.0  # until all brokers write the new format (BW-18)
BENEFIT_MS = 2.0  # by which the median latency of a commit may grow with batching (BW-20)


async def entries(broker, after="-"):
    """The transaction log of coordinator 0: whether each entry is batched, and the serials of its records."""
    keys = broker.coordinators.of(TxnId(0, 0)).keys
    found = await broker.store.command("XRANGE", keys.log, after, "+", key=keys.state)
    return [
        (fields[1].startswith(txn_log.MAGIC), [record.serial for record in txn_log.decode(fields[1])])
        for _, fields in found
    ]


async def entries_added(broker):
    """How many entries all transaction logs ever had."""
    total = 0
    for coordinator in broker.coordinators:
        keys = coordinator.keys
        reply = await broker.store.command("XINFO", "STREAM", keys.log, key=keys.state)
        info = reply if isinstance(reply, dict) else dict(zip(reply[::2], reply[1::2], strict=True))
        total += int(info[b"entries-added"])
    return total


def run(*words):
    return CliRunner().invoke(app, list(words))


# -- large records, and a batch of one ---------------------------------------------------------------------------------


async def test_a_record_as_large_as_a_batch_goes_alone_and_bare_and_in_order(redis_url, prefix):
    """BW-03: small and large records in turn; each large one sends what waits, and has a bare entry of its own."""
    settings: dict[str, Any] = {"coordinators": 1, "transaction_log_batched_write_max_size": 1_024}
    async with one(redis_url, prefix, **settings) as broker:
        await broker.maintenance.close()
        owners = ["x" * 1_010 if number % 2 else "x" for number in range(100)]
        begun = await asyncio.gather(*(broker.coordinators.begin(60_000, owner) for owner in owners))
        serials = [str(txn.serial) for txn, _ in begun]
        assert await entries(broker) == [(number % 2 == 0, [serial]) for number, serial in enumerate(serials)]
        # Small ones still share an entry, up to the large one
        begun = await asyncio.gather(*(broker.coordinators.begin(60_000, owner) for owner in ["", "", "x" * 1_010, ""]))
        first, second, large, last = (str(txn.serial) for txn, _ in begun)
        assert (await entries(broker))[100:] == [(True, [first, second]), (False, [large]), (True, [last])]


async def test_a_batch_of_one_record_turns_batching_off_with_one_warning(redis_url, prefix):
    """BW-11"""
    with structlog.testing.capture_logs() as lines:
        settings: dict[str, Any] = {"coordinators": 1, "transaction_log_batched_write_max_records": 1}
        async with one(redis_url, prefix, **settings) as broker:
            await broker.maintenance.close()
            await asyncio.gather(*(broker.transactions.begin() for _ in range(10)))
            assert [is_batched for is_batched, _ in await entries(broker)] == [False] * 10
            await broker.batched_writes.all()
    warned = [line for line in lines if line["event"] == DEGENERATE]
    assert [(line["log_level"], line["log"]) for line in warned] == [("warning", "transaction_log")]


# -- changes at run time -----------------------------------------------------------------------------------------------


async def test_the_switch_under_load_changes_the_format_on_every_broker_and_loses_nothing(redis_url, prefix):
    """BW-18"""
    async with two(redis_url, prefix, coordinators=1) as pair, client_of(pair[0]) as rest:
        for broker in pair:
            await broker.maintenance.close()
        begun, is_over = [], asyncio.Event()

        async def load(broker):
            while not is_over.is_set():
                begun.extend(await asyncio.gather(*(broker.transactions.begin() for _ in range(5))))

        loads = [asyncio.create_task(load(broker)) for broker in pair]
        formats = []
        for enabled in (False, True, False):
            before = len(begun)
            while len(begun) < before + 50:
                await asyncio.sleep(0.001)  # some load before each change
            answer = await rest.put("/v1/batched-writes/transaction_log", json={"enabled": enabled})
            assert (answer.status_code, answer.json()["batched"]) == (200, enabled)
            assert answer.json()["coordinators"] == {"0": enabled}
            changed_s = time.monotonic()
            other = pair[1].coordinators.of(TxnId(0, 0))
            async with busy_machine(pair[1]) as machine:
                while other.batched.is_batched != enabled:
                    assert time.monotonic() - changed_s <= FOLLOWED_S_MAX + machine.lost_s
                    await asyncio.sleep(0.01)
            keys = other.keys
            # Calls of the old format that are under way end before the load's next round
            before = len(begun)
            while len(begun) < before + 20:
                await asyncio.sleep(0.001)
            ((last, _),) = await pair[0].store.command("XREVRANGE", keys.log, "+", "-", "COUNT", 1, key=keys.state)
            before = len(begun)
            while len(begun) < before + 50:
                await asyncio.sleep(0.001)
            formats.append({is_batched for is_batched, _ in await entries(pair[0], f"({last.decode()}")})
        is_over.set()
        await asyncio.gather(*loads)
        assert formats == [{False}, {True}, {False}]
        logged = [int(serial) for _, serials in await entries(pair[0]) for serial in serials]
        assert sorted(logged) == sorted(txn.id.serial for txn in begun)
        assert await live_transactions(pair[0]) == len(begun)


async def test_changed_thresholds_outlive_brokers_and_null_returns_to_the_setting(redis_url, prefix):
    """BW-18, BW-15"""
    settings: dict[str, Any] = {"coordinators": 1, "transaction_log_batched_write_max_delay_ms": 3}
    async with one(redis_url, prefix, **settings) as broker:
        await broker.batched_writes.change("transaction_log", {"max_records": 5, "max_delay_ms": 0})
    async with one(redis_url, prefix, **settings) as broker, client_of(broker) as rest:
        await broker.maintenance.close()
        await asyncio.gather(*(broker.transactions.begin() for _ in range(10)))
        assert [len(serials) for _, serials in await entries(broker)] == [5, 5]
        log, acks = (await rest.get("/v1/batched-writes")).json()["batched_writes"]
        assert (log["log"], log["max_records"], log["max_delay_ms"]) == ("transaction_log", 5, 0)
        assert (acks["log"], acks["max_records"], "coordinators" in acks) == ("pending_acks", 16, False)
        answer = await rest.put("/v1/batched-writes/transaction_log", json={"max_records": None, "max_delay_ms": None})
        assert (answer.json()["max_records"], answer.json()["max_delay_ms"]) == (64, 3)
        assert await broker.store.command("HLEN", broker.batched_writes._key, key=broker.batched_writes._key) == 0
        for log, body in (("the_log", {}), ("pending_acks", {"max_delay_ms": 1}), ("pending_acks", {"max_records": 0})):
            assert (await rest.put(f"/v1/batched-writes/{log}", json=body)).status_code == 400
        with pytest.raises(InvalidRequest, match="transaction_log and pending_acks"):
            await broker.batched_writes.change("log", {})


@pytest.mark.parametrize("enabled", [True, False])
async def test_pending_acks_share_a_write_of_the_cursor_only_when_batching_is_enabled(
    redis_url, prefix, monkeypatch, enabled
):
    """BW-01, BW-18: what stands for the log of pending acknowledgements."""
    shared = []
    many = scripts.pending_ack_many

    async def counted(*given, **more):
        shared.append(len(given[-1]))
        return await many(*given, **more)

    monkeypatch.setattr(scripts, "pending_ack_many", counted)
    async with one(redis_url, prefix) as broker:
        await broker.topics.create("t")
        await broker.subscriptions.create("t", "s")
        await broker.records.produce("t", records(*"abcdefgh"))
        ids = list(await receive_values(broker, "t", "s"))
        txns = [(await broker.transactions.begin()).id for _ in ids]
        await broker.subscriptions.ack("t", "s", "c1", ids[:1], transaction=txns[0])  # the subscription is known
        await broker.batched_writes.change("pending_acks", {"enabled": enabled})
        held = await asyncio.gather(
            *(
                broker.subscriptions.ack("t", "s", "c1", [id_], transaction=txn)
                for id_, txn in zip(ids[1:], txns[1:], strict=True)
            )
        )
        assert held == [1] * 7
        assert (sum(shared) > 0) is enabled
        await asyncio.gather(*(broker.transactions.commit(txn) for txn in txns))
        (cursor,) = (await broker.subscriptions.stats("t", "s")).cursors
        assert cursor.mark_delete == 8


def test_commands_and_sdk_show_and_change_the_thresholds(redis_url, prefix, monkeypatch):
    """BW-18"""
    monkeypatch.setenv("COLUMNS", "200")
    with threaded_broker(redis_url, prefix, 2, coordinators=2) as brokers:
        first, second = (("--url", url) for url in brokers.urls)
        changed = run("batching", "set", "transaction_log", "--disabled", "--max-records", "9", *first)
        assert changed.output == "transaction_log: not batched. All running brokers follow within a second.\n"
        log, acks = map(json.loads, run("batching", "list", "--json", *second).output.splitlines())
        assert (log["enabled"], log["max_records"], log["coordinators"]) == (False, 9, {"0": False, "1": False})
        assert (acks["log"], acks["batched"]) == ("pending_acks", True)
        shown = run("batching", "list", *second).output.splitlines()
        (row,) = (line for line in shown if "transaction_log" in line)
        assert row.replace("│", "").split() == ["transaction_log", "no", "9", "4194304", "1"]
        reset = json.loads(run("batching", "set", "transaction_log", "--reset", "--json", *first).output)
        assert (reset["batched"], reset["max_records"]) == (True, 64)
        for words in ((), ("--reset", "--enabled")):
            assert run("batching", "set", "pending_acks", *words, *first).exit_code == 2


# -- the way back ------------------------------------------------------------------------------------------------------


async def test_the_downgrade_check_says_safe_only_when_no_batched_entry_is_left(redis_url, prefix):
    """BW-23"""
    words = ("batching", "check", "--redis", redis_url, "--set", f"prefix={prefix}")

    async def check():
        ran = await asyncio.to_thread(run, *words, "--json")
        found = json.loads(ran.output)
        assert ran.exit_code == (0 if found["safe"] else 1)
        return found["safe"], found["batched"], sum(each["batched"] for each in found["coordinators"])

    async with one(redis_url, prefix, coordinators=1) as broker:
        assert await check() == (False, True, 0)  # the next call would write a batched entry
        batched = await asyncio.gather(*(broker.transactions.begin() for _ in range(3)))
        await broker.batched_writes.change("transaction_log", {"enabled": False})
        await broker.transactions.begin()
        assert await check() == (False, False, 1)
        assert "1 batched entry left" in (await asyncio.to_thread(run, *words)).output
        for txn in batched[:2]:
            await broker.transactions.commit(txn.id)
        assert await check() == (False, False, 1)
        await broker.transactions.commit(batched[2].id)
        assert await check() == (True, False, 0)  # the bare entry of an open transaction is still there
        assert [is_batched for is_batched, _ in await entries(broker)] == [False]
        assert (await asyncio.to_thread(run, *words)).output.startswith("Safe: ")


# -- what it is for ----------------------------------------------------------------------------------------------------


async def test_batching_writes_a_fifth_of_the_entries_and_commits_no_slower(redis_url, prefix):
    """BW-20: 200 transactions at once, each with a begin, two partitions and a commit."""
    slower_ms = math.inf
    for attempt in range(5):  # a machine that is busy for a moment slows one of the two
        written, latency_ms = await entries_and_latencies(redis_url, f"{prefix}:{attempt}")
        assert written[False] >= 600
        assert written[True] <= written[False] / 5
        slower_ms = min(slower_ms, latency_ms[True] - latency_ms[False])
        if slower_ms <= BENEFIT_MS:
            break
    assert slower_ms <= BENEFIT_MS


async def entries_and_latencies(redis_url: str, prefix: str) -> tuple[dict[bool, int], dict[bool, float]]:
    """Entries of the log, and the median latency of a commit in ms, without batching and with it."""
    written, latency_ms = dict[bool, int](), dict[bool, float]()
    for enabled in (False, True):
        name = f"{prefix}:{enabled}"
        async with one(redis_url, name, transaction_log_batched_write_enabled=enabled) as broker:
            await broker.maintenance.close()
            await broker.topics.create("t", 2)
            took_ms: list[float] = []

            async def transact(broker=broker, took_ms=took_ms):
                txn = (await broker.transactions.begin()).id
                for partition in range(2):
                    await broker.transactions.add_partitions(txn, [("t", partition)])
                began_s = time.perf_counter()
                await broker.transactions.commit(txn)
                took_ms.append((time.perf_counter() - began_s) * 1_000)

            await asyncio.gather(*(transact() for _ in range(200)))
            written[enabled], latency_ms[enabled] = await entries_added(broker), statistics.median(took_ms)
    return written, latency_ms
