"""Histories written by hand, about promotions of a replica that is behind.  test_rules.py says what they break."""

from __future__ import annotations

from tests.sim.story import Story


def _begin(story: Story, *, may_lose: bool = True, shards: int = 1) -> None:
    story.events[0] |= {"may_lose": may_lose, "shards": shards}


def _promoted(story: Story, at: float = 0.0) -> None:
    story.now = max(story.now, at)
    story.note("promotion", shard="shard0", was="r0", now="r1")


def _reported(story: Story, first: int, last: int) -> None:
    story.note("loss", broker="b0", lost="partition", topic="t", partition=0, first=first, last=last)


def lost_and_reported(story: Story) -> None:
    _begin(story)
    story.sent("a-1", "a-2", "a-3", at=0)
    _promoted(story)
    _reported(story, 1, 2)
    story.logged("a-1")


def an_index_differs(story: Story) -> None:
    story.note("index", difference="stable_offset", where="t:0", detail="it is 3, and the log says 4")


def a_marker_differs(story: Story) -> None:
    story.note("index", difference="marker", where="t:0", detail="it commits a transaction that is aborted")


def a_marker_differs_after_a_loss(story: Story) -> None:
    lost_and_reported(story)
    story.note("index", difference="marker", where="t:0", detail="it commits a transaction that is aborted")


def lost_and_not_reported(story: Story) -> None:
    _begin(story)
    story.sent("a-1", "a-2", at=0)
    _promoted(story)
    story.logged("a-1")


def lost_beside_what_was_reported(story: Story) -> None:
    _begin(story)
    story.sent("a-1", "a-2", "a-3", at=0)
    _promoted(story)
    _reported(story, 2, 2)
    story.logged("a-1")


def lost_with_its_coordinator(story: Story) -> None:
    """The coordinator lost the decision, and aborted the transaction; its partition has lost nothing."""
    _begin(story, shards=3)
    story.sent("a-1", txn="x", at=0)
    story.ended("x")
    _promoted(story)
    story.note("loss", broker="b0", lost="coordinator")
    story.logged()


def lost_long_before_the_promotion(story: Story) -> None:
    _begin(story)
    story.sent("a-1", at=0)
    _promoted(story, at=100.0)
    _reported(story, 0, 0)
    story.logged()


def lost_although_replicas_confirmed(story: Story) -> None:
    _begin(story, may_lose=False)
    story.sent("a-1", at=0)
    _promoted(story)
    story.logged()


def torn_on_one_server(story: Story) -> None:
    _torn(story, shards=1)


def torn_on_several_servers(story: Story) -> None:
    _torn(story, shards=3)


def _torn(story: Story, shards: int) -> None:
    _begin(story, shards=shards)
    story.sent("a-1", "a-2", txn="x", at=0)
    story.ended("x")
    _promoted(story)
    _reported(story, 1, 1)
    story.logged("a-1")


def redelivered_after_a_promotion(story: Story) -> None:
    _begin(story)
    story.sent("a-1")
    story.received((0, "a-1"))
    story.acked(0)
    _promoted(story)
    story.received((0, "a-1"))
    story.logged("a-1")


def transaction_open_again(story: Story) -> None:
    _begin(story)
    story.sent("a-1", "a-2")
    story.read("a-1", "a-2", stable=2)
    _promoted(story)
    story.read(stable=0, end_offset=2)
    story.logged("a-1", "a-2")


def end_went_back(story: Story) -> None:
    _begin(story)
    story.sent("a-1", "a-2")
    story.read("a-1", "a-2", stable=0, end_offset=2)
    _promoted(story)
    story.read("a-1", stable=0, end_offset=1)
    story.logged("a-1", "a-2")


def reported_and_there(story: Story) -> None:
    _begin(story)
    story.sent("a-1", "a-2", at=0)
    _promoted(story)
    _reported(story, 1, 1)
    story.logged("a-1", "a-2")


def reported_without_a_promotion(story: Story) -> None:
    _begin(story)
    _reported(story, 1, 1)


def reported_although_replicas_confirmed(story: Story) -> None:
    _begin(story, may_lose=False)
    _promoted(story)
    story.note("loss", broker="b0", lost="other")
