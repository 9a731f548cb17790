"""lua/txn/apply_and_end: it leaves what the single steps leave, and only decides what it cannot end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import redis

from redis_ledger.ids import TxnId
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.txn.operations import decode_replies
from tests.support.cursor_scripts import Subscription
from tests.support.fake_log import FakeLog
from tests.support.ledger_scripts import TOMBSTONE_MS, TOPIC_ID, Ledger, TxnCoordinator, reply_line

LIMITS = (3_600_000, 100_000, 0, 1_000, 1, 86_400_000, 1_000)
PLACE = f"orders/{TOPIC_ID}/0"


class World:
    """A coordinator and two partitions on one server."""

    def __init__(self, url: str, prefix: str, number: int = 0) -> None:
        self.client: Any = redis.Redis.from_url(url)
        self.number = number
        self.coordinator = TxnCoordinator(self.client, prefix, number)
        self.coordinator.open()
        self.partitions = [Ledger(self.client, prefix, number=n) for n in (0, 1)]
        for partition in self.partitions:
            partition.create()

    def begin(self, *places: int, extra: Sequence[str] = ()) -> str:
        """The serial of a transaction that has written to these partitions; extra: further participants."""
        words = [f"orders/{TOPIC_ID}/{n}" for n in places]
        serial = self.coordinator.begin(60_000, "-", "-", *words, *extra)
        for n in places:
            self.partitions[n].append(2, txn=(self.number, serial))
        return serial

    def end(
        self, *operations: str, serials: Sequence[str], places: Sequence[int], call: int = 1, number: str = ""
    ) -> Any:
        """The script's reply: lines of the operations, outcomes, markers.  number: in the producer id of a
        transactional id; without it, producer ids are those of the transactions."""
        keys, after = [*self.coordinator.keys.all()], list[Any]()
        for serial in serials:
            after += (serial, TxnId(self.number, int(number or serial)).producer_id, number or serial)
        for n in places:
            k = PartitionKeys(self.coordinator.tag.partition(":")[0], "orders", n)
            keys += k.end_keys
            after += (f"orders/{TOPIC_ID}/{n}", TOPIC_ID, k.wake, 0)
        words = [part for line in operations for part in [*line.split(" ", 2), "", ""][:3]]
        before = (self.number, TOMBSTONE_MS, len(operations), len(serials), len(places))
        args = (self.coordinator.now, "b2", call, *LIMITS, *before, *words, *after)
        reply = self.coordinator.run("txn/apply_and_end", keys, *args)
        assert reply[0] == Status.OK
        packed = [each.encode(errors="surrogateescape") for each in (reply[3], *reply[5:])]
        return [[reply_line(each) for each in decode_replies(packed[0])], *map(plain, packed[1:])]

    def dump(self) -> list[dict[str, Any]]:
        """calls are left out: they hold replies."""
        tables = [self.coordinator.dump(), *(partition.dump() for partition in self.partitions)]
        for table in tables:
            table.pop("calls", None)
            table["log"] = table["log"][0]
        return tables


def plain(packed: bytes) -> list[str]:
    return msgspec.msgpack.decode(packed, type=list[str])


@pytest.fixture
def world(redis_url, prefix):
    made = World(redis_url, prefix)
    yield made
    made.client.close()


@pytest.mark.parametrize("number", [0, 31, 32, 32_767])
@pytest.mark.parametrize("wanted", ["C", "A"])
def test_it_leaves_what_the_single_steps_leave(redis_url, prefix, wanted, number):
    dumps = []
    for n, way in enumerate(("steps", "one call")):
        made = World(redis_url, f"{prefix}{n}", number)
        made.coordinator.start_at(7)
        older, serial = made.begin(0), made.begin(0, 1)
        if way == "steps":
            made.coordinator.one(f"end {serial} {wanted}")
            mark = str(int(older) - 1)
            ends = []
            for partition in made.partitions:
                partition.end({"txn": (number, serial), "commit": wanted == "C", "watermark": mark})
                ends.append(f"{partition.used[0]},{made.coordinator.now}")
            assert made.coordinator.one(f"complete {serial} {';'.join(ends)}") == f"0 {wanted}"
        else:
            lines, ended, markers = made.end(f"end {serial} {wanted}", serials=[serial], places=[0, 1])
            assert (lines, ended) == ([f"0 ended {wanted}"], [wanted])
            pid, commit = str(TxnId(number, int(serial)).producer_id), str(int(wanted == "C"))
            assert markers == ["0", pid, "0", commit, "4", "1", pid, "0", commit, "2"]
        assert made.partitions[1].stable == made.partitions[1].next == 3
        assert made.partitions[0].stable == 0, "the older transaction is open"
        dumps.append(made.dump())
    assert dumps[0] == dumps[1]


def test_a_repeated_call_or_operation_gets_the_same_answer_and_writes_nothing(world):
    serial = world.begin(0, 1)
    first = world.end(f"end {serial} C", serials=[serial], places=[0, 1])
    before = world.dump()
    again = world.end(f"end {serial} C", serials=[serial], places=[0, 1], call=2)
    assert again == [first[0], [""], []]
    assert world.dump() == before


def test_a_repeated_call_with_an_id_gets_the_stored_answer(world):
    """The reply to a call that may allocate a number is stored: it is what a lost reply is replaced by."""
    number, epoch = world.coordinator.one("init_id me 60000 - -").split(" ")[1:]
    serial = world.coordinator.one(f"add_by_id me {number} {epoch} {PLACE}").split(" ")[1]
    lines, ended, _ = world.end(
        f"end_by_id me {number} {epoch} C 1 -", serials=[serial], places=[0], call=9, number=number
    )
    assert (lines, ended) == ([f"0 {number} {int(epoch) + 1}"], ["C"])
    before = world.dump()
    keys = world.coordinator.keys
    stored = world.client.hget(keys.calls, "b2")
    assert stored.startswith(b"9 ")
    # A repeated call ends before it looks at what is to be ended, so its reply has no outcomes
    words = ("end_by_id", "me", f"{number} {epoch} C 1 -")
    args = (world.coordinator.now, "b2", 9, *LIMITS, 0, TOMBSTONE_MS, 1, 0, 0, *words)
    reply = world.coordinator.run("txn/apply_and_end", keys.all(), *args)
    assert len(reply) == 5
    again = decode_replies(reply[3].encode(errors="surrogateescape"))
    assert [reply_line(each) for each in again] == lines
    assert world.dump() == before


def test_a_transaction_named_twice_in_a_call_ends_once(world):
    serial = world.begin(0)
    lines, ended, markers = world.end(f"end {serial} C", f"end {serial} C", serials=[serial, serial], places=[0])
    assert (lines, ended, len(markers)) == (["0 ended C"] * 2, ["C", ""], 5)
    assert [e.is_marker for e in world.partitions[0].log()] == [False, True]


def test_the_second_of_two_decisions_in_a_call_is_refused(world):
    serial = world.begin(0)
    lines, ended, _ = world.end(f"end {serial} A", f"end {serial} C", serials=[serial], places=[0])
    assert lines[0] == "0 ended A"
    assert lines[1].startswith(str(int(Status.TXN_STATUS)))
    assert ended == ["A"]


def test_a_refused_decision_ends_nothing(world):
    serial = world.begin(0)
    world.coordinator.one(f"end {serial} A")
    before = world.partitions[0].dump()
    lines, ended, _ = world.end(f"end {serial} C", serials=[serial], places=[])
    assert (lines, ended) == ([f"{int(Status.TXN_STATUS)} A"], [""])
    assert world.partitions[0].dump() == before


def test_an_open_transaction_that_no_operation_decides_does_not_end(world):
    decided, other = world.begin(0), world.begin(0)
    _, ended, _ = world.end(f"end {decided} C", f"add {other} {PLACE}", serials=[decided, other], places=[0])
    assert ended == ["C", ""]
    assert world.partitions[0].stable == 2, "the other one is open"
    assert world.coordinator.one(f"end {other} C").startswith("0 C")


def scheduled(world: World, serial: str) -> None:
    world.client.hset(world.partitions[0].keys.delay.state, f"0-{serial}", "O 1")


@pytest.mark.parametrize("why", ["another partition", "a subscription", "scheduled", "wide"])
def test_what_it_cannot_end_it_only_decides(world, why):
    # Given a transaction with something that the caller does not know, or that needs another step
    extra = {
        "another partition": [f"orders/{TOPIC_ID}/1"],
        "a subscription": [f"{PLACE}/s"],
        "wide": [f"orders/{TOPIC_ID}/{n}" for n in range(2, 400)],
    }.get(why, [])
    serial = world.begin(0, extra=extra)
    if why == "scheduled":
        scheduled(world, serial)
    before = [partition.dump() for partition in world.partitions]
    # When it is to be ended in one call
    lines, ended, markers = world.end(f"end {serial} C", serials=[serial], places=[0])
    # Then the answer is that of txn/apply, and no partition has changed
    assert (ended, markers) == ([""], [])
    assert lines[0] == world.coordinator.one(f"end {serial} C")
    assert lines[0].startswith(f"0 C {PLACE}")
    assert [partition.dump() for partition in world.partitions] == before


def test_a_transaction_with_another_producer_id_is_only_decided(world):
    """That of a Kafka producer, named by its serial: its records are open under the id of its transactional id."""
    number, epoch = world.coordinator.one("init_id me 60000 - -").split(" ")[1:]
    serial = world.coordinator.one(f"add_by_id me {number} {epoch} {PLACE}").split(" ")[1]
    partition, pid = world.partitions[0], TxnId(world.number, int(number)).producer_id
    partition.append(2, txn=(world.number, serial), pid=pid, epoch=int(epoch))
    assert partition.stable == 0
    lines, ended, markers = world.end(f"end {serial} A", serials=[serial], places=[0])
    assert (ended, markers) == ([""], [])
    assert lines[0] == world.coordinator.one(f"end {serial} A")
    _, ended, _ = world.end(f"end {serial} A", serials=[serial], places=[0], call=2, number=number)
    assert ended == ["A"]
    assert partition.stable == partition.next == 3


def test_a_partition_of_a_deleted_topic_counts_as_ended(world):
    serial = world.begin(0, 1)
    gone = world.partitions[1]
    gone.client.delete(*gone.client.keys(f"{gone.tag}:*"))
    lines, ended, markers = world.end(f"end {serial} C", serials=[serial], places=[0, 1])
    assert (lines, ended, len(markers)) == (["0 ended C"], ["C"], 5)
    assert gone.dump() == {}


def test_a_damaged_partition_leaves_the_transaction_decided(world):
    serial = world.begin(0, 1)
    world.client.delete(world.partitions[0].keys.log)
    world.client.set(world.partitions[0].keys.log, "damaged")
    lines, ended, _ = world.end(f"end {serial} C", serials=[serial], places=[0, 1])
    assert (lines[0].split(" ")[:2], ended) == (["0", "C"], [""])
    assert world.coordinator.one(f"end {serial} A").startswith(str(int(Status.TXN_STATUS)))
    assert world.partitions[1].stable == world.partitions[1].next == 3, "the others have ended"


def test_every_decision_raises_the_entry_number(world):
    """A coordinator whose Redis lost a decision is known by it (docs/decisions/0028)."""
    numbers = []
    for _ in range(3):
        serial = world.begin(0)
        before = world.coordinator.counters()["entry"]
        world.end(f"end {serial} C", serials=[serial], places=[0])
        numbers.append(world.coordinator.counters()["entry"] - before)
    assert numbers == [1, 1, 1]
    assert world.coordinator.records() == []


def test_more_acknowledgements_than_a_call_settles_leave_the_transaction_decided(redis_url, prefix):
    client: Any = redis.Redis.from_url(redis_url)
    log = FakeLog(client, prefix)
    log.append(900)
    sub = Subscription(log)
    sub.receive(most=900)
    coordinator = TxnCoordinator(client, prefix)
    coordinator.open()
    place = f"t/{TOPIC_ID}/0"
    serial = coordinator.begin(60_000, "-", "-", f"{place}/{sub.name}")
    for first in range(0, 900, 200):  # every other message: as many ranges as messages
        assert sub.hold(f"0-{serial}", range(first, min(first + 200, 900), 2))[0] == Status.OK
    keys = [*coordinator.keys.all(), *log.keys.end_keys, *sub.keys.all()]
    after = (serial, TxnId(0, int(serial)).producer_id, serial, place, TOPIC_ID, log.keys.wake, 1, sub.name)
    outcomes = []
    for call in (1, 2):
        args = (coordinator.now, "b2", call, *LIMITS, 0, TOMBSTONE_MS, 1, 1, 1, "end", serial, "C", *after)
        reply = coordinator.run("txn/apply_and_end", keys, *args)
        outcomes += plain(reply[5].encode(errors="surrogateescape"))
    assert outcomes == ["", "C"]
    client.close()
