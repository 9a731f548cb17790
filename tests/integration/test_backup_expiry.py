"""Keys that expire, through `redis-ledger backup` and `redis-ledger restore`."""

from __future__ import annotations

import asyncio

from tests.support.cli import Ended, run
from tests.support.redis_servers import Server, redis_server
from tests.support.rest import rest

KEY = {"idempotency-key": "step 42"}
BODY = {"records": [{"value": 1}]}


async def command(*words: object) -> Ended:
    """A command gives up on a Redis that it does not reach within a second; on a busy machine it is called again."""
    ended = await asyncio.to_thread(run, *words)
    for _ in range(10):
        if "it does not answer" not in ended.err:
            break
        ended = await asyncio.to_thread(run, *words)
    return ended


def expiry_of_answers(redis: Server, prefix: str) -> dict[bytes, int]:
    """Unix ms, by key."""
    found = redis.ask("KEYS", f"{prefix}:{{idem:*}}")
    assert isinstance(found, list)
    return {key: int(str(redis.ask("PEXPIRETIME", key))) for key in found}


async def test_an_answered_idempotency_key_is_restored_with_its_expiry(prefix, tmp_path):
    # Given an answered request
    with redis_server() as redis:
        async with rest(redis.url, prefix) as api:
            first = await api.post("/v1/topics/t/records", json=BODY, headers=KEY)
        before = expiry_of_answers(redis, prefix)
        assert len(before) == 1
        options = ("--set", f"prefix={prefix}")
        taken = await command("backup", tmp_path / "backup", "--redis", redis.url, *options)
        assert taken.code == 0, taken.err
    # When it is repeated after a restore
    with redis_server() as redis:
        restored = await command("restore", tmp_path / "backup", "--redis", redis.url, *options)
        assert restored.code == 0, restored.err
        assert expiry_of_answers(redis, prefix) == before
        async with rest(redis.url, prefix) as api:
            again = await api.post("/v1/topics/t/records", json=BODY, headers=KEY)
            found = await api.get("/v1/topics/t/partitions/0/records")
    # Then the stored answer is returned, and nothing is written
    assert again.headers["idempotent-replayed"] == "true"
    assert (again.status_code, again.text) == (first.status_code, first.text)
    assert [record["value"] for record in found.json()["records"]] == [1]
