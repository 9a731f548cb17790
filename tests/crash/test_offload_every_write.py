"""The offloading job, or its broker, may die at any write: nothing is lost, and the next job continues.

The scenario plans, publishes, compacts, deletes, forgets and abandons.  It is cut at its first write, its second, and
so on, until it survives: then every write has been covered.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from redis_ledger.broker.broker import Broker
from redis_ledger.ledger.entries import LogEntry, parse_log
from redis_ledger.offload.manifest import is_chain
from redis_ledger.offload.scripts import OffloadState
from redis_ledger.offload.segment import open_home, read_groups, to_rows
from tests.support.broker import one
from tests.support.crash_child import StepsReport
from tests.support.offload_child import SETTINGS, STEPS, TOPIC, Case, Scenario, prepare

AT_ONCE = 8  # cases that are checked concurrently
# Three rolls and plans, two publishes, each of which drops payload, and the deletion of records that cuts a ledger.
WRITES = {
    "ledger/roll": 3, "offload/plan": 3, "offload/publish": 2, "ledger/trim": 3, "ledger/drop": 3, "offload/swap": 1,
    "XADD+ledger/append": 2, "ledger/cut": 1, "offload/forget": 1, "offload/abandon": 1,
}  # fmt: skip


async def log_of(broker: Broker) -> tuple[list[LogEntry], set[int]]:
    """Returns log entries, and the ledgers whose payload is in Redis."""
    keys = (await broker.catalog.partition(TOPIC, 0)).keys
    entries = parse_log(await broker.store.command("XRANGE", keys.log, "-", "+", key=keys.state))
    names = await broker.store.command("HKEYS", keys.ledgers, key=keys.state)
    there = {int(name) for name in names}
    for ledger in sorted(there):
        assert await broker.store.command("EXISTS", keys.data(ledger), key=keys.state), ledger
    return entries, there


async def state_of(broker: Broker) -> OffloadState:
    [state] = (await broker.offload.page(TOPIC)).states
    return state


async def is_whole(broker: Broker, case: Case) -> None:
    """Checks that each record is in Redis or in Parquet, and that published files exist."""
    state, home = await state_of(broker), open_home(case.home)
    segments = state.manifest.segments
    entries, there = await log_of(broker)
    assert not segments or (is_chain(segments, segments[0].first) and segments[-1].end == state.offloaded_offset), (
        case.n
    )
    # Retention forgets segments below the log start and deletes their files
    needed = [segment for segment in segments if segment.end > state.start]
    assert all(home.size(segment.file) == segment.bytes for segment in needed), case.n
    for entry in entries:
        if entry.ledger not in there:
            assert entry.last_offset < state.offloaded_offset, (case.n, entry)
            assert state.manifest.segment_at(entry.base_offset) is not None, (case.n, entry)
    if state.plan is not None:
        assert is_chain(state.plan.stretches, state.offloaded_offset), case.n
        assert state.plan.stretches[-1].end <= state.stable, case.n


async def gone_on_with(case: Case, report: StepsReport) -> None:
    """A new broker loads the state of the case, and a new job completes it."""
    async with one(case.url, case.prefix, name="fresh", offload_home=case.home, **SETTINGS) as broker:
        await is_whole(broker, case)
        scenario = Scenario(broker, case.home)
        for name in STEPS:
            if name not in report.finished and not name.startswith("produce"):
                await scenario.steps()[name]()
                await is_whole(broker, case)
        await scenario.offload()
        await (await broker.catalog.partition(TOPIC, 0)).trim(retention_ms=-1, retention_bytes=-1)
        # Then the whole log is in Parquet, once, and Redis has only the active ledger
        await is_whole(broker, case)
        state = await state_of(broker)
        entries, there = await log_of(broker)
        assert (state.start, state.offloaded_offset, state.plan) == (3, state.stable, None), case.n
        assert len(there) == 1, case.n
        found = [
            (row.offset, row.value)
            for segment in state.manifest.segments
            for batch in read_groups(open_home(case.home), segment, segment.first, segment.end)
            for row in to_rows(batch)
        ]
        offsets = [offset for entry in entries for offset in range(entry.base_offset, entry.last_offset + 1)]
        assert found == list(zip(offsets, (b"d", b"e", b"f"), strict=False)), case.n
        assert len(found) >= 2 * ("produce" in report.finished) + ("produce more" in report.finished), case.n


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("servers", "when"),
    [
        pytest.param("redis_url", "before", marks=pytest.mark.full),
        pytest.param("redis_url", "after", marks=pytest.mark.full),
        ("cluster_url", "after"),
    ],
)
async def test_offloading_completes_after_a_crash_at_any_write(
    request, run_case, prefix, tmp_path: Path, servers, when
):
    url = request.getfixturevalue(servers)
    cases: list[tuple[Case, StepsReport]] = []
    # Given the scenario, cut once at every write
    for n in range(1, 60):
        case = Case(url, f"{prefix}-{n}", n, when, str(tmp_path / str(n)))
        async with one(url, case.prefix, **SETTINGS) as broker:
            await prepare(broker)
        cases.append((case, await run_case(case)))
        if not cases[-1][1].died:
            break
    # Then every write has been covered
    writes = cases[-1][1].writes
    assert Counter(writes) == WRITES
    assert [case.n for case, report in cases if report.died] == list(range(1, len(writes) + 1))
    # And the next job completes after each cut
    gate = asyncio.Semaphore(AT_ONCE)

    async def look(case: Case, report: StepsReport) -> None:
        async with gate:
            await gone_on_with(case, report)

    await asyncio.gather(*(look(case, report) for case, report in cases))
