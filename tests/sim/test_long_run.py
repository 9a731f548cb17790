"""A long run counts transactions, kills and promotions, and tells a log that has changed from one that has not."""

from __future__ import annotations

from tests.sim.digest import Digest, digests
from tests.sim.long_run import Goal, Totals, totals
from tests.sim.story import Story


def test_a_tally_counts_what_has_an_outcome_and_what_was_killed():
    story = Story()
    story.sent("a-1", txn="x")
    story.ended("x")
    story.sent("a-2", txn="y")
    story.ended("y", "aborted")
    story.sent("a-3", txn="z")
    story.ended("z", kind="info")
    for kind in ("broker.kill", "shard.behind", "link.cut"):
        story.note("fault", fault=kind, target="x", phase="begin")
        story.note("fault", fault=kind, target="x", phase="end")
    story.note("promotion", shard="shard0", was="r0", now="r1")
    assert totals(story.history())[:3] == (2, 2, 1)


def test_a_run_goes_on_until_both_numbers_are_reached():
    assert not Totals(100, 9).reaches(Goal(100, 10))
    assert not Totals(99, 10).reaches(Goal(100, 10))
    assert Totals(60, 5).plus(Totals(40, 5)).reaches(Goal(100, 10))


def test_a_digest_depends_on_offsets_and_values_of_the_final_log():
    story = Story()
    story.sent("a-1", "a-2")
    story.logged("a-1", "a-2")
    found = digests(story.history(), ["t", "empty"], 1)
    assert found["t", 0] == Digest([(0, "a-1"), (1, "a-2")]).text
    assert found["t", 0] != Digest([(0, "a-1"), (2, "a-2")]).text
    assert found["empty", 0] == Digest().text
