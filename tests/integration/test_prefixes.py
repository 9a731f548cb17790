"""Two installations on one Redis, one of whose prefixes begins with the other's."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from tests.support import fsck_scene
from tests.support.broker import one
from tests.support.cli import run
from tests.support.redis_servers import Server, redis_server

OUTER, INNER = "rl", "rl:prod"


def stored(redis: Server, prefix: str) -> dict[bytes, object]:
    """The keys of an installation and their content, as DUMP returns it."""
    keys = redis.ask("KEYS", f"{prefix}:{{*")
    assert isinstance(keys, list)
    return dict(zip(keys, redis.ask_all(*(("DUMP", key) for key in keys)), strict=True))


async def test_fsck_and_restore_of_one_installation_leave_another_alone(tmp_path):
    with redis_server() as redis, redis_server() as target:
        async with AsyncExitStack() as stack:
            for prefix in (OUTER, INNER):
                broker = await stack.enter_async_context(one(redis.url, prefix, **fsck_scene.SETTINGS))
                await broker.maintenance.close()
                await fsck_scene.build(broker, redis.url)
        async with one(target.url, INNER) as broker:
            await broker.maintenance.close()
            await broker.topics.create("other")
        before = stored(redis, INNER), stored(target, INNER)
        for words in (
            ("fsck", "--repair", "--full", "--redis", redis.url),
            ("backup", str(tmp_path / "b"), "--redis", redis.url),
            ("restore", str(tmp_path / "b"), "--redis", target.url),
        ):
            ended = await asyncio.to_thread(run, *words)
            assert ended.code == 0, ended
        assert (stored(redis, INNER), stored(target, INNER)) == before
        assert len(stored(target, OUTER)) == len(stored(redis, OUTER))
