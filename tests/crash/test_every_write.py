"""A worker dies at any write of its step: another broker completes it, and a retry takes effect exactly once.

The step receives two messages, writes one record for each into two topics and acknowledges them, in one transaction.
It is cut at its first write, its second, and so on, until it survives: then every write has been passed.

    1  begin        2.1 add partition   2.2 send    2.3 add subscription   2.4 ack     3.1 end     3.2 ends   3.3 done
    1a OPEN  ──▶  2 × (2.1a, 2.2a records)  ──▶  2.3a, 2.4a PENDING_ACK  ──▶  3.1a decision ─▶ 3.2a 3.2a 3.2b ─▶ 3.3a

These are the twelve writes of the transaction (TWELVE).  To die before one of them is to die in the step that it ends.
On one Redis the last five are one write.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.broker.types import Executed
from redis_ledger.ids import MessageId
from tests.support.broker import (
    SWEPT_S_MAX,
    backlog,
    eventually,
    live_transactions,
    one,
    outstanding,
    receive_values,
    records,
    visible,
)
from tests.support.crash_child import Case, Report, calls_step, execute_step
from tests.support.forked_cases import ForkedCases
from tests.support.sidecar import MARKER, MIXED, SIDECAR, all_buffered, appends, create_sinks

TIMEOUT_MS = 1_500
LEASE_MS = 1_000
INPUT, OUTPUT = ["one", "two"], ["ONE", "TWO"]
END = "txn/apply_and_end"
# What the step consists of.  The coordinator begins, registers, decides and, at the end, completes the transaction.
KINDS = {"cursor/claim": 1, "cursor/receive": 1, "cursor/pending_ack": 1}
IN_SEVERAL_CALLS = {"execute": {"txn/apply": 3, "txn/end": 3}, "calls": {"txn/apply": 6, "txn/end": 3}}
ENDED = ["complete", "decide", "end_partition", "end_subscription"]
TWELVE = {  # the points of store/faults.py → the steps of PIP-31
    "begin": ["1a"], "add_partition": ["2.1a"] * 2, "append": ["2.2a"] * 2, "add_subscription": ["2.3a"],
    "pending_ack": ["2.4a"], "decide": ["3.1a"], "end_partition": ["3.2a"] * 2, "end_subscription": ["3.2b"],
    "complete": ["3.3a"],
}  # fmt: skip
IN_ONE_CALL = {"execute": {"txn/apply": 1, END: 1}, "calls": {"txn/apply": 4, END: 1}}


def kinds(writes: Sequence[str]) -> Counter[str]:
    return Counter("cursor/pending_ack" if name.startswith("cursor/pending_ack") else name for name in writes)


def is_decided(case: Case, report: Report, writes: Sequence[str]) -> bool:
    """Whether the decision to commit reached Redis before the worker died: with the end in one call, or by the
    coordinator's last call before the ends.

    writes: those of the worker that survived
    """
    if END in writes:
        decision = writes.index(END) + 1
    else:
        decision = max(n for n in range(writes.index("txn/end")) if writes[n] == "txn/apply") + 1
    return not report.died or case.n - (case.when == "before") >= decision


def assert_passes_all_steps(step: str, points: Sequence[Sequence[str]], in_one_call: bool) -> None:
    """Every step of the transaction is one of the writes that the worker died before and after, in the order of PIP-31.

    points: of each write of the worker that survived
    """
    assert sum(map(len, TWELVE.values())) == 12
    passed = [list(each) for each in points if each]
    if in_one_call:
        assert passed[-1] == ENDED
        passed[-1:] = [["decide"], ["end_partition"], ["end_partition"], ["end_subscription"], ["complete"]]
    if step == "execute":  # its first write logs the transaction with all of its participants
        assert passed[0] == ["add_partition", "add_subscription", "begin"]
        passed[:1] = [["begin"], ["add_partition"], ["add_partition"], ["add_subscription"]]
    steps = [point for (point,) in passed]
    assert Counter(steps) == {point: len(labels) for point, labels in TWELVE.items()}
    assert (steps[0], steps[-1]) == ("begin", "complete")
    for earlier, later in (
        ("add_partition", "append"), ("add_subscription", "pending_ack"), ("append", "decide"),
        ("pending_ack", "decide"), ("decide", "end_partition"), ("decide", "end_subscription"),
    ):  # fmt: skip
        assert steps.index(earlier) < steps.index(later)
    assert steps[7] == "decide"


async def prepared(broker: Broker, url: str, step: Any, when: Any, n: int, in_one_call: bool, buffers: Any) -> Case:
    names = [f"{role}-{n}" for role in ("in", "left", "right")]
    await broker.topics.create(names[0])
    await create_sinks(broker, names[1:], buffers)
    await broker.subscriptions.create(names[0], "work")
    await broker.records.produce(names[0], records(*INPUT))
    prefix = broker.config.prefix
    return Case(url, prefix, step, names[0], names[1:], n, when, TIMEOUT_MS, LEASE_MS, in_one_call)


async def cut_at_every_write(
    run_case: ForkedCases, broker: Broker, url: str, step: str, when: str, in_one_call: bool, buffers: Sequence[str]
) -> list[tuple[Case, Report]]:
    """One case after the other, each at a later write, the last of which survives."""
    cases = []
    for n in range(1, 50):
        case = await prepared(broker, url, step, when, n, in_one_call, buffers)
        report = await run_case(case)
        cases.append((case, report))
        if not report.died:
            return cases
        assert len(report.writes) >= n
    raise AssertionError("the step never came to its end")


async def assert_all_or_nothing(broker: Broker, case: Case) -> bool:
    """Returns whether the step was committed; asserts that it was all or nothing."""
    seen = [await visible(broker, sink) for sink in case.sinks]
    assert seen in ([{}, {}], [{0: OUTPUT}, {0: OUTPUT}]), (case.n, seen)
    done = bool(seen[0])
    assert await backlog(broker, case.source, "work") == (0 if done else len(INPUT)), case.n
    return done


async def settled(broker: Broker, case: Case) -> list[int]:
    """The pending work on the case's topics: source first, then sinks."""
    return [await outstanding(broker, topic) for topic in (case.source, *case.sinks)]


async def assert_left_nothing_behind(broker: Broker, cases: list[tuple[Case, Report]]) -> None:
    assert await eventually(lambda: live_transactions(broker), 0, TIMEOUT_MS / 1000 + SWEPT_S_MAX) == 0
    for case, _ in cases:
        assert await settled(broker, case) == [0, 0, 0], case.n


async def received(broker: Broker, case: Case) -> dict[Any, str]:
    """The messages, after all leases of other consumers have expired."""
    found: dict[Any, str] = {}
    while len(found) < len(INPUT):
        more = await receive_values(broker, case.source, "work", "second", wait_ms=2 * LEASE_MS + 2_000)
        assert more, f"case {case.n}: the messages never came back"
        found |= more
    return found


async def redelivered_and_done(broker: Broker, case: Case, decided: bool) -> None:
    if not decided:
        found = await received(broker, case)
        assert list(found.values()) == INPUT
        await calls_step(broker, case, "second", list(found), list(found.values()))
    assert await receive_values(broker, case.source, "work", "second") == {}
    assert await assert_all_or_nothing(broker, case)


async def repeated(broker: Broker, case: Case, decided: bool) -> None:
    """Repeats the step as the same worker, with the messages that it had received."""
    await receive_values(broker, case.source, "work", "first", ack_timeout_ms=LEASE_MS)
    result: Executed = await execute_step(broker, case, "first", [MessageId(0, 0), MessageId(0, 1)], INPUT)
    assert result.replayed == decided
    assert await assert_all_or_nothing(broker, case), case.n


async def assert_cut_and_mended(
    run_case: ForkedCases,
    url: str,
    prefix: str,
    step: Literal["execute", "calls"],
    when: Literal["before", "after"],
    *,
    at_once: bool,
    in_one_call: bool,
    buffers: Sequence[str] = MARKER,
) -> None:
    """in_one_call: whether the transaction ends in one call.  What mends it uses the other way.  buffers: of the
    two topics that the step writes to."""
    async with one(url, prefix, coordinators=1, one_call_transactions=not in_one_call) as broker:
        # Given the step, cut once at every write it makes
        cases = await cut_at_every_write(run_case, broker, url, step, when, in_one_call, buffers)
        # Then each of them has been passed
        writes = cases[-1][1].writes
        calls = IN_ONE_CALL if in_one_call else IN_SEVERAL_CALLS
        assert kinds(writes) == KINDS | appends(buffers) | calls[step]
        assert_passes_all_steps(step, cases[-1][1].points, in_one_call)
        assert [case.n for case, report in cases if report.died] == list(range(1, len(writes) + 1))
        for case, report in cases[:-1]:
            assert report.writes[: case.n] == writes[: case.n]
        # When it is repeated, at once or after others have tidied up
        if not at_once:
            await assert_left_nothing_behind(broker, cases)
            for case, report in cases:
                assert await assert_all_or_nothing(broker, case) == is_decided(case, report, writes), case.n
        mend = repeated if step == "execute" else redelivered_and_done
        await asyncio.gather(*(mend(broker, case, is_decided(case, report, writes)) for case, report in cases))
        # Then each output is there once, and nothing is left behind
        await assert_left_nothing_behind(broker, cases)
        for case, _ in cases:
            assert await assert_all_or_nothing(broker, case)
            assert await all_buffered(broker, case.sinks) == 0, case.n


@pytest.mark.parametrize("in_one_call", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
async def test_a_step_in_one_call_cut_at_any_write_is_done_exactly_once_when_repeated(
    run_case, redis_url, prefix, when, at_once, in_one_call
):
    """CL-15, CL-19, TS-04, TC-20: one call, repeated under its nonce."""
    await assert_cut_and_mended(run_case, redis_url, prefix, "execute", when, at_once=at_once, in_one_call=in_one_call)


@pytest.mark.parametrize("in_one_call", [False, True])
@pytest.mark.parametrize("buffers", [SIDECAR, MIXED], ids=["sidecar", "mixed"])
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
async def test_a_step_that_writes_to_sidecar_buffers_cut_at_any_write_is_done_exactly_once(
    run_case, redis_url, prefix, when, buffers, in_one_call
):
    """SC-05, SC-06, CL-15, TC-20: nothing of it stays in the buffers but what was committed."""
    await assert_cut_and_mended(
        run_case, redis_url, prefix, "execute", when, at_once=in_one_call, in_one_call=in_one_call, buffers=buffers
    )


@pytest.mark.parametrize("in_one_call", [False, True])
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
async def test_a_transaction_in_sidecar_buffers_cut_at_any_write_is_all_or_nothing(
    run_case, redis_url, prefix, when, in_one_call
):
    """SC-05, SC-06, SC-07: begin, two produces, an acknowledgement and a commit."""
    await assert_cut_and_mended(
        run_case, redis_url, prefix, "calls", when, at_once=False, in_one_call=in_one_call, buffers=SIDECAR
    )


@pytest.mark.parametrize(("way", "buffers"), [("execute", MIXED), ("calls", SIDECAR)])
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
async def test_a_step_that_writes_to_sidecar_buffers_is_mended_on_a_cluster(
    run_case, cluster_url, prefix, when, way, buffers
):
    """SC-05, SC-06, TC-20: participants and coordinator on different nodes."""
    await assert_cut_and_mended(
        run_case, cluster_url, prefix, way, when, at_once=False, in_one_call=False, buffers=buffers
    )


@pytest.mark.parametrize("in_one_call", [False, True])
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
async def test_a_transaction_cut_at_any_write_is_all_or_nothing_and_its_input_comes_back(
    run_case, redis_url, prefix, when, in_one_call
):
    """CL-15, CL-19, TS-04, TS-11, AK-04: begin, two produces, an acknowledgement and a commit."""
    await assert_cut_and_mended(run_case, redis_url, prefix, "calls", when, at_once=False, in_one_call=in_one_call)


@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
async def test_a_step_cut_at_any_write_is_mended_on_a_cluster(run_case, cluster_url, prefix, when):
    """CL-15, TC-20: participants and coordinator on different nodes; another broker serves all the while."""
    await assert_cut_and_mended(run_case, cluster_url, prefix, "execute", when, at_once=False, in_one_call=False)


@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
async def test_a_transaction_cut_at_any_write_is_mended_on_a_cluster(run_case, cluster_url, prefix, when):
    """CL-15, TC-20: as above, call by call."""
    await assert_cut_and_mended(run_case, cluster_url, prefix, "calls", when, at_once=False, in_one_call=False)
