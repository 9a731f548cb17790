"""Histories written by hand: each breaks one rule, or keeps all of them.  test_rules.py says which."""

from __future__ import annotations

from typing import Any

from tests.sim.digest import Digest
from tests.sim.story import Story


def lost(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.logged("a-2")


def lost_with_its_commit(story: Story) -> None:
    story.sent("a-1", txn="x")
    story.ended("x")
    story.logged()


def not_acknowledged(story: Story) -> None:
    story.sent("a-1", kind="info")
    story.sent("a-2", txn="x")
    story.ended("x", kind="info")
    story.logged()


def doubled(story: Story) -> None:
    story.sent("a-1", kind="info")
    story.logged("a-1", "a-1")


def doubled_by_a_plain_producer(story: Story) -> None:
    story.sent("a-1", mode="plain")
    story.logged("a-1", "a-1")


def from_nowhere(story: Story) -> None:
    story.sent("a-1")
    story.logged("a-1", "b-1")


def in_another_partition(story: Story) -> None:
    story.sent("a-1", partition=1)
    story.logged("a-1")


def out_of_order(story: Story) -> None:
    story.sent("a-1")
    story.sent("a-2")
    story.logged("a-2", "a-1")


def two_writers(story: Story) -> None:
    story.sent("a-1")
    story.sent("b-1", writer="v")
    story.logged("b-1", "a-1")


def changed(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.read("a-2", "a-1")
    story.logged("a-1", "a-2")


def answered_elsewhere(story: Story) -> None:
    story.sent("a-1", at=1)
    story.sent("b-1", at=0, writer="v")
    story.logged("a-1", "b-1")


def answered_where_it_is(story: Story) -> None:
    story.sent("a-1", at=0)
    story.sent("b-1", at=1, writer="v")
    story.read("a-1", "b-1")
    story.logged("a-1", "b-1")


def stable_offset_back(story: Story) -> None:
    story.sent("a-1", "a-2")
    story.read("a-1", "a-2", stable=2)
    story.read("a-1", "a-2", stable=1, end_offset=2)
    story.logged("a-1", "a-2")


def concurrent_reads(story: Story) -> None:
    """The second began before the first had ended, so its answer may be the older one."""
    story.sent("a-1", "a-2")
    story.read("a-1", "a-2", stable=2, start=3, end=5)
    story.read("a-1", stable=1, end_offset=2, start=4, end=6)
    story.logged("a-1", "a-2")


def passed_over(story: Story) -> None:
    story.sent("a-1", "a-2", "a-3")
    answer = {"records": [[0, 0, "a-1"], [0, 2, "a-3"]], "from": 0, "next": 3}
    story.did("read", topic="t", partition=0, isolation="read_committed", reader="r", answer=answer)
    story.logged("a-1", "a-2", "a-3")


def _surveyed(story: Story, after: str) -> None:
    story.note("survey", topic="t", partition=0, before=Digest([(0, "a-1"), (1, "a-2")]).text, after=after)


def changed_later(story: Story) -> None:
    _surveyed(story, Digest([(0, "a-1"), (2, "a-2")]).text)


def unchanged(story: Story) -> None:
    _surveyed(story, Digest([(0, "a-1"), (1, "a-2")]).text)


def torn(story: Story) -> None:
    story.sent("a-1", "a-2", txn="x")
    story.ended("x", kind="info")
    story.logged("a-1")


def whole_after_an_unknown_commit(story: Story) -> None:
    story.sent("a-1", "a-2", txn="x")
    story.ended("x", kind="info")
    story.logged("a-1", "a-2")


def aborted_and_read(story: Story) -> None:
    story.sent("a-1", txn="x")
    story.ended("x", "aborted")
    story.read("a-1")
    story.logged()


def abandoned_and_read(story: Story) -> None:
    story.sent("a-1", txn="x")
    story.received((0, "a-1"))
    story.logged()


def aborted_and_read_uncommitted(story: Story) -> None:
    story.sent("a-1", txn="x")
    story.ended("x", "aborted")
    story.read("a-1", isolation="read_uncommitted")
    story.logged()


def read_before_the_commit(story: Story) -> None:
    story.sent("a-1", txn="x")
    story.read("a-1")
    story.ended("x")
    story.logged("a-1")


def read_while_it_commits(story: Story) -> None:
    story.sent("a-1", txn="x")
    story.ended("x", start=5, end=9)
    story.read("a-1", start=6, end=7)
    story.logged("a-1")


def a_reader_waits_in_the_sidecar_buffer(story: Story) -> None:
    story.sent("a-1", topic="aside")
    story.read("a-1", topic="aside", stable=1, end_offset=2)
    story.logged("a-1", topic="aside")


def a_reader_waits_in_the_marker_buffer(story: Story) -> None:
    story.sent("a-1")
    story.read("a-1", stable=1, end_offset=2)
    story.logged("a-1")


def _committed_aside(story: Story, *log: str) -> None:
    """Two transactions side by side; the one that began later commits first."""
    story.sent("a-1", txn="x", topic="aside")
    story.sent("b-1", "b-2", txn="y", topic="aside", writer="v")
    story.sent("a-2", txn="x", topic="aside")
    story.ended("y")
    story.ended("x")
    story.logged(*log, topic="aside")


def mixed_in_the_sidecar_buffer(story: Story) -> None:
    _committed_aside(story, "b-1", "a-1", "b-2", "a-2")


def whole_in_the_order_of_the_commits(story: Story) -> None:
    _committed_aside(story, "b-1", "b-2", "a-1", "a-2")


def committed_and_aborted(story: Story) -> None:
    story.sent("a-1", txn="x")
    story.ended("x")
    story.ended("x", "aborted", kind="fail")
    story.logged("a-1")


def fenced_and_visible(story: Story) -> None:
    story.did("init", transactional_id="id", writer="old")
    story.did("init", transactional_id="id", writer="new")
    story.sent("a-1", txn="x", writer="old")
    story.ended("x", kind="info")
    story.logged("a-1")


def fenced_and_refused(story: Story) -> None:
    story.did("init", transactional_id="id", writer="old")
    story.sent("a-1", txn="x", writer="old")
    story.ended("x")
    story.did("init", transactional_id="id", writer="new")
    story.sent("a-2", txn="y", writer="old")
    story.ended("y", kind="info")
    story.logged("a-1")


def _pipeline(story: Story, *sources: str) -> None:
    story.note("pipeline", pipeline="p", input="t")
    story.sent("a-1", "a-2")
    story.logged("a-1", "a-2")
    for number, source in enumerate(sources):
        call: dict[str, Any] = {"topic": "out", "pipeline": "p", "sources": [source], "txn": f"x{number}"}
        story.sent(f"{source}>p#{number}", **call)
        story.ended(f"x{number}", kind="info")
    story.logged(*(f"{source}>p#{number}" for number, source in enumerate(sources)), topic="out")


def processed_twice(story: Story) -> None:
    _pipeline(story, "a-1", "a-2", "a-1")


def not_processed(story: Story) -> None:
    _pipeline(story, "a-1")


def processed_once(story: Story) -> None:
    _pipeline(story, "a-1", "a-2")


def early(story: Story) -> None:
    story.sent("a-1", due_ms=1_010_000)
    story.read("a-1")
    story.now = 100.0
    story.logged("a-1")


def early_by_a_clock_that_is_ahead(story: Story) -> None:
    story.note("fault", fault="clock.step", target="b0", phase="begin", amount=20_000)
    early(story)


def in_time(story: Story) -> None:
    story.sent("a-1", due_ms=1_001_000)
    story.read("a-1")
    story.logged("a-1")


def scheduled_and_lost(story: Story) -> None:
    story.sent("a-1", due_ms=1_001_000)
    story.logged()


def scheduled_and_cancelled(story: Story) -> None:
    story.sent("a-1", due_ms=1_001_000)
    story.did("cancel", value="a-1", topic="t", answer={"outcome": "cancelled"})
    story.logged()


def cancelled_and_there(story: Story) -> None:
    story.sent("a-1", due_ms=1_001_000)
    story.did("cancel", value="a-1", topic="t", answer={"outcome": "cancelled"})
    story.logged("a-1")


def delivered_and_not_there(story: Story) -> None:
    story.sent("a-1", due_ms=1_001_000, kind="info")
    story.did("cancel", value="a-1", topic="t", answer={"outcome": "already_delivered"})
    story.logged()


def _ticking(story: Story, rate: float) -> None:
    for at in range(100):
        tick = {"actor": "run", "kind": "info", "op": "tick", "id": 0}
        story.events.append({"at": float(at), "machine_s": at * rate, **tick})


def idle_after_the_faults(story: Story) -> None:
    _ticking(story, 1.0)
    story.note("mark", name="faults_over", actors=["w"])
    story.sent("a-1", start=60, end=61)
    story.logged("a-1")


def slow_on_a_starved_machine(story: Story) -> None:
    _ticking(story, 0.25)
    story.note("mark", name="faults_over", actors=["w"])
    story.sent("a-1", start=60, end=61)
    story.logged("a-1")


def never_drained(story: Story) -> None:
    story.note("mark", name="drained", machine_s=31.0, left={"open transactions of t": 1})


def drained(story: Story) -> None:
    story.note("mark", name="drained", machine_s=2.0, left={})


def _footprint(story: Story, keys: int) -> None:
    story.note("footprint", records=0, records_max=0, keys=keys, keys_max=100, bytes=1, bytes_max=10, detail="")


def keys_left(story: Story) -> None:
    _footprint(story, 101)


def few_keys(story: Story) -> None:
    _footprint(story, 100)


def a_client_ended(story: Story) -> None:
    story.note("broke", error="KeyError: 'x'")


def every_client_goes_on(story: Story) -> None:
    story.sent("a-1")
    story.logged("a-1")
