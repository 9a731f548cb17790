"""One seed is one schedule; another seed is another one."""

from __future__ import annotations

import pytest

from tests.sim.schedule import FAULTS, KILLS, TOPOLOGIES, choices, links, nodes, schedule


def test_a_seed_gives_the_same_schedule_every_time():
    assert schedule(7, 60.0) == schedule(7, 60.0)
    assert schedule(7, 60.0) != schedule(8, 60.0)
    assert choices(7, "sdk.produce.0").random() == choices(7, "sdk.produce.0").random()
    assert choices(7, "sdk.produce.0").random() != choices(7, "sdk.produce.1").random()


def test_faults_end_in_time_and_do_not_overlap_on_one_target():
    for seed in range(50):
        plan = schedule(seed, 30.0)
        free: dict[str, float] = {}
        for fault in plan.faults:
            assert fault.ends_s <= plan.seconds + 0.01
            assert fault.at_s >= free.get(fault.target, 0.0)
            assert fault.at_s >= free.get(plan.lock(fault), 0.0)
            free[fault.target] = free[plan.lock(fault)] = fault.ends_s


def test_fifty_seeds_have_every_fault_on_every_kind_of_target():
    plans = [schedule(seed, 30.0) for seed in range(50)]
    assert {fault.kind for plan in plans for fault in plan.faults} == FAULTS.keys()
    assert {plan.brokers for plan in plans} == {1, 2, 3}
    assert {(plan.topology, plan.durability) for plan in plans} == {
        ("single", "process"), ("cluster", "process"), ("sentinel", "process"), ("sentinel", "replicas"),
        ("cluster-replicas", "process"), ("cluster-replicas", "replicas"),
    }  # fmt: skip


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_fifty_seeds_have_faults_on_every_link_of_a_topology(topology):
    plans = [schedule(seed, 60.0, topology=topology) for seed in range(50)]
    targets = {fault.target for plan in plans for fault in plan.faults}
    assert targets >= {*links(3, topology), *nodes(topology)}


@pytest.mark.parametrize("durability", ["process", "replicas"])
def test_one_server_of_a_shard_fails_at_a_time(durability):
    """A second one could take the last copy with it."""
    for seed in range(20):
        plan = schedule(seed, 60.0, topology="sentinel", durability=durability)
        last = 0.0
        for fault in plan.faults:
            if fault.kind.startswith(("redis.", "disk.", "shard.")):
                assert fault.at_s >= last
                last = fault.ends_s


def test_a_chapter_has_faults_and_names_of_its_own_on_the_same_servers():
    first, second = (schedule(7, 60.0, chapter=number, is_dense=True) for number in (0, 1))
    assert first.world == second.world
    assert first.faults != second.faults
    assert not {each.name for each in first.workers} & {each.name for each in second.workers}


def test_most_faults_of_a_dense_schedule_are_kills():
    for topology in TOPOLOGIES:
        faults = [f for seed in range(10) for f in schedule(seed, 120.0, topology=topology, is_dense=True).faults]
        assert sum(fault.kind in KILLS for fault in faults) > len(faults) / 2
