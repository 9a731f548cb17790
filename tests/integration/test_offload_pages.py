"""Pages of a topic's manifests: over REST, and joined by the SDK."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from redis_ledger.broker.topics.offload import Page
from redis_ledger.errors import UnknownTopic
from redis_ledger.offload.manifest import SEGMENTS_MAX
from tests.support.broker import records
from tests.support.offload_job import offload
from tests.support.offload_topic import OffloadTopic, offload_topic
from tests.support.rest import client_of

WIDE = "wide"
SEGMENTS = (2, 0, 3, 0)  # in each partition
FIRSTS = [[0, 1], [], [0, 1, 2], []]


@pytest.fixture
async def world(redis_url: str, prefix: str, tmp_path: Path) -> AsyncIterator[OffloadTopic]:
    async with offload_topic(redis_url, prefix, tmp_path / "history") as world:
        await make(world)
        yield world


async def make(world: OffloadTopic) -> None:
    await world.broker.topics.create(WIDE, len(SEGMENTS))
    for number, count in enumerate(SEGMENTS):
        for _ in range(count):
            await world.broker.records.produce(WIDE, records("x", partition=number))
            await offload(world.broker, WIDE, number)


@pytest.fixture
def after_page(world: OffloadTopic, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Runs a function once, after the first page was read."""

    def arrange(what: Callable[[], Any]) -> None:
        page = world.broker.offload.page

        async def read(*given: Any, **more: Any) -> Page:
            found = await page(*given, **more)
            monkeypatch.undo()
            await what()
            return found

        monkeypatch.setattr(world.broker.offload, "page", read)

    return arrange


def firsts(partitions: list[dict[str, Any]]) -> list[tuple[int, list[int]]]:
    return [(each["partition"], [segment["first"] for segment in each["segments"]]) for each in partitions]


async def pages(api: httpx.AsyncClient, limit: int) -> list[list[tuple[int, list[int]]]]:
    """Returns the first offsets of segments by partition, for each page."""
    found, params = [], dict[str, Any](limit=limit)
    while True:
        page = (await api.get(f"/v1/topics/{WIDE}/cold", params=params)).json()
        found.append(firsts(page["partitions"]))
        if "after" not in page:
            return found
        params["after"] = page["after"]


async def test_a_page_has_the_requested_segments_and_the_token_of_the_next(world):
    async with client_of(world.broker) as api:
        assert await pages(api, 1) == [
            [(0, [0])], [(0, [1]), (1, []), (2, [])], [(2, [0])], [(2, [1])], [(2, [2]), (3, [])],
        ]  # fmt: skip
        assert await pages(api, 3) == [[(0, [0, 1]), (1, []), (2, [0])], [(2, [1, 2]), (3, [])]]
        assert await pages(api, 5) == [list(enumerate(FIRSTS))]


@pytest.mark.parametrize("page_segments", [1, 2, 3, 4, 5, SEGMENTS_MAX])
async def test_the_sdk_joins_pages(world, page_segments):
    manifest = await world.client.offload.describe(WIDE, page_segments=page_segments)
    assert [[segment.first for segment in each.segments] for each in manifest.partitions] == FIRSTS
    assert [each.partition for each in manifest.partitions] == [0, 1, 2, 3]
    assert manifest == await world.client.offload.describe(WIDE)
    assert manifest.topic_id == (await world.client.topics.describe(WIDE)).id


async def test_a_partition_that_changes_between_pages_starts_over(world, after_page):
    # Given a manifest that forgets its first segment after that was returned
    async def forget() -> None:
        await world.broker.topics.delete_records(WIDE, 0, 1)
        assert len(await world.broker.offload.forget(WIDE, 0)) == 1

    after_page(forget)
    manifest = await world.client.offload.describe(WIDE, page_segments=1)
    # Then segments of the earlier version are not returned
    assert [[segment.first for segment in each.segments] for each in manifest.partitions] == [[1], *FIRSTS[1:]]
    assert manifest.partitions[0].version == 3


async def test_pages_of_a_recreated_topic_are_not_mixed(world, after_page):
    async def again() -> None:
        await world.broker.topics.delete(WIDE)
        await make(world)

    after_page(again)
    with pytest.raises(UnknownTopic, match="was deleted and created again"):
        await world.client.offload.describe(WIDE, page_segments=1)
