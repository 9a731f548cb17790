"""Snapshots of subscriptions: what is acknowledged, as a document, and the seek that returns to it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from redis_ledger import AsyncClient, Client, Snapshot
from redis_ledger.broker.subscriptions import cursor_snapshots
from redis_ledger.errors import SnapshotTooLarge
from redis_ledger.fsck.service import Fsck
from redis_ledger.ids import MessageId
from redis_ledger.ledger.settings import BUFFERS, TXN_BUFFER
from tests.support.broker import records, two
from tests.support.busy_machine import wait_for
from tests.support.cli import run
from tests.support.rest import client_of
from tests.support.threaded_broker import threaded_broker

KINDS = ["exclusive", "failover", "shared", "key_shared"]
VALUES = "abcdefgh"
ONE, SEEK = "/v1/topics/t/snapshot/s", "/v1/topics/t/subscriptions/s:seek"


@pytest.fixture
async def brokers(redis_url, prefix):
    async with two(redis_url, prefix) as both:
        yield both


async def topic(broker, kind="shared", buffer="marker", partitions=2):
    """Two transactions and an aborted one between them, on partition 0; a subscription."""
    await broker.topics.create("t", partitions, settings={TXN_BUFFER: BUFFERS[buffer]})
    await broker.subscriptions.create("t", "s", kind)
    for values in (VALUES[:4], "xy", VALUES[4:]):
        txn = (await broker.transactions.begin()).id
        for value in values:
            await broker.records.produce("t", records(value, key=value, partition=0), transaction=txn)
        await (broker.transactions.abort if values == "xy" else broker.transactions.commit)(txn)


async def take(broker, acked="", consumer="c1"):
    """Receives everything, and acknowledges some; returns the values in order."""
    found: list[Any] = []
    while some := await broker.subscriptions.receive("t", "s", consumer, after=[each.id for each in found[-1:]]):
        found += some
    await broker.subscriptions.ack("t", "s", consumer, [each.id for each in found if each.value.decode() in acked])
    return "".join(each.value.decode() for each in sorted(found, key=lambda each: each.id))


async def states(broker, cursors):
    """Of each offset of partition 0, up to the end of the cursor."""
    return [(await broker.inspection.record("t", "s", MessageId(0, o))).state.state for o in range(cursors[0].end)]


async def document(broker, path=ONE):
    async with client_of(broker) as http:
        answer = await http.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def seek(broker, snapshot, path=SEEK):
    async with client_of(broker) as http:
        answer = await http.post(path, json={"snapshot": snapshot})
    return answer.status_code, answer.json()


@pytest.mark.parametrize("buffer", ["marker", "sidecar"])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_seek_returns_to_exactly_what_was_acknowledged(brokers, kind, buffer):
    # Given some acknowledged messages, some leased, one acknowledged in an open transaction
    other, broker = brokers
    await topic(broker, kind, buffer)
    assert await take(broker, "abdg") == VALUES
    held = (await broker.transactions.begin()).id
    before = (await broker.subscriptions.stats("t", "s")).cursors
    first = (await states(broker, before)).index("delivered")
    await broker.subscriptions.ack("t", "s", "c1", [MessageId(0, first)], transaction=held)
    # When a snapshot is taken, all is acknowledged, and another broker seeks to the snapshot
    kept = await document(broker)
    await broker.transactions.commit(held)
    await broker.subscriptions.seek("t", "s", to="latest")
    status, found = await seek(other, kept)
    # Then the position and the backlog are as before, and the snapshot is the same
    assert status == 200, found
    assert (found["backlog"], found["leased"], found["pending"]) == (4, 0, 0)
    assert [c["mark_delete"] for c in found["cursors"]] == [c.mark_delete for c in before]
    assert [c["acked_ahead"] for c in found["cursors"]] == [c.acked_ahead for c in before]
    assert (await document(other))["partitions"] == kept["partitions"]
    lag = await broker.cursors.lag("t", "s")
    assert [p.records for p in lag.partitions] == [4, 0]
    # And the views agree: one record by record, the other by kind
    shown = await states(broker, before)
    assert shown.count("not_delivered") == 4
    counts = (await broker.inspection.analyze_backlog("t", "s", 0)).counts
    assert (counts.records, counts.acknowledged) == (4, shown[before[0].mark_delete :].count("acknowledged"))
    # And exactly the rest is delivered, then what is new
    assert await take(broker, VALUES) == "cefh"
    await broker.records.produce("t", records("i", partition=0))
    assert await take(broker, "i") == "i"
    assert (await broker.subscriptions.stats("t", "s")).cursors[0].backlog == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_a_snapshot_of_a_restored_subscription_is_the_same(brokers, kind):
    _, broker = brokers
    await topic(broker, kind)
    await take(broker, "acg")
    kept = await document(broker)
    await seek(broker, kept)
    assert len(await broker.subscriptions.receive("t", "s", "c1", max_records=2)) == 2
    assert (await document(broker))["partitions"] == kept["partitions"]


@pytest.mark.parametrize("kind", KINDS)
async def test_fsck_finds_nothing_wrong_with_a_restored_cursor(brokers, kind):
    _, broker = brokers
    await topic(broker, kind)
    await take(broker, "acg")
    await seek(broker, await document(broker))
    for most in (2, 100):
        report = await Fsck(broker.store, broker.config, broker.clock).run("t")
        assert list(report.left) == []
        await broker.subscriptions.receive("t", "s", "c1", max_records=most)


async def test_a_poll_that_waits_gets_what_a_seek_brings_back(brokers):
    other, broker = brokers
    await topic(broker)
    kept = await document(broker)
    await take(broker, VALUES)
    poll = asyncio.create_task(broker.subscriptions.receive("t", "s", "c1", wait_ms=10_000))
    await asyncio.sleep(0.05)  # until it waits
    assert (await seek(other, kept))[0] == 200
    assert [each.value.decode() for each in await wait_for(poll, 5)] == list(VALUES)


async def test_open_transactions_lose_what_they_hold(brokers):
    """AK-30"""
    _, broker = brokers
    await topic(broker)
    kept = await document(broker)
    txn = (await broker.transactions.begin()).id
    found = await broker.subscriptions.receive("t", "s", "c1")
    await broker.subscriptions.ack("t", "s", "c1", [each.id for each in found], transaction=txn)
    await seek(broker, kept)
    await broker.transactions.commit(txn)
    assert await take(broker) == VALUES


async def test_another_subscription_of_the_kind_takes_a_snapshot(brokers):
    _, broker = brokers
    await topic(broker)
    await take(broker, "ac")
    kept = await document(broker)
    await broker.subscriptions.create("t", "copy", "shared")
    status, found = await seek(broker, kept, "/v1/topics/t/subscriptions/copy:seek")
    assert (status, found["backlog"]) == (200, 6)


async def test_partitions_that_were_added_begin_at_their_first_record(brokers):
    _, broker = brokers
    await topic(broker)
    kept = await document(broker)
    await broker.topics.grow("t", 3)
    await broker.records.produce("t", records("new", partition=2))
    await broker.subscriptions.seek("t", "s", to="latest")
    status, found = await seek(broker, kept)
    assert (status, [c["backlog"] for c in found["cursors"]]) == (200, [8, 0, 1])


async def test_what_retention_has_removed_is_passed(brokers):
    _, broker = brokers
    await topic(broker)
    await take(broker, "bc")
    kept = await document(broker)
    end = (await broker.subscriptions.stats("t", "s")).cursors[0].end
    await broker.topics.delete_records("t", 0, end)
    status, found = await seek(broker, kept)
    assert (status, found["cursors"][0]["mark_delete"], found["backlog"]) == (200, end, 0)
    assert await take(broker) == ""


# -- wrong input -------------------------------------------------------------------------------------------------------


def changed(kept, **members):
    return {**kept, **members}


def with_acks(kept, text, mark=0):
    first = {"partition": 0, "mark_delete": mark, "acknowledged": text}
    return changed(kept, partitions=[first, *kept["partitions"][1:]])


WRONG = {
    "no base64": (lambda kept: with_acks(kept, "§"), 400, "invalid_request"),
    "half a stretch": (lambda kept: with_acks(kept, "AQ=="), 400, "invalid_request"),
    "an empty stretch": (lambda kept: with_acks(kept, "AQA="), 400, "invalid_request"),
    "no end": (lambda kept: with_acks(kept, "AYE="), 400, "invalid_request"),
    "a length of 70 bits": (lambda kept: with_acks(kept, "gICAgICAgICAgAE="), 400, "invalid_request"),
    "no text": (lambda kept: with_acks(kept, 7), 400, "invalid_request"),
    "beyond the end": (lambda kept: with_acks(kept, "AX8="), 416, "offset_out_of_range"),
    "a mark beyond the end": (lambda kept: with_acks(kept, "", 1_000), 416, "offset_out_of_range"),
    "a negative mark": (lambda kept: with_acks(kept, "", -1), 400, "invalid_request"),
    "as many offsets as there are": (lambda kept: with_acks(kept, "AP////////8P"), 413, "request_too_large"),
    "text without end": (lambda kept: with_acks(kept, "AQEB" * (1 << 19)), 400, "invalid_request"),
    "too many ranges": (lambda kept: with_acks(kept, "AQEB" * 40_000), 413, "request_too_large"),
    "another version": (lambda kept: changed(kept, version=2), 400, "invalid_request"),
    "another topic": (lambda kept: changed(kept, topic="u", topic_id="1"), 409, "snapshot_mismatch"),
    "another topic's name": (lambda kept: changed(kept, topic="u"), 409, "snapshot_mismatch"),
    "the topic of before": (lambda kept: changed(kept, topic_id="1"), 409, "snapshot_mismatch"),
    "another kind": (lambda kept: changed(kept, kind="exclusive"), 409, "snapshot_mismatch"),
    "a Kafka group": (lambda kept: changed(kept, kind="kafka"), 400, "invalid_request"),
    "no partitions": (lambda kept: changed(kept, partitions=[]), 400, "invalid_request"),
    "a missing partition": (lambda kept: changed(kept, partitions=kept["partitions"][1:]), 400, "invalid_request"),
    "a partition twice": (lambda kept: changed(kept, partitions=kept["partitions"][:1] * 2), 400, "invalid_request"),
    "too many partitions": (
        lambda kept: changed(kept, partitions=[{"partition": n, "mark_delete": 0} for n in range(3)]),
        404, "unknown_partition",
    ),
    "nothing": (lambda kept: {}, 400, "invalid_request"),
    "a text": (lambda kept: "billing", 400, "invalid_request"),
    "an unknown member": (lambda kept: changed(kept, more=1), 400, "invalid_request"),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG)
async def test_a_wrong_snapshot_is_refused_and_changes_nothing(brokers, wrong):
    _, broker = brokers
    await topic(broker)
    await take(broker, "ac")
    kept = await document(broker)
    change, status, code = WRONG[wrong]
    found = await seek(broker, change(kept))
    assert (found[0], found[1]["code"]) == (status, code), found
    assert await document(broker) | {"taken_ms": 0} == kept | {"taken_ms": 0}
    assert (await broker.subscriptions.stats("t", "s")).cursors[0].leased == 6


async def test_a_topic_that_was_made_again_refuses_the_snapshot(brokers):
    _, broker = brokers
    await topic(broker)
    kept = await document(broker)
    await broker.topics.delete("t")
    await topic(broker)
    status, found = await seek(broker, kept)
    assert (status, found["code"]) == (409, "snapshot_mismatch")
    assert "deleted and created again" in found["detail"]


async def test_a_kafka_group_has_no_snapshot(brokers):
    _, broker = brokers
    await topic(broker)
    kept = await document(broker)
    await broker.external_offsets.note("g", "t", {0: 1})
    async with client_of(broker) as http:
        found = [
            await http.get("/v1/topics/t/snapshot/g"),
            await http.post("/v1/topics/t/subscriptions/g:seek", json={"snapshot": kept}),
            await http.get("/v1/topics/t/snapshot/none"),
            await http.get("/v1/topics/none/snapshot/s"),
        ]
    codes = [(each.status_code, each.json()["code"]) for each in found]
    wrong = (409, "wrong_subscription_kind")
    assert codes == [wrong, wrong, (404, "unknown_subscription"), (404, "unknown_topic")]


@pytest.mark.parametrize("limit", ["RANGES_MAX", "FIELDS_MAX"])
async def test_too_many_gaps_are_refused(brokers, monkeypatch, limit):
    _, broker = brokers
    await topic(broker)
    await take(broker, "ceg")
    monkeypatch.setattr(cursor_snapshots, limit, 1 if limit == "RANGES_MAX" else 0)
    with pytest.raises(SnapshotTooLarge):
        await broker.cursor_snapshots.take("t", "s")


# -- SDK and command line ----------------------------------------------------------------------------------------------


def test_the_sdk_keeps_a_snapshot_and_returns_to_it(redis_url, prefix):
    with threaded_broker(redis_url, prefix) as broker, Client(broker.urls) as client:
        fill(client)
        text = client.subscriptions.snapshot("t", "s").encode()
        client.subscriptions.seek("t", "s", "latest")
        kept = Snapshot.decode(text)
        assert client.subscriptions.seek("t", "s", snapshot=kept).backlog == 2

        async def asynchronous():
            async with AsyncClient(broker.urls) as other:
                again = await other.subscriptions.snapshot("t", "s")
                assert again.partitions == kept.partitions
                return await other.subscriptions.seek("t", "s", snapshot=again)

        assert asyncio.run(asynchronous()).backlog == 2


def test_the_command_line_prints_a_snapshot_and_returns_to_it(redis_url, prefix, tmp_path):
    with threaded_broker(redis_url, prefix) as broker, Client(broker.urls) as client:
        fill(client)

        def command(*words):
            return run("subscriptions", *words, REDIS_LEDGER_URL=broker.urls[0])

        printed = command("snapshot", "t", "s")
        assert (printed.code, json.loads(printed.out)["kind"]) == (0, "shared")
        file, damaged = tmp_path / "s.json", tmp_path / "damaged"
        file.write_text(printed.out)
        damaged.write_text(printed.out[:40])
        client.subscriptions.seek("t", "s", "latest")
        moved = command("seek", "t", "s", "--snapshot", str(file), "--json")
        assert json.loads(moved.out)["backlog"] == 2
        refused = [
            command("seek", "t", "s", "--snapshot", str(damaged)),
            command("seek", "t", "s", "--snapshot", str(tmp_path / "missing")),
            command("seek", "t", "s", "--snapshot", str(file), "--to", "latest"),
        ]
        for each, words in zip(refused, ("is no snapshot", "cannot be read", "exactly one of"), strict=True):
            assert each.code != 0
            assert words in each.err


def fill(client):
    """Three messages, of which the second is acknowledged."""
    client.topics.create("t", 1)
    client.subscriptions.create("t", "s")
    with client.producer("t") as producer:
        for value in "abc":
            producer.send(value).result()
    with client.consumer("t", "s") as consumer:
        consumer.ack(consumer.receive(3)[1])
