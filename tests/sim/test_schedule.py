"""One seed is one schedule; another seed is another one."""

from __future__ import annotations

from tests.sim.schedule import FAULTS, choices, links, schedule


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
            free[fault.target] = fault.ends_s


def test_fifty_seeds_have_every_fault_on_every_kind_of_target():
    plans = [schedule(seed, 30.0) for seed in range(50)]
    assert {fault.kind for plan in plans for fault in plan.faults} == FAULTS.keys()
    assert {plan.brokers for plan in plans} == {1, 2, 3}
    assert {fault.target for plan in plans for fault in plan.faults} >= {*links(3, "single"), *links(3, "cluster")}
