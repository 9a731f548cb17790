"""`redis-ledger subscriptions`, and what `topics` shows of partitions, against a broker; both halves of the SDK ask the
same calls."""

from __future__ import annotations

import json
from functools import partial

import pytest

from redis_ledger import AsyncClient, Client
from redis_ledger.app.cli.subscriptions import parse_offsets
from redis_ledger.app.process.command_error import CommandError
from tests.support.cli import run
from tests.support.threaded_broker import threaded_broker


@pytest.fixture
def broker(redis_url, prefix):
    with threaded_broker(redis_url, prefix) as broker:
        yield broker


@pytest.fixture
def command(broker):
    """Runs a command that must succeed; returns its output, with --json decoded by line."""

    def call(*words):
        ended = run(*words, REDIS_LEDGER_URL=broker.urls[0])
        assert (ended.code, ended.err) == (0, ""), ended
        return [json.loads(line) for line in ended.out.splitlines()] if "--json" in words else ended.out

    return call


@pytest.fixture
def client(broker):
    with Client(broker.urls) as client:
        yield client


def filled(client, *values, partitions=1):
    client.topics.create("t", partitions)
    with client.producer("t") as producer:
        for value in values:
            producer.send(value, partition=0).result()


def test_a_subscription_is_created_listed_described_moved_and_deleted(command, client):
    """OB-29"""
    filled(client, "a", "b", "c")
    [made] = command("subscriptions", "create", "t", "s", "--kind", "exclusive", "--json")
    assert (made["name"], made["kind"], made["backlog"]) == ("s", "exclusive", 3)
    assert "s  exclusive  backlog 3  scheduled 0" in command("subscriptions", "create", "t", "s", "--kind", "exclusive")
    assert command("subscriptions", "list", "t", "--json") == [{"name": "s", "kind": "exclusive"}]
    assert "exclusive" in command("subscriptions", "list", "t")
    [moved] = command("subscriptions", "seek", "t", "s", "--to", "latest", "--json")
    assert moved["backlog"] == 0
    [moved] = command("subscriptions", "seek", "t", "s", "--offset", "0:1", "--json")
    assert moved["backlog"] == 2
    assert "backlog 3" in command("subscriptions", "seek", "t", "s", "--time", "2020-01-01T00:00:00Z")
    assert command("subscriptions", "describe", "t", "s").splitlines()[1].split()[:2] == ["partition", "mark-delete"]
    refused = run("subscriptions", "delete", "t", "s")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    assert command("subscriptions", "delete", "t", "s", "--yes") == "Deleted s.\n"
    assert command("subscriptions", "list", "t", "--json") == []


@pytest.mark.parametrize("words", [[], ["--to", "latest", "--offset", "0:1"], ["--offset", "one"]])
def test_a_seek_needs_exactly_one_position(words):
    ended = run("subscriptions", "seek", "t", "s", *words)
    assert (ended.code, ended.out) == (2, "")


def test_offsets_are_read_by_partition():
    assert parse_offsets(["0:1200", "3:0"]) == {0: 1_200, 3: 0}
    assert parse_offsets(None) is None
    with pytest.raises(CommandError, match="PARTITION:OFFSET"):
        parse_offsets(["0-5"])


def test_dead_letters_are_sent_away_and_put_back(command, client):
    """OB-29"""
    filled(client, "a")
    command("subscriptions", "create", "t", "s")
    [ruled] = command("subscriptions", "dead-letters", "t", "s", "--max-deliveries", "1", "--to", "dead", "--json")
    assert ruled["dead_letters"]["max_deliveries"] == 1
    assert "dead letters: after 1 delivery to dead" in command("subscriptions", "describe", "t", "s")
    command("subscriptions", "create", "dead", "back")
    assert command("subscriptions", "put-back", "dead", "back") == "Put back 0 dead letters.\n"
    only = ("--reason", "expired", "--origin", "t", "--since", "2020-01-01T00:00:00Z", "--until", "1")
    assert command("subscriptions", "put-back", "dead", "back", *only) == "Put back 0 dead letters.\n"
    rule = ("--max-deliveries", "9", "--to", "dead", "--retry-topic", "again", "--max-attempts", "4")
    shown = command("subscriptions", "dead-letters", "t", "s", *rule, "--expire-ms", "5000")
    assert "retries: 4 attempts in again\nexpiry: dead letters after 5000 ms" in shown
    [ruled] = command("subscriptions", "dead-letters", "t", "s", "--max-deliveries", "0", "--json")
    assert ruled["dead_letters"] is None


def test_a_back_off_is_set_shown_and_removed(command, client):
    """OB-29"""
    filled(client, "a")
    command("subscriptions", "create", "t", "s")
    [ruled] = command("subscriptions", "redelivery", "t", "s", "--min-ms", "500", "--json")
    assert ruled["redelivery"] == {"min_ms": 500, "factor": 2.0, "max_ms": 32_000}
    shown = command("subscriptions", "describe", "t", "s")
    assert "redelivery: after 500 ms, then 2 times as long, at most 32000 ms" in shown
    [ruled] = command("subscriptions", "redelivery", "t", "s", "--min-ms", "0", "--json")
    assert ruled["redelivery"] is None


def test_offsets_of_a_group_are_noted(command, client):
    """OB-29"""
    filled(client, "a", "b", "c")
    [noted] = command("subscriptions", "note-offsets", "t", "g", "--offset", "0:2", "--json")
    assert (noted["kind"], noted["backlog"]) == ("kafka", 1)


def test_what_a_transaction_holds_of_a_subscription_is_shown(command, client):
    """OB-05, OB-11, OB-13, OB-29: by the command line."""
    filled(client, "a", "b", "c", partitions=2)
    client.subscriptions.create("t", "s")
    with client.consumer("t", "s") as consumer:
        messages = consumer.receive(3)
        with client.transaction() as txn:
            txn.begin()
            txn.ack(consumer, messages[:2])
            shown = command("subscriptions", "pending", "t", "s")
            assert [str(txn.id), "2", "0-1", "-", "-"] == shown.splitlines()[3].replace("│", " ").split()[1:-1]
            [only] = command(
                "subscriptions", "pending", "t", "s", "--partition", "0", "--transaction", txn.id, "--json"
            )
            assert only["transactions"][0]["records"] == 2
            [found] = command("subscriptions", "record", "t", "s", "0:1", "--json")
            assert (found["state"], found["transaction"]) == ("pending_ack", str(txn.id))
        assert command("subscriptions", "record", "t", "s", "0:1").startswith("0:1: acknowledged (mark_delete)\n")
        assert "deliveries" in command("subscriptions", "record", "t", "s", "0:2")
    marks = command("subscriptions", "pending", "t", "s", "--low-watermarks")
    assert "low watermark" in marks


def test_a_backlog_is_analyzed_on_every_partition(command, client):
    """TB-30, OB-29: by the command line."""
    filled(client, "a", "b", partitions=2)
    client.subscriptions.create("t", "s")
    with client.transaction() as txn:
        txn.send("t", "c", partition=0)
        txn.send("t", "d", partition=1)
    rows = {
        line.split()[0]: line.split() for line in command("subscriptions", "analyze-backlog", "t", "s").splitlines()
    }
    assert rows["total"][1:7] == ["6", "4", "4", "0", "2", "0"]
    [part] = command("subscriptions", "analyze-backlog", "t", "s", "--partition", "0", "--max-entries", "1", "--json")
    assert (part["records"], part["complete"], part["next_offset"]) == (1, False, 1)
    refused = run("subscriptions", "analyze-backlog", "t", "s", "--from-offset", "1")
    assert (refused.code, "--partition" in refused.err) == (2, True)


def test_a_partition_s_transactions_are_shown(command, client):
    """OB-04, OB-09, OB-26, OB-29: by the command line."""
    filled(client, "a")
    client.subscriptions.create("t", "s")
    with client.transaction() as txn:
        txn.send("t", "b", partition=0).result()
        shown = command("topics", "transactions", "t", "0")
        assert f"held by transaction {txn.id}" in shown
        [found] = command("topics", "transactions", "t", "--low-watermarks", "--json")
        assert found["held_by"]["first_offset"] == 1
        assert command("topics", "transaction", "t", "0", txn.id) == f"{txn.id}: open  first offset 1\n"
    [found] = command("topics", "transaction", "t", "0", txn.id, "--json")
    assert (found["state"], found["aborted"]) == ("committed", False)
    [described] = command("topics", "describe", "t", "--subscriptions", "--json")
    assert [each["name"] for each in described["subscriptions"]] == ["s"]
    assert "unacknowledged" in command("topics", "describe", "t", "--subscriptions")
    assert "low watermark" in command("topics", "transactions", "t", "--low-watermarks")


def test_offsets_of_a_time_and_offloaded_records_are_shown(command, client):
    """OB-29"""
    filled(client, "a")
    assert command("topics", "offset-at", "t", "0", "2020-01-01T00:00:00Z").startswith("offset 0, of ")
    assert command("topics", "offset-at", "t", "0", "2999-01-01T00:00:00Z", "--uncommitted") == (
        "No record is as late; the end is at offset 1.\n"
    )
    assert command("topics", "offset-at", "t", "0", "5", "--json")[0]["offset"] == 0
    assert command("topics", "offloaded", "t").splitlines()[0].split()[0] == "partition"
    [found] = command("topics", "offloaded", "t", "--json")
    assert [each["partition"] for each in found["partitions"]] == [0]


async def test_the_asynchronous_sdk_asks_the_same(redis_url, prefix):
    """OB-04, OB-05, OB-09, OB-11, OB-13, OB-26: by the SDK."""
    with threaded_broker(redis_url, prefix) as broker:
        async with AsyncClient(broker.urls) as client:
            await client.topics.create("t")
            await client.subscriptions.create("t", "s")
            async with client.producer("t") as producer:
                await producer.send("a", partition=0)
            ask = partial(client.subscriptions.record_state, "t", "s")
            assert (await ask("0:0")).state == "not_delivered"
            async with client.consumer("t", "s") as consumer:
                messages = await consumer.receive(1)
                async with client.transaction() as txn:
                    await txn.begin()
                    assert txn.id is not None
                    await txn.ack(consumer, messages)
                    assert (await ask("0:0", batch_index=0)).transaction == str(txn.id)
                    held = await client.subscriptions.pending(
                        "t", "s", partition=0, transaction=txn.id, low_watermarks=True
                    )
                    assert held.partitions[0].transactions[0].ranges[0].first == 0
                    assert (await client.topics.transaction("t", 0, txn.id)).state == "not_written"
            assert (await client.subscriptions.analyze_backlog("t", "s", 0)).complete
            buffer = await client.topics.transactions("t", 0, low_watermarks=True)
            assert (buffer.held_by, buffer.end_offset) == (None, 1)
            described = await client.topics.describe("t", subscriptions=True)
            assert [(each.name, each.unacknowledged) for each in described.subscriptions] == [("s", 0)]
