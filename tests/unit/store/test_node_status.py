"""The decision on a Redis node: (promised, known, observed) ─▶ status."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redis_ledger.errors import RedisUnfit, TooFewReplicas
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.node_status import ExpectedNode, KnownNode, NodeState, ObservedNode, has_changed, node_status
from redis_ledger.store.replication_info import ReplicationInfo
from redis_ledger.store.server_info import NodeInfo
from tests.unit.store.test_suitability import GOOD

DISK = ExpectedNode("disk")
REPLICATED = ExpectedNode("replicas", copies=CopiesRequired(2, 5_000))
WEAK = replace(GOOD, appendonly=False)
MISCONF = "MISCONF Errors writing to the AOF file: No space left on device"


def replicas(*lags: int) -> NodeInfo:
    return replace(GOOD, replication=ReplicationInfo(True, "a", lags))


@pytest.mark.parametrize(
    ("promised", "known", "seen", "state"),
    [
        # the first start
        (DISK, KnownNode(), ObservedNode(GOOD, ""), NodeState.FIT),
        (DISK, KnownNode(), ObservedNode(GOOD, "a"), NodeState.FIT),
        # the usual
        (DISK, KnownNode("a", GOOD), ObservedNode(GOOD, "a"), NodeState.FIT),
        (DISK, KnownNode("a", GOOD), ObservedNode(replace(GOOD, run_id="2", replication_id="b"), "a"), NodeState.FIT),
        # a node that has no cluster id to tell, or does not tell it
        (DISK, KnownNode("a", GOOD), ObservedNode(GOOD, None), NodeState.FIT),
        # lost, replaced
        (DISK, KnownNode("a", GOOD), ObservedNode(GOOD, ""), NodeState.EMPTY),
        (DISK, KnownNode("a"), ObservedNode(GOOD, ""), NodeState.EMPTY),
        (DISK, KnownNode("a", GOOD), ObservedNode(GOOD, "b"), NodeState.FOREIGN),
        (DISK, KnownNode(), ObservedNode(GOOD, "b", claim="a"), NodeState.CLAIMED),
        (DISK, KnownNode("b"), ObservedNode(GOOD, "b", claim="a"), NodeState.CLAIMED),
        (DISK, KnownNode(), ObservedNode(GOOD, "", claim="a"), NodeState.CLAIMED),
        (DISK, KnownNode("a", GOOD), ObservedNode(GOOD, "a", claim="a"), NodeState.FIT),
        (DISK, KnownNode("a", GOOD), ObservedNode(GOOD, None, claim="a"), NodeState.FIT),
        # weaker than promised
        (DISK, KnownNode("a", GOOD), ObservedNode(WEAK, "a"), NodeState.WEAKER),
        (ExpectedNode("lossy"), KnownNode("a", GOOD), ObservedNode(WEAK, "a"), NodeState.FIT),
        (ExpectedNode(), KnownNode("a", GOOD), ObservedNode(WEAK, "a"), NodeState.FIT),
        (
            ExpectedNode("process"),
            KnownNode("a", GOOD),
            ObservedNode(replace(GOOD, appendfsync="no"), "a"),
            NodeState.FIT,
        ),
        (DISK, KnownNode("a", GOOD), ObservedNode(replace(GOOD, appendfsync="no"), "a"), NodeState.WEAKER),
        (
            DISK,
            KnownNode("a", GOOD),
            ObservedNode(replace(GOOD, maxmemory_policy="allkeys-lfu"), "a"),
            NodeState.WEAKER,
        ),
        (DISK, KnownNode("a", GOOD), ObservedNode(replace(GOOD, role="slave", follows="p:1"), "a"), NodeState.WEAKER),
        # too few replicas
        (REPLICATED, KnownNode("a", GOOD), ObservedNode(replicas(0), "a"), NodeState.FIT),
        (REPLICATED, KnownNode("a", GOOD), ObservedNode(replicas(0, 9), "a"), NodeState.FIT),
        (REPLICATED, KnownNode("a", GOOD), ObservedNode(replicas(), "a"), NodeState.REPLICAS),
        (REPLICATED, KnownNode("a", GOOD), ObservedNode(replicas(9), "a"), NodeState.REPLICAS),
        (REPLICATED, KnownNode("a", GOOD), ObservedNode(replicas(9), ""), NodeState.EMPTY),
        (DISK, KnownNode("a", GOOD), ObservedNode(replicas(), "a"), NodeState.FIT),
        # it cannot save
        (ExpectedNode(), KnownNode("a", GOOD), ObservedNode(GOOD, "a", misconf=MISCONF), NodeState.DISK),
        # several at once: lost data first
        (DISK, KnownNode("a", GOOD), ObservedNode(WEAK, "", misconf=MISCONF), NodeState.EMPTY),
        (DISK, KnownNode("a", GOOD), ObservedNode(WEAK, "b", claim="c"), NodeState.FOREIGN),
    ],
)
def test_a_look_has_one_outcome(promised, known, seen, state):
    status = node_status(promised, known, seen)
    assert status.state is state
    assert bool(status.sentence) == (state is not NodeState.FIT)
    assert type(status.error) is (TooFewReplicas if state is NodeState.REPLICAS else RedisUnfit)
    assert status.is_readable == (state in (NodeState.FIT, NodeState.DISK, NodeState.WEAKER))


@pytest.mark.parametrize("state", [ObservedNode(GOOD, ""), ObservedNode(GOOD, "b"), ObservedNode(GOOD, "a", claim="z")])
def test_error_names_the_next_step(state):
    over = "stop all brokers, delete /data/cluster-id and start them again"
    says = node_status(ExpectedNode("disk", over), KnownNode("a", GOOD), state).sentence
    assert "Bring" in says
    assert over in says


def test_a_restart_that_undid_the_append_only_file_is_advised_to_load_it_and_not_to_replace_it():
    restarted = replace(WEAK, run_id="2")
    assert (
        "Do not run CONFIG SET appendonly yes"
        in node_status(DISK, KnownNode("a", GOOD), ObservedNode(restarted, "a")).sentence
    )
    assert "Do not run" not in node_status(DISK, KnownNode("a", GOOD), ObservedNode(WEAK, "a")).sentence


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        (None, GOOD, False),
        (GOOD, GOOD, False),
        (GOOD, replace(GOOD, run_id="2"), True),
        (GOOD, replace(GOOD, replication_id="b"), True),
        (replace(GOOD, run_id=None), replace(GOOD, run_id=None), False),
    ],
)
def test_another_run_or_replication_id_raises_the_question_of_older_data(before, now, changed):
    assert has_changed(before, now) is changed
