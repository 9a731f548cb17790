"""Turns at the maintenance of a partition."""

from __future__ import annotations

import pytest

from redis_ledger.broker.cluster.live_brokers import LiveBrokers, Node
from redis_ledger.broker.cluster.maintenance_turns import SPREAD, MaintenanceTurns, PartitionKey

OWN_S, OTHERS_S = 100.0, 1_000.0
PLACES = [PartitionKey("t", "id", number) for number in range(300)]


def made(keeps):
    return MaintenanceTurns(lambda topic, number: keeps(number), OWN_S, OTHERS_S)


def due(turns, now_s):
    return {place.number for place in PLACES if turns.is_due(place, now_s)}


def looked(turns, now_s):
    for number in (found := due(turns, now_s)):
        turns.took(PLACES[number], now_s)
    return found


def test_a_keeper_looks_at_once_and_then_every_own_s():
    turns = made(lambda number: number < 100)
    assert looked(turns, 0.0) >= set(range(100))
    assert not looked(turns, OWN_S * (1 - SPREAD) - 1) & set(range(100))
    assert looked(turns, OWN_S) >= set(range(100))


def test_the_others_look_once_in_others_s_and_not_all_at_once():
    turns = made(lambda number: False)
    seen, at_once = [], []
    for now_s in range(0, int(OTHERS_S), 50):
        found = looked(turns, float(now_s))
        at_once.append(len(found))
        seen += found
    assert set(seen) | looked(turns, OTHERS_S) == {place.number for place in PLACES}
    assert max(at_once) < 60


def test_new_maintainer_has_its_turn_within_own_s():
    keeper = [False]
    turns = made(lambda number: keeper[0])
    looked(turns, 0.0)
    keeper[0] = True
    assert due(turns, OWN_S) | due(turns, 2 * OWN_S) == {place.number for place in PLACES}


def test_partitions_that_are_gone_are_forgotten():
    turns = made(lambda number: True)
    looked(turns, 0.0)
    turns.forget_others(PLACES[:5])
    assert due(turns, 1.0) == set(range(5, 300))


def brokers(kafka):
    """As each of three brokers sees them; kafka: which of them have a Kafka listener."""
    nodes = [
        Node(id, f"b{id}", "http://x", "host" if id in kafka else "", 9092 if id in kafka else 0) for id in (1, 2, 3)
    ]
    found = []
    for node in nodes:
        members = LiveBrokers.__new__(LiveBrokers)
        members._name, members._kafka, members.node_id = node.name, {}, node.id
        members._learn(nodes)
        found.append(members)
    return found


@pytest.mark.parametrize("kafka", [(1, 2, 3), (2, 3), (2,), ()])
def test_every_partition_has_one_keeper_and_it_is_the_leader(kafka):
    members = brokers(kafka)
    for number in range(50):
        keepers = [each for each in members if each.maintains("t", number)]
        assert len(keepers) == 1
        if kafka:
            assert keepers[0].node_id == members[0].leader("t", number)


def test_a_job_is_done_by_one_of_the_live_brokers():
    members = brokers((1,))
    for job in ("offsets", "identities"):
        (doer,) = [each for each in members if each.runs(job)]
        left = [each for each in members if each is not doer]
        for each in left:
            each._learn([node for node in each.all if node.name != doer.name])
        assert sum(each.runs(job) for each in left) == 1
