# mypy: disable-error-code="import-not-found"
"""The coordinator of a group is killed or restarted: its members go on, and read nothing twice.

    12 partitions, 100 records a second ──▶ 20 members that commit what they have read, after every poll
    three brokers, of which ✗ the coordinator is killed three times, or every one is restarted

Prints the longest pause between two records of a partition, and between two commits of a member.
The test has brokers of its own, of redis-ledger; beside a Kafka that is tested it skips.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription, NewTopic

from tests.compat.rolled import Brokers

TOPIC, GROUP, PARTITIONS, MEMBERS = "moved", "members", 12, 20
PATIENCE_S = 90.0
# A commit that is answered so may be sent again.
AGAIN = (
    KafkaError._TRANSPORT, KafkaError._WAIT_COORD, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN,
    KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.REQUEST_TIMED_OUT,
)  # fmt: skip


@pytest.fixture
def brokers() -> Iterator[Brokers]:
    if not os.environ.get("HTTP"):
        pytest.skip("HTTP is not the address of the broker's REST port, so it may not be redis-ledger")
    own = Brokers(3)
    try:
        yield own
    finally:
        own.clean_up()


class Group:
    """Members in threads, and a producer.  read: when each member read which (partition, offset); assigned: how often a
    member got partitions; refused: commits that failed for good."""

    def __init__(self, kafka: str, protocol: str) -> None:
        self._kafka, self._protocol = kafka, protocol
        self.read: list[tuple[float, int, int]] = []
        self.commits: dict[int, list[float]] = defaultdict(list)
        self.refused: list[str] = []
        self.errors: list[str] = []
        self.assigned = 0
        self.sent = 0
        self._writing, self._reading = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._member, args=(number,)) for number in range(MEMBERS)]
        self._producer = threading.Thread(target=self._produce)

    def start(self) -> None:
        for each in (*self._threads, self._producer):
            each.start()

    def go_on(self) -> None:
        """Waits until every partition has been read twice more."""
        for _ in range(2):
            before, until = len(self.read), time.monotonic() + PATIENCE_S
            while len({partition for _, partition, _ in self.read[before:]}) < PARTITIONS:
                assert time.monotonic() < until, "a partition is not read any more"
                time.sleep(0.05)  # between two looks at what others do

    def end(self) -> None:
        """The producer first; then the members when they have read everything."""
        self._writing.set()
        self._producer.join(PATIENCE_S)
        until = time.monotonic() + PATIENCE_S
        while len({each[1:] for each in self.read}) < self.sent and time.monotonic() < until:
            time.sleep(0.05)  # between two looks at what others do
        self.stop()

    def stop(self) -> None:
        self._writing.set()
        self._reading.set()
        for each in self._threads:
            each.join(PATIENCE_S)

    @property
    def pauses(self) -> tuple[float, float]:
        """Longest of a partition's records, and of a member's commits, in seconds."""
        records: dict[int, list[float]] = defaultdict(list)
        for at, partition, _ in self.read:
            records[partition].append(at)
        return _longest(records.values()), _longest(self.commits.values())

    def _produce(self) -> None:
        producer = Producer({"bootstrap.servers": self._kafka, "enable.idempotence": True, "linger.ms": 2})
        while not self._writing.is_set():
            for partition in range(PARTITIONS):
                producer.produce(TOPIC, b"value", partition=partition)
                self.sent += 1
            producer.poll(0)
            self._writing.wait(0.12)  # the pace of the load
        self.errors += ["records are not written"] if producer.flush(PATIENCE_S) else []

    def _member(self, number: int) -> None:
        consumer = Consumer({
            "bootstrap.servers": self._kafka, "group.id": GROUP, "group.protocol": self._protocol,
            "auto.offset.reset": "earliest", "enable.auto.commit": False, "client.id": f"member-{number}",
        })  # fmt: skip
        consumer.subscribe([TOPIC], on_assign=self._assigned)
        while not self._reading.is_set():
            batch = [each for each in consumer.consume(200, 0.2) if each.error() is None]
            now = time.monotonic()
            self.read += [(now, each.partition(), each.offset()) for each in batch]
            ends = {each.partition(): each.offset() + 1 for each in batch}
            if ends:
                self._commit(number, consumer, [TopicPartition(TOPIC, *end) for end in ends.items()])
        consumer.close()

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.assigned += bool(partitions)

    def _commit(self, number: int, consumer: Consumer, offsets: list[TopicPartition]) -> None:
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                answers = consumer.commit(offsets=offsets, asynchronous=False)
                failed = next((each.error for each in answers if each.error is not None), None)
            except KafkaException as error:
                failed = error.args[0]
            if failed is None:
                self.commits[number].append(time.monotonic())
                return
            if failed.code() not in AGAIN or time.monotonic() > until:
                self.refused.append(failed.name())
                return
            time.sleep(0.05)  # an application that tries again


def _longest(times: Iterable[list[float]]) -> float:
    return max((after - before for each in times for before, after in pairwise(each)), default=0.0)


@pytest.fixture(params=["classic", "consumer"])
def group(request: pytest.FixtureRequest, brokers: Brokers) -> Iterator[Group]:
    admin = AdminClient({"bootstrap.servers": brokers.kafka})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(15)
    made = Group(brokers.kafka, request.param)
    made.start()
    yield made
    made.stop()


def described(brokers: Brokers) -> ConsumerGroupDescription:
    admin = AdminClient({"bootstrap.servers": brokers.kafka})
    return admin.describe_consumer_groups([GROUP], request_timeout=30)[GROUP].result()


def coordinator(brokers: Brokers) -> int:
    """The number of the broker that coordinates the group."""
    node = described(brokers).coordinator
    return brokers.kafka.split(",").index(f"{node.host}:{node.port}")


def is_at_rest(brokers: Brokers) -> bool:
    """Whether all have joined, and all partitions are where they stay.  A member that joins first gets several, which
    others have after two of its heartbeats."""
    found = described(brokers)
    held = sorted(len(member.assignment.topic_partitions) for member in found.members)
    wanted = [0] * (MEMBERS - PARTITIONS) + [1] * PARTITIONS
    return found.state == ConsumerGroupState.STABLE and held == wanted


@pytest.mark.timeout(400)
@pytest.mark.parametrize("way", ["killed", "restarted"])
def test_group_members_are_unaffected_by_stopped_brokers(brokers, group, way, capsys):
    # Given a group that has come to rest
    group.go_on()
    until = time.monotonic() + PATIENCE_S
    while not is_at_rest(brokers):
        assert time.monotonic() < until, "the group does not come to rest"
        time.sleep(0.2)  # between two looks at what others do
    group.go_on()
    settled, begun = group.assigned, len(group.read)
    # When its coordinator is killed, again and again, or every broker is restarted
    for turn in range(3):
        number = coordinator(brokers) if way == "killed" else turn
        assert brokers.ask(f"{'kill' if way == 'killed' else 'stop'} {number}") in ("killed", "0")
        group.go_on()
        assert brokers.ask(f"start {number}") == "ready"
        group.go_on()
    group.end()
    # Then no commit was refused, no member was given other partitions, and nothing was read twice
    records, commits = group.pauses
    with capsys.disabled():
        print(
            f"\n{group._protocol}, {way}: {len(group.read) - begun} records read; longest pause of a partition "
            f"{records:.1f} s, of a member's commits {commits:.1f} s"
        )
    assert group.errors == []
    assert group.refused == []
    assert group.assigned == settled
    assert {where: count for where, count in Counter(each[1:] for each in group.read).items() if count > 1} == {}
    assert len(group.read) == group.sent
