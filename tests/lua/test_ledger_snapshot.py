"""lua/ledger/snapshot: stores a snapshot if the stored one is still the one that it continues."""

from __future__ import annotations

from redis_ledger.store.script_status import Status
from tests.support.ledger_scripts import TOPIC_ID, Ledger


def store(ledger: Ledger, before: str, head: str, *segments: str, replace: int = 0, deleted=(), topic_id=TOPIC_ID):
    k = ledger.keys
    args = (topic_id, before, head, f"index of {head}", replace, len(deleted), *deleted, *segments)
    return ledger.run("ledger/snapshot", (k.state, k.snapshot), *args)


def held(ledger: Ledger) -> dict[str, str]:
    return {name.decode(): text.decode() for name, text in ledger.client.hgetall(ledger.keys.snapshot).items()}


def test_segments_are_added_and_deleted_with_the_index(ledger):
    assert store(ledger, "", "one", "s1", "a", "s2", "b") == [Status.OK]
    assert held(ledger) == {"head": "one", "index": "index of one", "s1": "a", "s2": "b"}
    assert store(ledger, "one", "two", "s3", "c", deleted=("s1", "s2")) == [Status.OK]
    assert held(ledger) == {"head": "two", "index": "index of two", "s3": "c"}


def test_of_two_that_continue_the_same_snapshot_one_is_stored(ledger):
    store(ledger, "", "one", "s1", "a")
    assert store(ledger, "one", "two") == [Status.OK]
    before = ledger.dump()
    assert store(ledger, "one", "other", "s1", "x", deleted=("s1",)) == [Status.STALE]
    assert store(ledger, "", "first", replace=1) == [Status.STALE]
    assert ledger.dump() == before


def test_a_new_beginning_keeps_nothing_of_the_stored_snapshot(ledger):
    store(ledger, "", "one", "s1", "a", "s9", "z")
    assert store(ledger, "one", "two", "s1", "b", replace=1) == [Status.OK]
    assert held(ledger) == {"head": "two", "index": "index of two", "s1": "b"}


def test_a_partition_of_another_topic_id_gets_none(ledger):
    before = ledger.dump()
    assert store(ledger, "", "one", topic_id="t-2") == [Status.UNKNOWN_TOPIC]
    assert ledger.dump() == before
