"""What transactions and subscriptions hold, over REST: buffers, pending acknowledgements, records, backlogs."""

from __future__ import annotations

import contextlib

import pytest

from redis_ledger.broker.subscriptions import inspection
from redis_ledger.broker.transactions import partition_transactions
from redis_ledger.broker.types import NewRecord
from redis_ledger.ids import MessageId
from redis_ledger.ledger.transactional_writes import WrittenPartition
from tests.support.broker import begun, one, receive_values, records
from tests.support.rest import client_of

HOUR_MS = 3_600_000


@contextlib.asynccontextmanager
async def world(redis_url, prefix, **settings):
    """A broker with a topic t, and what GET answers of a path below it."""
    async with one(redis_url, prefix, end_overdue_ms=60_000, **settings) as broker, client_of(broker) as http:
        await broker.topics.create("t")

        async def get(path, status=200, **query):
            answer = await http.get(f"/v1/topics/t{path}", params=query)
            assert answer.status_code == status, answer.text
            return answer.json()

        yield broker, get


async def ended(broker, txn, how):
    await (broker.transactions.commit(txn) if how == "commit" else broker.transactions.abort(txn))


# -- a partition's transactions ----------------------------------------------------------------------------------------


async def test_a_transaction_in_a_partition_has_its_first_offset_and_then_whether_it_was_aborted(redis_url, prefix):
    """OB-04"""
    async with world(redis_url, prefix) as (broker, get):
        await broker.records.produce("t", records("before"))
        aborted, committed = await begun(broker, "a", "b"), await begun(broker, "c")
        found = await get(f"/partitions/0/transactions/{aborted}")
        assert (found["state"], found["first_offset"], found["aborted"]) == ("open", 1, False)
        await ended(broker, aborted, "abort")
        await ended(broker, committed, "commit")
        found = await get(f"/partitions/0/transactions/{aborted}")
        assert found == {
            "topic": "t", "partition": 0, "transaction": str(aborted), "state": "aborted", "first_offset": 1,
            "last_offset": 4, "aborted": True,
        }  # fmt: skip
        found = await get(f"/partitions/0/transactions/{committed}")
        assert (found["state"], found["aborted"], "first_offset" in found) == ("committed", False, False)
        elsewhere = (await broker.transactions.begin()).id
        found = await get(f"/partitions/0/transactions/{elsewhere}")
        assert (found["state"], found["aborted"]) == ("not_written", False)
        never = await get("/partitions/0/transactions/1-1", status=404)
        assert never["code"] == "transaction_not_found"


async def test_a_partition_shows_its_buffer_and_what_holds_the_stable_offset(redis_url, prefix):
    """OB-09, OB-26: TB-35's 1 commit, 1 abort, 1 open; a snapshot; watermarks of the coordinators that have ended
    transactions here."""
    async with world(redis_url, prefix) as (broker, get):
        empty = await get("/partitions/0/transactions", low_watermarks="true")
        assert (empty["open"], empty["aborted"], empty["low_watermarks"]) == ([], [], [])
        assert [name for name in ("held_by", "snapshot") if name in empty] == []
        aborted, committed, held = [await begun(broker, value) for value in "abc"]
        await ended(broker, aborted, "abort")
        await ended(broker, committed, "commit")
        topic_id = (await broker.topics.describe("t"))[0].id
        await broker.buffer_snapshots.take(WrittenPartition("t", 0, topic_id))
        found = await get("/partitions/0/transactions", low_watermarks="true")
        assert (found["stable_offset"], found["end_offset"]) == (2, 5)
        assert found["held_by"] == found["open"][0]
        opened = {"transaction": str(held), "producer_id": held.producer_id, "first_offset": 2}
        assert {**found["open"][0], **opened} == found["open"][0]
        assert abs(found["open"][0]["started_ms"] - broker.clock.now_ms()) < 60_000
        counts = ("open_transactions", "committed_transactions", "aborted_transactions", "aborted_set")
        assert [found[name] for name in counts] == [1, 1, 1, 1]
        assert found["aborted"] == [{"producer_id": aborted.producer_id, "first_offset": 0, "last_offset": 3}]
        assert found["tombstones"] == 2
        assert (found["snapshot"]["taken_ms"] > 0, found["snapshot"]["position"]) == (True, 5)
        assert [each["coordinator"] for each in found["low_watermarks"]] == sorted(
            {aborted.coordinator, committed.coordinator}
        )
        [state] = (await get(""))["partition_states"]
        assert [state[name] for name in counts[:3]] == [1, 1, 1]


async def test_pages_of_a_buffer_have_every_open_and_every_aborted_transaction_once(redis_url, prefix):
    """OB-09"""
    async with world(redis_url, prefix) as (broker, get):
        txns = [await begun(broker, str(number)) for number in range(9)]
        for txn in txns[:5]:
            await ended(broker, txn, "abort")
        opened, aborted, at = [], [], 0
        while at is not None:
            page = await get("/partitions/0/transactions", limit=2, open_from=at)
            opened += [each["transaction"] for each in page["open"]]
            at = page.get("open_next")
        at = 0
        while at is not None:
            page = await get("/partitions/0/transactions", limit=2, aborted_from=at)
            aborted += [each["producer_id"] for each in page["aborted"]]
            at = page.get("aborted_next")
        assert opened == [str(txn) for txn in txns[5:]]
        assert aborted == [txn.producer_id for txn in txns[:5]]


async def test_an_aborted_transaction_is_found_behind_many_others(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(partition_transactions, "ABORTED_PAGE", 2)
    async with world(redis_url, prefix) as (broker, get):
        txns = [await begun(broker, str(number)) for number in range(6)]
        for txn in txns:
            await ended(broker, txn, "abort")
        assert (await get(f"/partitions/0/transactions/{txns[-1]}"))["last_offset"] == 11


# -- pending acknowledgements ------------------------------------------------------------------------------------------


async def test_pending_acknowledgements_are_shown_by_transaction(redis_url, prefix):
    """OB-05, OB-11: individual ones on a shared subscription, a cumulative one on an exclusive subscription."""
    async with world(redis_url, prefix) as (broker, get):
        await broker.subscriptions.create("t", "s")
        await broker.subscriptions.create("t", "x", kind="exclusive")
        await broker.records.produce("t", records(*"abcdef"))
        t, u = [(await broker.transactions.begin()).id for _ in range(2)]
        for name in "sx":
            assert len(await receive_values(broker, "t", name)) == 6
        nothing = (await get("/pending/s"))["partitions"]
        assert nothing == [{"partition": 0, "mark_delete": 0, "records": 0, "transactions": [], "complete": True}]
        await broker.subscriptions.ack("t", "s", "c1", [MessageId(0, n) for n in (0, 1, 4)], transaction=t)
        await broker.subscriptions.ack("t", "s", "c1", [MessageId(0, 2)], transaction=u)
        await broker.subscriptions.ack_cumulative("t", "x", "c1", MessageId(0, 3), transaction=t)
        [found] = (await get("/pending/s"))["partitions"]
        assert (found["records"], found["complete"]) == (4, True)
        assert {each["transaction"]: (each["records"], each["ranges"]) for each in found["transactions"]} == {
            str(t): (3, [{"first": 0, "last": 1}, {"first": 4, "last": 4}]),
            str(u): (1, [{"first": 2, "last": 2}]),
        }
        [found] = (await get("/pending/s", transaction=str(u), partition=0))["partitions"]
        assert [each["transaction"] for each in found["transactions"]] == [str(u)]
        [found] = (await get("/pending/s", transaction=str(t), max_ranges=1))["partitions"]
        [shown] = found["transactions"]
        assert (shown["records"], shown["ranges"], shown["more_ranges"]) == (3, [{"first": 0, "last": 1}], True)
        [found] = (await get("/pending/x"))["partitions"]
        [shown] = found["transactions"]
        assert (shown["transaction"], shown["records"], shown["cumulative"]) == (str(t), 4, 3)
        await ended(broker, t, "commit")
        await ended(broker, u, "abort")
        found = await get("/pending/s", low_watermarks="true")
        assert found["partitions"][0]["transactions"] == []
        marks = {each["coordinator"] for each in found["partitions"][0]["low_watermarks"]}
        assert marks <= {t.coordinator, u.coordinator}


async def test_pending_commits_of_a_kafka_group_are_shown(redis_url, prefix):
    """OB-05"""
    async with world(redis_url, prefix) as (broker, get):
        await broker.records.produce("t", records(*"abcdef"))
        await broker.external_offsets.note("g", "t", {0: 2})
        txn = (await broker.transactions.begin()).id
        await broker.external_offsets.note("g", "t", {0: 4}, txn)
        found = await get("/pending/g")
        [shown] = found["partitions"][0]["transactions"]
        assert (found["kind"], shown["transaction"], shown["cumulative"]) == ("kafka", str(txn), 4)
        states = {n: (await get(f"/partitions/0/records/{n}/subscriptions/g")) for n in (1, 3, 4)}
        assert {n: (each["state"], each.get("transaction")) for n, each in states.items()} == {
            1: ("acknowledged", None), 3: ("pending_ack", str(txn)), 4: ("not_acknowledged", None),
        }  # fmt: skip


async def test_pages_of_pending_acknowledgements_cover_every_partition(redis_url, prefix, monkeypatch):
    monkeypatch.setattr(inspection, "PARTITIONS_MAX", 2)
    async with world(redis_url, prefix) as (broker, get):
        await broker.topics.grow("t", 5)
        await broker.subscriptions.create("t", "s")
        seen, at = [], 0
        while at is not None:
            page = await get("/pending/s", from_partition=at)
            seen += [each["partition"] for each in page["partitions"]]
            at = page.get("next_partition")
        assert seen == [0, 1, 2, 3, 4]


async def test_an_acknowledgement_of_many_ranges_is_read_from_all_its_fields(redis_url, prefix):
    """OB-05: more ranges than one field of the pending hash has."""
    count = 1_200
    async with world(redis_url, prefix) as (broker, get):
        await broker.subscriptions.create("t", "s")
        await broker.records.produce("t", records(*[str(n) for n in range(count)]))
        ids = [*await receive_values(broker, "t", "s", max_records=count)]
        txn = (await broker.transactions.begin()).id
        await broker.subscriptions.ack("t", "s", "c1", ids[::2], transaction=txn)
        for query in ({}, {"transaction": str(txn)}):
            [found] = (await get("/pending/s", **query, max_ranges=1_000))["partitions"]
            [shown] = found["transactions"]
            assert (shown["records"], len(shown["ranges"]), shown["more_ranges"]) == (count // 2, count // 2, False)
        assert (await get(f"/partitions/0/records/{ids[-2].offset}/subscriptions/s"))["transaction"] == str(txn)


# -- one record --------------------------------------------------------------------------------------------------------


async def test_the_state_of_a_record_can_be_looked_up(redis_url, prefix):
    """OB-13, AK-31: nothing is loaded before it can be told, so there is no PendingAckNotReady; the other states of
    Pulsar in its order."""
    async with world(redis_url, prefix) as (broker, get):

        async def state(offset, **query):
            found = await get(f"/partitions/0/records/{offset}/subscriptions/s", **query)
            return found["state"], found.get("reason"), found.get("transaction")

        await broker.subscriptions.create("t", "s")
        await broker.records.produce("t", records(*"abc"))
        await broker.records.produce("t", records("d"))
        assert await state(0) == ("not_delivered", None, None)
        assert len(await receive_values(broker, "t", "s")) == 4
        found = await get("/partitions/0/records/0/subscriptions/s")
        assert (found["state"], found["reason"], found["consumer"], found["deliveries"]) == (
            "delivered",
            "leased",
            "c1",
            1,
        )
        assert (found["batch_base_offset"], found["batch_records"], found["end_offset"]) == (0, 3, 4)
        txn = (await broker.transactions.begin()).id
        await broker.subscriptions.ack("t", "s", "c1", [MessageId(0, 0), MessageId(0, 1)], transaction=txn)
        assert await state(0) == await state(1) == ("pending_ack", None, str(txn))
        assert await state(0, batch_index=1) == ("pending_ack", None, str(txn))
        assert await state(0, batch_index=2) == ("delivered", "leased", None)  # NotInPendingAck
        assert await state(0, batch_index=10) == ("invalid_position", "batch_index", None)
        assert await state(4) == ("invalid_position", "beyond_end", None)
        await ended(broker, txn, "commit")
        assert await state(0) == await state(1) == ("acknowledged", "mark_delete", None)
        await broker.subscriptions.ack("t", "s", "c1", [MessageId(0, 3)])
        assert await state(3) == ("acknowledged", "individual", None)
        await broker.subscriptions.nack("t", "s", "c1", [MessageId(0, 2)])
        assert await state(2) == ("delivered", "returned", None)


async def test_a_record_that_no_reader_gets_has_the_reason(redis_url, prefix):
    """AK-31: aborted, a marker, undecided, behind something undecided, removed."""
    async with world(redis_url, prefix) as (broker, get):
        await broker.subscriptions.create("t", "s", start="latest")
        await broker.records.produce("t", records("a"))
        await ended(broker, await begun(broker, "b"), "abort")
        await broker.records.produce("t", records("c"))
        await begun(broker, "d")
        await broker.records.produce("t", records("e"))
        await receive_values(broker, "t", "s")

        async def states():
            found = [await get(f"/partitions/0/records/{n}/subscriptions/s") for n in range(6)]
            return [(each["state"], each.get("reason")) for each in found]

        expected = [
            ("delivered", "leased"), ("hidden", "aborted"), ("hidden", "marker"), ("delivered", "leased"),
            ("hidden", "above_stable_offset"), ("hidden", "above_stable_offset"),
        ]  # fmt: skip
        assert await states() == expected
        await broker.topics.delete_records("t", 0, 3)
        assert (await states())[:4] == [*[("acknowledged", "mark_delete")] * 3, expected[3]]
        for path, code in (
            ("/partitions/0/records/-1/subscriptions/s", "invalid_position"),
            (f"/partitions/0/records/{2**53 + 1}/subscriptions/s", "invalid_position"),
            ("/partitions/0/records/1/subscriptions/none", ""),
        ):
            answer = await get(path, status=400 if code else 404)
            assert answer["code"] == (code or "unknown_subscription")


async def test_a_lease_that_was_asked_for_by_name_is_shown(redis_url, prefix):
    async with world(redis_url, prefix) as (broker, get):
        await broker.subscriptions.create("t", "s")
        await broker.records.produce("t", records("a"))
        await receive_values(broker, "t", "s", request="r-1")
        found = await get("/partitions/0/records/0/subscriptions/s")
        assert (found["state"], found["consumer"]) == ("delivered", "c1")
        assert [lease.consumer for lease in await broker.unacked.worst("t", "s")] == ["c1"]


# -- the backlog -------------------------------------------------------------------------------------------------------


async def test_a_backlog_is_counted_by_what_it_consists_of(redis_url, prefix):
    """TB-30: ten committed and ten aborted transactions of a record; also acknowledged, undecided, scheduled ones."""
    async with world(redis_url, prefix) as (broker, get):
        await broker.subscriptions.create("t", "s")
        for number in range(20):
            await ended(broker, await begun(broker, str(number)), "commit" if number % 2 else "abort")

        async def analysis(**query):
            found = await get("/partitions/0/backlog/s", **query)
            names = ("records", "batches", "acknowledged", "markers", "aborted_records", "aborted_batches", "undecided")
            return {name: found[name] for name in names if found[name]}, found

        counts, found = await analysis()
        assert counts == {
            "records": 10, "batches": 10, "markers": 20, "aborted_records": 10, "aborted_batches": 10,
        }  # fmt: skip
        assert (found["entries"], found["complete"], found["end_offset"]) == (40, True, 40)
        ids = [*await receive_values(broker, "t", "s")]
        await broker.subscriptions.ack("t", "s", "c1", ids[5:])
        later = NewRecord(None, b"later", deliver_after_ms=HOUR_MS)
        await broker.records.produce("t", [later])
        await begun(broker, "undecided")
        counts, found = await analysis()
        assert counts["records"] == found["records"] == 5
        assert (counts["acknowledged"], counts["undecided"], found["scheduled"]) == (5, 1, 1)
        stats = await get("/subscriptions/s")
        assert (stats["backlog"], found["mark_delete"]) == (5, ids[0].offset)
        await broker.subscriptions.ack("t", "s", "c1", ids[:5])
        counts, found = await analysis()
        assert (counts, found["mark_delete"]) == ({"undecided": 1}, 40)


@pytest.mark.parametrize("page", [1, 7, 1_000])
async def test_pages_of_a_backlog_add_up_to_the_whole(redis_url, prefix, page):
    """TB-30"""
    async with world(redis_url, prefix) as (broker, get):
        await broker.subscriptions.create("t", "s")
        await broker.external_offsets.note("g", "t", {0: 2})
        for number in range(12):
            await ended(broker, await begun(broker, str(number), "more"), "commit" if number % 3 else "abort")
        ids = [*await receive_values(broker, "t", "s")]
        await broker.subscriptions.ack("t", "s", "c1", ids[1::2])
        for name in "sg":
            whole = await get(f"/partitions/0/backlog/{name}")
            total, at, steps = (
                dict.fromkeys(("entries", "records", "acknowledged", "markers", "aborted_records"), 0),
                0,
                0,
            )
            while at is not None:
                part = await get(f"/partitions/0/backlog/{name}", max_entries=page, from_offset=at)
                total = {kind: number + part[kind] for kind, number in total.items()}
                at, steps = part.get("next_offset"), steps + 1
                assert (at is None) is part["complete"]
            assert total == {kind: whole[kind] for kind in total}
            assert steps >= whole["entries"] / page


# -- a topic -----------------------------------------------------------------------------------------------------------


async def test_a_topic_shows_what_its_subscriptions_have_not_acknowledged(redis_url, prefix):
    """OB-26: AK-25's 50 received and 25 acknowledged in a transaction: 25 after a commit, 50 after an abort."""
    async with world(redis_url, prefix) as (broker, get):
        await broker.external_offsets.note("g", "t", {0: 0})
        await broker.records.produce("t", records(*[str(n) for n in range(50)]))
        await broker.records.produce("t", [NewRecord(None, b"later", deliver_after_ms=HOUR_MS)])
        for name, how in (("a", "commit"), ("b", "abort")):
            await broker.subscriptions.create("t", name)
            ids = [*await receive_values(broker, "t", name)]
            txn = (await broker.transactions.begin()).id
            await broker.subscriptions.ack("t", name, "c1", ids[:25], transaction=txn)
            held = {each["name"]: each for each in (await get("", subscriptions="true"))["subscriptions"]}
            assert held[name] == {"name": name, "kind": "shared", "unacknowledged": 50, "pending": 25}
            await ended(broker, txn, how)
        found = await get("", subscriptions="true")
        assert found["subscriptions_complete"]
        assert {each["name"]: (each["unacknowledged"], each["pending"]) for each in found["subscriptions"]} == {
            "a": (25, 0), "b": (50, 0), "g": (0, 0),
        }  # fmt: skip
        assert [each["scheduled"] for each in found["partition_states"]] == [1]
        assert "subscriptions" not in await get("")
