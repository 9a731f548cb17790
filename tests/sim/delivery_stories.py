"""Histories written by hand, about subscriptions and groups.  test_rules.py says what they break."""

from __future__ import annotations

from tests.sim.story import Story


def redelivered(story: Story) -> None:
    story.sent("a-1")
    story.received((0, "a-1"))
    story.acked(0)
    story.received((0, "a-1"), consumer="d")
    story.logged("a-1")


def redelivered_after_a_committed_ack(story: Story) -> None:
    story.sent("a-1")
    story.received((0, "a-1"))
    story.acked(0, txn="x")
    story.ended("x")
    story.received((0, "a-1"))
    story.logged("a-1")


def redelivered_after_an_unknown_ack(story: Story) -> None:
    story.sent("a-1")
    story.received((0, "a-1"))
    story.acked(0, kind="info")
    story.received((0, "a-1"))
    story.acked(0, txn="x")
    story.ended("x", "aborted")
    story.received((0, "a-1"))
    story.logged("a-1")


def delivered_twice_at_once(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.received((0, "a-1"), (1, "a-2"), (0, "a-1"))
    story.logged("a-1", "a-2")


def not_delivered(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.received((1, "a-2"))
    story.acked(0, 1)
    story.logged("a-1", "a-2")


def delivered_ahead(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.received((1, "a-2"), sharing="exclusive")
    story.received((0, "a-1"), sharing="exclusive")
    story.logged("a-1", "a-2")


def delivered_again_in_order(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.received((0, "a-1"), sharing="exclusive")
    story.received((0, "a-1"), (1, "a-2"), sharing="exclusive")
    story.logged("a-1", "a-2")


def _committed(story: Story, offset: int, kind: str = "ok") -> None:
    story.did("offsets", kind, topic="t", group="g", positions={"0": offset})


def group_went_back(story: Story) -> None:
    _committed(story, 3)
    _committed(story, 5)
    story.note("group_offsets", group="g", topic="t", positions={"0": 3})


def group_went_back_by_a_late_commit(story: Story) -> None:
    _committed(story, 3, "info")
    _committed(story, 5)
    story.note("group_offsets", group="g", topic="t", positions={"0": 3})
