"""Histories written by hand, about failover and key_shared subscriptions.  test_rules.py says what they break."""

from __future__ import annotations

from typing import Any

from tests.sim.story import Story

ACTIVE: dict[str, Any] = {"sharing": "failover"}
BY_KEY: dict[str, Any] = {"sharing": "key_shared", "ack_timeout_ms": 60_000}


def _nacked(story: Story, *offsets: int, delay_ms: int = 0) -> None:
    ids = [[0, offset] for offset in offsets]
    story.did("nack", topic="t", subscription="s", consumer="c", ids=ids, delay_ms=delay_ms)


def two_are_active(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.received((0, "a-1"), start=3, end=3.5, **ACTIVE)
    story.received((0, "a-1"), (1, "a-2"), consumer="d", start=4, end=4.5, **ACTIVE)
    story.logged("a-1", "a-2")


def taken_over_after_a_session(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.received((0, "a-1"), start=3, end=3.5, **ACTIVE)
    story.received((0, "a-1"), (1, "a-2"), consumer="d", start=6, end=6.5, **ACTIVE)
    story.logged("a-1", "a-2")


def taken_over_after_a_close(story: Story) -> None:
    story.sent("a-1")
    story.received((0, "a-1"), start=3, end=3.2, **ACTIVE)
    story.did("close", "info", topic="t", subscription="s", consumer="c", start=3.3, end=3.4)
    story.received((0, "a-1"), consumer="d", start=3.5, end=3.6, **ACTIVE)
    story.logged("a-1")


def skipped_by_a_takeover(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.received((0, "a-1"), **ACTIVE)
    story.received((1, "a-2"), consumer="d", start=20, **ACTIVE)
    story.received((0, "a-1"), consumer="d", start=30, **ACTIVE)
    story.logged("a-1", "a-2")


def acknowledged_before_a_takeover(story: Story) -> None:
    story.sent("a-1", "a-2", "a-3")
    story.received((0, "a-1"), (1, "a-2"), **ACTIVE)
    story.acked(1, kind="info", cumulative=True)
    story.received((2, "a-3"), consumer="d", start=20, **ACTIVE)
    story.logged("a-1", "a-2", "a-3")


def returned_with_a_delay_before_a_takeover(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.received((0, "a-1"), **ACTIVE)
    _nacked(story, 0, delay_ms=60_000)
    story.received((1, "a-2"), consumer="d", start=20, **ACTIVE)
    story.logged("a-1", "a-2")


def skipped_by_a_prefetching_consumer(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.received((0, "a-1"), **ACTIVE)
    story.received((1, "a-2"), consumer="d", prefetched=True, start=20, **ACTIVE)
    story.received((0, "a-1"), consumer="d", prefetched=True, start=30, **ACTIVE)
    story.logged("a-1", "a-2")


def handed_out_after_a_takeover(story: Story) -> None:
    """It was fetched before the session ended, and before a delay was over."""
    story.sent("a-1", "a-2", "a-3")
    story.received((0, "a-1"), consumer="d", prefetched=True, **ACTIVE)
    _nacked(story, 0, delay_ms=1)
    story.received((1, "a-2"), prefetched=True, start=18, **ACTIVE)
    story.received((1, "a-2"), (2, "a-3"), consumer="d", prefetched=True, start=19, **ACTIVE)
    story.received(consumer="e", start=60, **ACTIVE)
    story.logged("a-1", "a-2", "a-3")


def nothing_taken_over(story: Story) -> None:
    story.sent("a-1")
    story.received((0, "a-1"), **ACTIVE)
    story.received(consumer="d", start=20, **ACTIVE)
    story.logged("a-1")


def nothing_taken_over_yet(story: Story) -> None:
    story.sent("a-1")
    story.received((0, "a-1"), **ACTIVE)
    story.received(consumer="d", start=5, **ACTIVE)
    story.logged("a-1")


def _sent_with_a_key(story: Story) -> None:
    story.sent("a-1", "a-2", keys=["k", "k"])


def a_key_at_two_consumers(story: Story) -> None:
    _sent_with_a_key(story)
    story.received((0, "a-1"), **BY_KEY)
    story.received((1, "a-2"), consumer="d", **BY_KEY)
    story.logged("a-1", "a-2")


def a_key_behind_what_was_returned(story: Story) -> None:
    _sent_with_a_key(story)
    story.received((0, "a-1"), **BY_KEY)
    _nacked(story, 0)
    story.received((1, "a-2"), **BY_KEY)
    story.logged("a-1", "a-2")


def a_key_behind_a_lease_that_is_over(story: Story) -> None:
    _sent_with_a_key(story)
    story.received((0, "a-1"), **BY_KEY)
    story.received((1, "a-2"), start=90, **BY_KEY)
    story.logged("a-1", "a-2")


def a_key_backwards_in_one_answer(story: Story) -> None:
    _sent_with_a_key(story)
    story.received((1, "a-2"), (0, "a-1"), **BY_KEY)
    story.logged("a-1", "a-2")


def a_key_behind_an_aborted_acknowledgement(story: Story) -> None:
    _sent_with_a_key(story)
    story.received((0, "a-1"), **BY_KEY)
    story.acked(0, txn="x")
    story.ended("x", "aborted")
    story.received((1, "a-2"), consumer="d", **BY_KEY)
    story.logged("a-1", "a-2")


def a_key_in_order(story: Story) -> None:
    """It stays with its consumer, goes to the next one with all that was returned, and on after the acknowledgement."""
    story.sent("a-1", "a-2", "b-1", "a-3", keys=["k", "k", None, "k"])
    story.received((0, "a-1"), **BY_KEY)
    story.received((1, "a-2"), **BY_KEY)
    _nacked(story, 0)
    story.received((2, "b-1"), consumer="e", **BY_KEY)
    story.received((0, "a-1"), (1, "a-2"), consumer="d", **BY_KEY)
    story.acked(0, 1, kind="info", consumer="d")
    story.received((3, "a-3"), **BY_KEY)
    story.logged("a-1", "a-2", "b-1", "a-3")


def a_key_behind_a_lost_answer(story: Story) -> None:
    _sent_with_a_key(story)
    story.did("receive", "info", topic="t", subscription="s", consumer="c", **BY_KEY)
    story.received((1, "a-2"), **BY_KEY)
    story.received((0, "a-1"), (1, "a-2"), start=90, **BY_KEY)
    story.logged("a-1", "a-2")


def a_key_in_two_partitions(story: Story) -> None:
    """Clients may choose the partition of a key differently, so each partition has an order of its own."""
    story.sent("a-1", keys=["k"])
    story.sent("b-1", partition=1, writer="v", keys=["k"])
    story.received((0, "a-1"), **BY_KEY)
    answer = {"records": [[1, 0, "b-1"]]}
    story.did("receive", topic="t", subscription="s", consumer="d", answer=answer, **BY_KEY)
    story.logged("a-1")
    story.logged("b-1", partition=1)


def _drained(story: Story) -> None:
    story.note("mark", name="drained", machine_s=2.0, left={})


def passed_without_an_acknowledgement(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.received((0, "a-1"), (1, "a-2"))
    story.acked(0)
    story.acked(1, txn="x")
    story.ended("x", "aborted")
    _drained(story)
    story.logged("a-1", "a-2")


def passed_by_acknowledgements(story: Story) -> None:
    story.sent("a-1", "a-2", "a-3")
    story.received((0, "a-1"), (1, "a-2"), (2, "a-3"))
    story.acked(1, cumulative=True, kind="info")
    story.acked(2, txn="x")
    story.ended("x")
    _drained(story)
    story.logged("a-1", "a-2", "a-3")
