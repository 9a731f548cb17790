"""The driver of a step with many workers dies at any write: the step is repeated, and its output exists once.

Two workers write a record each, in separate transactions; then both are committed in one step, with number 1.  It is
cut at its first write, its second, and so on.  Then a successor repeats the whole step, since it cannot know how far
the first came, and the records of the losing attempt are never visible.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import pytest

from redis_ledger.broker.broker import Broker
from tests.support.broker import SWEPT_S_MAX, eventually, live_transactions, one, outstanding, visible
from tests.support.crash_child import INPUT, Case, Report, together_step
from tests.support.forked_cases import ForkedCases
from tests.support.sidecar import MARKER, MIXED, all_buffered, appends, create_sinks

OUTPUT = [{0: [value.upper()]} for value in INPUT]
TIMEOUT_MS = 1_500
# Two begins, two registrations, one decision for both, and what says that both are done.
WRITES = {"txn/end": 2, "txn/apply": 6}


async def prepared(broker: Broker, url: str, when: str, n: int, buffers: Sequence[str]) -> Case:
    names = [f"{role}-{n}" for role in ("in", "left", "right")]
    await create_sinks(broker, names[1:], buffers)
    prefix = broker.config.prefix
    return Case(url, prefix, "together", names[0], names[1:], n, cast("Any", when), TIMEOUT_MS, 0)


async def cut_at_every_write(
    run_case: ForkedCases, broker: Broker, url: str, when: str, buffers: Sequence[str]
) -> list[tuple[Case, Report]]:
    cases = []
    for n in range(1, 50):
        case = await prepared(broker, url, when, n, buffers)
        report = await run_case(case)
        cases.append((case, report))
        if not report.died:
            return cases
    raise AssertionError("the step never came to its end")


async def seen(broker: Broker, case: Case) -> list[dict[int, list[str]]]:
    return [await visible(broker, sink) for sink in case.sinks]


async def done_again(broker: Broker, case: Case, decided: bool) -> None:
    name = f"job-{case.source}"
    assert await broker.transactions.together.number(name) == (1 if decided else None), case.n
    answer = await together_step(broker, case, "", [], INPUT)
    assert answer == ("already" if decided else "committed", 1), case.n
    assert await eventually(lambda: seen(broker, case), OUTPUT) == OUTPUT, case.n
    # The successor aborts open transactions of this name: its own attempt, or that of the dead driver.
    for left in await broker.transactions.list("open", owner=name):
        await broker.transactions.abort(left.id)
    assert await eventually(lambda: seen(broker, case), OUTPUT) == OUTPUT, case.n


@pytest.mark.parametrize("buffers", [MARKER, MIXED], ids=["marker", "mixed"])
@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("when", [pytest.param("before", marks=pytest.mark.full), "after"])
async def test_a_step_committed_together_cut_at_any_write_and_done_again_is_there_once(
    run_case, redis_url, prefix, when, at_once, buffers
):
    async with one(redis_url, prefix, coordinators=1) as broker:
        # Given the step, cut once at every write it makes
        cases = await cut_at_every_write(run_case, broker, redis_url, when, buffers)
        # Then each of them has been passed
        writes = cases[-1][1].writes
        assert Counter(writes) == WRITES | appends(buffers)
        assert [case.n for case, report in cases if report.died] == list(range(1, len(writes) + 1))
        decision = max(n for n in range(writes.index("txn/end")) if writes[n] == "txn/apply") + 1
        decided = {case.n: not report.died or case.n - (when == "before") >= decision for case, report in cases}
        assert set(decided.values()) == {True, False}
        # And what was decided is all there, without anybody doing anything but the sweep
        if not at_once:
            assert await eventually(lambda: live_transactions(broker), 0, TIMEOUT_MS / 1000 + SWEPT_S_MAX) == 0
            for case, _ in cases:
                assert await seen(broker, case) == (OUTPUT if decided[case.n] else [{}, {}]), case.n
        # When another worker repeats it
        await asyncio.gather(*(done_again(broker, case, decided[case.n]) for case, _ in cases))
        # Then nothing is left behind
        assert await eventually(lambda: live_transactions(broker), 0, SWEPT_S_MAX) == 0
        for case, _ in cases:
            assert [await outstanding(broker, topic) for topic in case.sinks] == [0, 0], case.n
            assert await all_buffered(broker, case.sinks) == 0, case.n
