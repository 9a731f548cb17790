"""Function libraries on a server: Redis takes them all, and a call begins without what an earlier one left."""

from __future__ import annotations

import re

import pytest
import redis

from redis_ledger.store.function_library import build
from redis_ledger.store.scripts import Script


def test_redis_takes_every_library_and_keeps_the_flags(redis_url):
    with redis.Redis.from_url(redis_url) as client:
        for library in Script.libraries():
            client.function_load(library.source, replace=True)
            ((_, _, _, _, _, functions),) = client.function_list(library.name.decode())
            flags = {row[1]: set(row[5]) for row in functions}
            assert flags == {
                library.functions[script.name]: set(re.findall(rb"[a-z]+-[a-z]+", script.source.partition(b"\n")[0]))
                for script in Script.all()
                if script.name in library.functions
            }


STATEFUL = b"""#!lua
local seen = {}
local t = { names = {} }
function t.add(name) t.names[#t.names + 1] = name end
local function add(n)
  seen[#seen + 1] = n
  t.add(n)
  if n == "fail" then error("asked for") end
end
for _, each in ipairs(ARGV) do add(each) end
return { #seen, #t.names, #KEYS }
"""


@pytest.fixture
def stateful(redis_url):
    library = build("test", {"test/stateful": STATEFUL})
    with redis.Redis.from_url(redis_url) as client:
        client.function_load(library.source, replace=True)
        yield lambda *args: client.fcall(library.functions["test/stateful"].decode(), 0, *args)
        client.function_delete(library.name.decode())


def test_a_call_begins_without_what_an_earlier_one_left(stateful):
    assert stateful("a", "b") == [2, 2, 0]
    assert stateful("c") == [1, 1, 0]


def test_a_call_that_failed_leaves_nothing_to_the_next_one(stateful):
    with pytest.raises(redis.ResponseError, match="asked for"):
        stateful("a", "fail", "b")
    assert stateful("c") == [1, 1, 0]


@pytest.mark.parametrize("script", Script.all(), ids=lambda script: script.name)
def test_a_script_leaves_room_for_five_more_local_variables(script, redis_url):
    """Lua takes 200 in a function.  A Redis without libraries refuses a script that has more."""
    first, rest = script.source.split(b"\n", 1)
    spare = b"local spare_1, spare_2, spare_3, spare_4, spare_5"
    with redis.Redis.from_url(redis_url) as client:
        assert client.script_load(b"\n".join((first, spare, rest)))
