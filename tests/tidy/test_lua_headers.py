"""Each script's header says what its body does; statuses mean the same in Lua and in Python."""

from __future__ import annotations

import re

import pytest

from redis_ledger.store.script_status import Status
from scripts import lua_header
from tests.tidy.tree import ROOT

LUA = ROOT / "lua"
SCRIPTS = lua_header.scripts(LUA)

GOOD = """#!lua flags=allow-oom
--[[ cursor/mark: move a cursor.

KEYS        1 cursor  hash  where it stands  2 acks
            3.. one key for each subscription
ARGV        1 offset  2 now_ms
RETURNS     {OK}
COMPLEXITY  O(1)
SOURCE      PIP-31
]]
redis.call("HSET", KEYS[1], "mark", ARGV[1], "at", ARGV[2])
for i = 3, #KEYS do redis.call("DEL", KEYS[i]) end
"""


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_header_of_a_script_fits_its_body(name):
    header = lua_header.parse(SCRIPTS[name].read_text())
    assert lua_header.disagreements(header, name, LUA) == []


@pytest.mark.parametrize("path", sorted((LUA / "include").glob("*.lua")), ids=lambda path: path.stem)
def test_an_include_says_what_it_is_for_and_is_used(path):
    users = [other for other in LUA.rglob("*.lua") if f'@include "include/{path.stem}"' in other.read_text()]
    own = lua_header.INCLUDE.sub("", path.read_text()).lstrip()
    assert own.startswith("-- ")
    assert users != []


# Scripts that Redis executes however late they come, and why that does no harm.
UNTIMED = {
    "fsck/read": "it writes nothing",
    "ledger/append": "a batch that was repeated is known by its sequence; part of a MULTI with payload",
    "ledger/append_sidecar": "as ledger/append",
    "ledger/schedule": "as ledger/append",
}


def test_every_script_that_writes_refuses_calls_that_were_given_up():
    timed = {name: '--- @include "include/deadline"' in path.read_text() for name, path in SCRIPTS.items()}
    assert {name for name, is_timed in timed.items() if not is_timed} == UNTIMED.keys()


def test_the_statuses_of_lua_are_those_of_python():
    text = (LUA / "include" / "status.lua").read_text()
    pairs = [
        (name.strip(), int(value))
        for names, values in re.findall(r"^local ([A-Z_, ]+) = (.+)$", text, re.MULTILINE)
        for name, value in zip(names.split(","), values.split(","), strict=True)
    ]
    assert dict(pairs) == {status.name: status.value for status in Status}
    assert len(pairs) == len(Status)


def test_a_header_that_fits_is_accepted():
    assert lua_header.disagreements(lua_header.parse(GOOD), "cursor/mark", LUA) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("ARGV[2])\n", "ARGV[3])\n", "the body uses ARGV[3], the header ends at 2"),
        ("  2 now_ms", "  2 now_ms  3 spare", "the header declares ARGV 3, the body ends at 2"),
        ("  2 now_ms", "  3 now_ms", "ARGV 3 is out of order in the header"),
        ("3, #KEYS", "3, 4", None),
        (GOOD[GOOD.index("for i") :], "", "the header leaves KEYS open-ended, the body does not"),
        ("RETURNS     {OK}\n", "", "the header has no RETURNS"),
        ("cursor/mark:", "cursor/other:", "the header calls itself cursor/other"),
    ],
)  # fmt: skip
def test_invalid_header_is_reported(old, new, complaint):
    assert old in GOOD
    said = lua_header.disagreements(lua_header.parse(GOOD.replace(old, new)), "cursor/mark", LUA)
    assert (complaint in said) if complaint else (said == [])


@pytest.mark.parametrize("text", ["return 1\n", "#!lua\nreturn 1\n", "#!lua\n--[[ no colon\n]]\nreturn 1\n"])
def test_a_script_without_a_header_is_refused(text):
    with pytest.raises(ValueError, match="line"):
        lua_header.parse(text)
