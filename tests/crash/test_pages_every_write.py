"""A broker dies between two pages of long work (docs/decisions/0025): another one completes it with the same result.

The work is cut at its first write, its second, and so on, until it survives: then every write has been passed.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.broker import one
from tests.support.forked_cases import ForkedCases
from tests.support.multi_write_child import Case
from tests.support.multi_write_work import WORKS

WRITES_MAX = 80
ON_A_CLUSTER = ("ack", "wide end", "delete subscription", "delete topic", "delete group", "clear")


async def assert_mended(run_case: ForkedCases, url: str, prefix: str, name: str, when: Any) -> None:
    work = WORKS[name]

    async def cut(n: int) -> list[str] | None:
        """The work, cut at its n-th write and continued by a new broker; returns its writes if it was not cut."""
        topic = f"t{n}"
        async with one(url, prefix, coordinators=1) as broker:
            await work.prepare(broker, topic)
        report = await run_case(Case(url, prefix, name, topic, n, when))
        assert len(report.writes) >= n
        async with one(url, prefix, coordinators=1) as broker:
            await work.mend(broker, topic)
            await work.check(broker, topic)
        return None if report.died else report.writes

    writes = await cut(0)
    assert writes is not None
    assert writes.count(work.script) >= work.calls, "it is not long enough for several pages"
    assert len(writes) <= WRITES_MAX or work.only
    for n, write in enumerate(writes, 1):
        if not work.only or write == work.only:
            assert await cut(n) is None


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", WORKS)
async def test_work_cut_at_any_write_is_continued(run_case, redis_url, prefix, name, when):
    await assert_mended(run_case, redis_url, prefix, name, when)


@pytest.mark.parametrize("name", ON_A_CLUSTER)
async def test_work_cut_at_any_write_is_continued_on_a_cluster(run_case, cluster_url, prefix, name):
    await assert_mended(run_case, cluster_url, prefix, name, "after")
