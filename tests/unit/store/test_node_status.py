"""What a look at a Redis node decides: (promised, known, seen) ─▶ standing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redis_ledger.store.node_status import Known, NodeState, Promised, Seen, has_changed, judge
from tests.unit.store.test_suitability import GOOD

DISK = Promised("disk")
WEAK = replace(GOOD, appendonly=False)
MISCONF = "MISCONF Errors writing to the AOF file: No space left on device"


@pytest.mark.parametrize(
    ("promised", "known", "seen", "state"),
    [
        # the first start
        (DISK, Known(), Seen(GOOD, ""), NodeState.FIT),
        (DISK, Known(), Seen(GOOD, "a"), NodeState.FIT),
        # the usual
        (DISK, Known("a", GOOD), Seen(GOOD, "a"), NodeState.FIT),
        (DISK, Known("a", GOOD), Seen(replace(GOOD, run_id="2", replication_id="b"), "a"), NodeState.FIT),
        # a node that has no cluster id to tell, or does not tell it
        (DISK, Known("a", GOOD), Seen(GOOD, None), NodeState.FIT),
        # lost, replaced
        (DISK, Known("a", GOOD), Seen(GOOD, ""), NodeState.EMPTY),
        (DISK, Known("a"), Seen(GOOD, ""), NodeState.EMPTY),
        (DISK, Known("a", GOOD), Seen(GOOD, "b"), NodeState.FOREIGN),
        (DISK, Known(), Seen(GOOD, "b", claim="a"), NodeState.CLAIMED),
        (DISK, Known("b"), Seen(GOOD, "b", claim="a"), NodeState.CLAIMED),
        (DISK, Known(), Seen(GOOD, "", claim="a"), NodeState.CLAIMED),
        (DISK, Known("a", GOOD), Seen(GOOD, "a", claim="a"), NodeState.FIT),
        (DISK, Known("a", GOOD), Seen(GOOD, None, claim="a"), NodeState.FIT),
        # weaker than promised
        (DISK, Known("a", GOOD), Seen(WEAK, "a"), NodeState.WEAKER),
        (Promised("lossy"), Known("a", GOOD), Seen(WEAK, "a"), NodeState.FIT),
        (Promised(), Known("a", GOOD), Seen(WEAK, "a"), NodeState.FIT),
        (Promised("process"), Known("a", GOOD), Seen(replace(GOOD, appendfsync="no"), "a"), NodeState.FIT),
        (DISK, Known("a", GOOD), Seen(replace(GOOD, appendfsync="no"), "a"), NodeState.WEAKER),
        (DISK, Known("a", GOOD), Seen(replace(GOOD, maxmemory_policy="allkeys-lfu"), "a"), NodeState.WEAKER),
        (DISK, Known("a", GOOD), Seen(replace(GOOD, role="slave", follows="p:1"), "a"), NodeState.WEAKER),
        # it cannot save
        (Promised(), Known("a", GOOD), Seen(GOOD, "a", misconf=MISCONF), NodeState.DISK),
        # several at once: lost data first
        (DISK, Known("a", GOOD), Seen(WEAK, "", misconf=MISCONF), NodeState.EMPTY),
        (DISK, Known("a", GOOD), Seen(WEAK, "b", claim="c"), NodeState.FOREIGN),
    ],
)
def test_a_look_has_one_outcome(promised, known, seen, state):
    standing = judge(promised, known, seen)
    assert standing.state is state
    assert bool(standing.sentence) == (state is not NodeState.FIT)
    assert standing.is_readable == (state in (NodeState.FIT, NodeState.DISK, NodeState.WEAKER))


@pytest.mark.parametrize("state", [Seen(GOOD, ""), Seen(GOOD, "b"), Seen(GOOD, "a", claim="z")])
def test_the_sentence_says_how_to_go_on(state):
    over = "stop all brokers, delete /data/cluster-id and start them again"
    says = judge(Promised("disk", over), Known("a", GOOD), state).sentence
    assert "Bring" in says
    assert over in says


def test_a_restart_that_undid_the_append_only_file_is_advised_to_load_it_and_not_to_replace_it():
    restarted = replace(WEAK, run_id="2")
    assert "Do not run CONFIG SET appendonly yes" in judge(DISK, Known("a", GOOD), Seen(restarted, "a")).sentence
    assert "Do not run" not in judge(DISK, Known("a", GOOD), Seen(WEAK, "a")).sentence


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
