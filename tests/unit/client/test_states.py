from __future__ import annotations

import itertools

import pytest

from redis_ledger.client.states import TRANSITIONS, TxnEvent, TxnState, after
from redis_ledger.errors import InvalidTxnStatus

S, E = TxnState, TxnEvent
# Said once more: what leads where, and everything else is refused.
ALLOWED = {
    ("open", E.OPERATE): "open",
    ("open", E.COMMIT): "committing",
    ("open", E.ABORT): "aborting",
    ("open", E.EXPIRE): "timed_out",
    ("committing", E.COMMIT): "committing",
    ("committing", E.ANSWERED): "committed",
    ("committing", E.FAILED): "aborting",
    ("committing", E.REFUSED): "error",
    ("aborting", E.ABORT): "aborting",
    ("aborting", E.ANSWERED): "aborted",
    ("aborting", E.REFUSED): "error",
}


@pytest.mark.parametrize(("state", "event"), list(itertools.product(TxnState, TxnEvent)))
def test_every_pair_of_state_and_event_leads_where_the_requirement_says(state, event):
    """CL-10"""
    expected = ALLOWED.get((state.value, event))
    if expected is None:
        with pytest.raises(InvalidTxnStatus):
            after(state, event, "3-17")
    else:
        assert after(state, event, "3-17").value == expected


@pytest.mark.parametrize("state", [S.COMMITTED, S.ABORTED, S.TIMED_OUT, S.ERROR])
def test_nothing_leads_out_of_an_ended_transaction(state):
    assert [event for (start, event) in TRANSITIONS if start is state] == []


def test_a_refusal_names_the_transaction_and_its_state():
    with pytest.raises(InvalidTxnStatus, match="3-17 is timed out") as refused:
        after(S.TIMED_OUT, E.COMMIT, "3-17")
    assert refused.value.facts == {"transaction": "3-17", "status": "timed_out"}
