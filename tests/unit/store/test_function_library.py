"""Libraries of Redis Functions: names, flags and what a call leaves behind."""

from __future__ import annotations

import re

import pytest
import redis

from redis_ledger.store.function_library import Library, build
from redis_ledger.store.scripts import Script, folder, names


def test_names_change_with_the_source_and_with_nothing_else():
    one, same = build("txn", {"txn/a": b"#!lua\nreturn 1"}), build("txn", {"txn/a": b"#!lua\nreturn 1 -- comment"})
    other = build("txn", {"txn/a": b"#!lua\nreturn 2"})
    assert one == same
    assert one.name != other.name
    assert one.functions["txn/a"] != other.functions["txn/a"]
    assert re.fullmatch(rb"redis_ledger_txn_[0-9a-f]{12}", one.name)


def test_flags_of_a_script_are_flags_of_its_function():
    library = build("a", {"a/b": b"#!lua flags=allow-oom,no-writes\nreturn 1", "a/c": b"#!lua\nreturn 1"})
    assert b'flags = {"allow-oom", "no-writes"}' in library.source
    assert b"flags = {}" in library.source


def test_a_script_without_its_first_line_is_refused():
    with pytest.raises(ValueError, match="a/b"):
        build("a", {"a/b": b"return 1"})


def test_every_script_of_lua_is_in_one_library():
    found = [name for library in Script.libraries() for name in library.functions]
    assert sorted(found) == names(folder())


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
    library: Library = build("test", {"test/stateful": STATEFUL})
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
