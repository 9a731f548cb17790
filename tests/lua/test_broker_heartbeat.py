"""lua/broker/heartbeat: live brokers through outages of Redis and jumps of its clock."""

from __future__ import annotations

import json

import pytest

from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import Node

SILENT, EVERY = 3_500, 1_000
START = 1_700_000_000_000


class Brokers:
    """The catalog's node, and heartbeats of brokers at times in ms after START."""

    def __init__(self, node, prefix):
        self.node, keys = node, CatalogKeys(prefix)
        self.was_live = False  # whether the broker of the last heartbeat was
        self.keys, self.changes = (keys.brokers, keys.addresses, keys.state), keys.changes

    def beat(self, name, at, *, kafka=None):
        """The names of the live brokers, in order."""
        return sorted(self.nodes(name, at, kafka=kafka))

    def nodes(self, name, at, *, kafka=None):
        """Live broker → node id."""
        reply = self.reply(name, at, kafka=f"{name}:9092" if kafka is None else kafka)
        assert reply[0] == Status.OK
        assert int(reply[1]) == START + at
        self.was_live = bool(reply[4])
        assert reply[5] == name
        return {who: json.loads(text)["node"] for who, text in zip(reply[5::2], reply[6::2], strict=True)}

    def reply(self, name, at, *, kafka="", cluster=""):
        """cluster: the id that the broker knows, "" at its first heartbeat."""
        return self.node.run(
            "broker/heartbeat", self.keys, name, SILENT, EVERY, kafka,
            json.dumps({"kafka": kafka}, separators=(",", ":")), START + at, cluster, self.changes,
        )  # fmt: skip

    @property
    def addresses(self):
        return {name.decode() for name in self.node.client.hkeys(self.keys[1])}

    @property
    def heartbeats(self):
        return {name.decode(): int(at) - START for name, at in self.node.dump()["brokers"]}


@pytest.fixture
def brokers(connect, prefix):
    return Brokers(Node(connect(f"{prefix}:{{catalog}}:"), f"{prefix}:{{catalog}}"), prefix)


@pytest.fixture
def three(brokers):
    """Three brokers that beat at 0, 300 and 600 ms."""
    for number, name in enumerate(("a", "b", "c")):
        brokers.beat(name, 300 * number)
    return brokers


def test_each_broker_has_a_node_id_of_its_own_and_keeps_it(three):
    assert three.nodes("a", 1_000) == three.nodes("b", 1_300) == {"a": 1, "b": 2, "c": 3}


def test_a_broker_that_is_silent_while_others_beat_is_not_live(three):
    for at in range(1_000, 4_000, 1_000):
        assert three.beat("a", at) == three.beat("b", at + 300) == ["a", "b", "c"]
    assert three.beat("a", 4_000) == ["a", "b", "c"]
    assert three.beat("b", 4_300) == ["a", "b"]
    assert three.beat("a", 5_000) == ["a", "b"]
    assert three.was_live
    # When it returns, it learns that it was not live
    assert three.beat("c", 5_300) == ["a", "b", "c"]
    assert not three.was_live


@pytest.mark.parametrize("away", [3_000, 3_600, 60_000, 86_400_000])
def test_a_pause_of_redis_makes_no_broker_disappear(three, away):
    back = 600 + away
    for name, after in (("b", 0), ("c", 400), ("a", 900), ("b", 1_000)):
        assert three.beat(name, back + after) == ["a", "b", "c"]


def test_after_a_pause_each_broker_has_a_full_interval_and_no_more(three):
    assert three.beat("b", 60_600) == ["a", "b", "c"]
    for at in range(61_600, 64_100, 1_000):
        assert three.beat("b", at) == ["a", "b", "c"]
    assert three.beat("b", 64_100) == ["b"]


def test_pauses_in_a_row_do_not_add_up_to_silence(three):
    for at in range(10_000, 60_000, 3_000):
        assert three.beat("a", at) == three.beat("b", at + 100) == three.beat("c", at + 200) == ["a", "b", "c"]


def test_a_single_slow_survivor_finds_out_that_the_others_are_gone(three):
    """Heartbeats that come late are no pause of Redis: some of the time between them counts."""
    found = [three.beat("a", at) for at in range(2_000, 12_000, 2_000)]
    assert found[0] == ["a", "b", "c"]
    assert found[-1] == ["a"]


def test_a_broker_that_was_gone_before_the_pause_stays_gone(three):
    for at in range(1_000, 6_000, 1_000):
        three.beat("a", at)
        three.beat("b", at + 300)
    assert three.beat("a", 60_000) == ["a", "b"]
    assert three.heartbeats["c"] < 4_000


def test_a_clock_that_was_set_back_makes_no_broker_disappear_and_none_immortal(three):
    assert three.beat("a", -50_000) == ["a", "b", "c"]
    assert three.beat("b", -49_900) == ["a", "b", "c"]
    for at in range(-49_000, -45_000, 1_000):
        three.beat("a", at)
        three.beat("b", at + 100)
    assert three.beat("a", -45_000) == ["a", "b"]


def test_a_broker_of_the_same_address_takes_the_node_id_over(three):
    assert three.nodes("d", 700, kafka="b:9092") == {"a": 1, "c": 3, "d": 2}
    assert three.beat("a", 1_000) == ["a", "c", "d"]
    assert "b" not in three.addresses


def test_a_broker_whose_address_is_a_part_of_another_s_replaces_none(brokers):
    brokers.beat("a", 0, kafka="my-kafka:9092")
    brokers.beat("b", 1, kafka="kafka:90921")
    assert brokers.nodes("c", 2, kafka="kafka:9092") == {"a": 1, "b": 2, "c": 3}


def test_a_new_broker_gets_the_id_of_none_that_lives_through_a_pause(three):
    assert three.nodes("d", 60_000) == {"a": 1, "b": 2, "c": 3, "d": 4}


def test_a_repeated_heartbeat_answers_as_the_first_did(three):
    first = three.nodes("a", 60_000)
    before = three.node.dump()
    assert three.nodes("a", 60_000) == first
    assert three.node.dump() == before


def test_only_a_broker_that_joins_returns_or_moves_is_published(brokers):
    def published(name, at, **more):
        with brokers.node.client.pubsub() as channel:
            channel.ssubscribe(brokers.changes)
            channel.get_sharded_message(timeout=5)
            brokers.beat(name, at, **more)
            message = channel.get_sharded_message(timeout=0.2)
        return message and message["data"]

    assert published("a", 0) == b"a"
    assert published("a", 1_000) is None
    assert published("b", 1_100) == b"b"
    assert published("b", 2_100, kafka="b:9093") == b"b"
    for at in range(3_000, 7_000, 1_000):
        assert published("a", at) is None
    assert published("b", 7_000, kafka="b:9093") == b"b"  # it was silent for 4.9 s


def test_a_redis_without_the_cluster_of_the_broker_takes_no_heartbeat(brokers):
    assert brokers.reply("a", 0, cluster="mine")[:2] == [Status.OTHER_CLUSTER, ""]
    assert brokers.node.dump() == {}
    cluster = brokers.reply("b", 0)[2]
    assert brokers.reply("b", 1_000, cluster=cluster)[:1] == [Status.OK]
    assert brokers.reply("a", 1_000, cluster="mine")[:2] == [Status.OTHER_CLUSTER, cluster]
    assert brokers.beat("b", 2_000) == ["b"]
