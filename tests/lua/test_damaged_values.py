"""No script raises after its first write, whatever stored value is damaged: the fixture no_half_writes."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from redis_ledger.store.scripts import Script
from tests.lua.damaged_scenes import NO_SCENE, SCENES, UNSUITED
from tests.support.damaged_values import DamagedValues
from tests.support.script_functions import functions, replace_scripts, run_script

FOLDER = Path(__file__).parent


def test_every_script_has_a_scene_or_needs_none():
    tried = {script for scripts in SCENES.values() for script in scripts}
    assert sorted([*tried, *NO_SCENE]) == [script.name for script in Script.all()]


def test_every_scene_is_a_test_of_this_folder():
    for scene in SCENES:
        module, _, name = scene.partition("::")
        assert f"def {name.partition('[')[0]}(" in (FOLDER / module).read_text(), scene
    assert all(any(f"def {name}(" in path.read_text() for path in FOLDER.glob("test_*.py")) for name in UNSUITED)


HALF = b"""#!lua
redis.call("HINCRBY", KEYS[1], "calls", 1)
return redis.call("HGET", KEYS[2], "text") + 1
"""
WHOLE = b"""#!lua
local number = redis.call("HGET", KEYS[2], "text") + 1
redis.call("HINCRBY", KEYS[1], "calls", 1)
return number
"""


@pytest.mark.parametrize(("source", "damaged"), [(HALF, ["missing", "b'text' b'~'", "b'text' missing"]), (WHOLE, [])])
def test_a_write_before_an_error_is_found_and_the_call_is_carried_out_once(
    redis_url, prefix, monkeypatch, source, damaged
):
    (script,) = functions(half=source)
    replace_scripts(monkeypatch, script)
    keys = [f"{prefix}:a".encode(), f"{prefix}:b".encode()]
    with redis.Redis.from_url(redis_url) as client:
        client.hset(keys[0], "calls", "0")
        client.hset(keys[1], "text", "7")
        client.script_load(script.source)
        client.calls_by_sha = True
        values = DamagedValues(None, {})
        with monkeypatch.context() as patched:
            values.install(patched)
            assert run_script(client, script, keys, []) == 8
        assert client.hgetall(keys[0]) == {b"calls": b"1"}
        place = "test/half with KEYS[2] b"
        assert [each.partition(" has written")[0] for each in values.found] == [f"{place} {text}" for text in damaged]
