"""A broker dies between two pages of long work (docs/decisions/0025): another one completes it with the same result.

The work is cut at its first write, its second, and so on: then every write has been passed.  What is stored when it
dies after a write is what is stored when it dies before the next one.  So `make test` cuts after writes, and of many
equal ones in a row after the first two and the last; test-all cuts before every write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.broker import one
from tests.support.forked_cases import ForkedCases
from tests.support.multi_write_child import Case
from tests.support.multi_write_work import WORKS

WRITES_MAX = 80
WHEN = [pytest.param("before", marks=pytest.mark.full), "after"]
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
    chosen = range(1, len(writes) + 1) if when == "before" else ends_of_rows(writes)
    for n in chosen:
        if not work.only or writes[n - 1] == work.only:
            assert await cut(n) is None


def ends_of_rows(writes: Sequence[str]) -> list[int]:
    """Numbers, from 1, of the first two and the last of equal writes in a row."""
    return [
        n
        for n, write in enumerate(writes, 1)
        if writes[n - 3 : n - 1] != [write, write] or writes[n : n + 1] != [write]
    ]


def test_the_first_two_and_the_last_of_equal_writes_are_chosen():
    assert ends_of_rows(["a", "b", "b", "b", "b", "c", "c", "c", "b"]) == [1, 2, 3, 5, 6, 7, 8, 9]
    assert ends_of_rows(["a", "a", "a", "a"]) == [1, 2, 4]


@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("name", WORKS)
async def test_work_cut_at_any_write_is_continued(run_case, redis_url, prefix, name, when):
    await assert_mended(run_case, redis_url, prefix, name, when)


@pytest.mark.full
@pytest.mark.parametrize("when", WHEN)
@pytest.mark.parametrize("name", ON_A_CLUSTER)
async def test_work_cut_at_any_write_is_continued_on_a_cluster(run_case, cluster_url, prefix, name, when):
    await assert_mended(run_case, cluster_url, prefix, name, when)
