"""What a call no longer builds: functions, constants and tables of a script, and what it still assigns."""

from __future__ import annotations

import pytest

from redis_ledger.store.hoisting import OWN_UPVALUES, UPVALUES_MAX, NotSplittable, split
from redis_ledger.store.scripts import Script


def lines(source: bytes) -> list[str]:
    return [line for line in source.decode().splitlines() if line.strip()]


def test_functions_and_constants_are_made_once():
    parts = split(b'local EACH = { "a", 2 }\nlocal function f() return EACH end\nreturn f()')
    assert lines(parts.once) == ['local EACH = { "a", 2 }', "local function f() return EACH end"]
    assert lines(parts.call) == ["return f()"]


def test_a_variable_that_a_function_reads_is_assigned_at_each_call_and_others_stay_local():
    parts = split(b"local held, n = one()\nlocal other = two()\nlocal function f() return held end\nreturn f(other)")
    assert parts.variables == (b"held", b"n")
    assert lines(parts.call) == ["held, n = one()", "local other = two()", "return f(other)"]


def test_a_variable_without_a_value_is_nil_again_at_each_call():
    parts = split(b"local held -- of this call\nlocal function f() held = 1 end\nreturn f()")
    assert lines(parts.call) == ["held = nil -- of this call", "return f()"]


def test_functions_of_lua_are_read_at_the_first_call():
    parts = split(b"local match, sub = string.match, string.sub\nlocal function f() return match end\nreturn f()")
    assert (parts.builtins, parts.first) == ((b"match", b"sub"), b"match, sub = string.match, string.sub")


def test_a_table_with_functions_is_made_once_and_its_fields_at_each_call():
    parts = split(b"local t = { seen = {}, key = KEYS[1] } -- a\nfunction t.f() return t.seen end\nreturn t.f()")
    assert lines(parts.once) == ["local t = {}", "function t.f() return t.seen end"]
    assert lines(parts.call) == ["reset__(t, { seen = {}, key = KEYS[1] } -- a", ")", "return t.f()"]


def test_a_number_is_also_a_constant_of_the_call():
    parts = split(b"local OK, BAD = 0, -1\nlocal function f() return OK end\nreturn OK, f()")
    assert lines(parts.once)[0] == lines(parts.call)[0] == "local OK, BAD = 0, -1"


def test_variables_in_functions_and_blocks_stay_where_they_are():
    body = "for i = 1, 2 do\n  local held = i\nend\nreturn f()"
    parts = split(f"local function f()\n  local held = 1\n  return held\nend\n{body}".encode())
    assert (parts.variables, lines(parts.call)) == ((), body.splitlines())


def test_a_call_that_would_use_too_many_functions_copies_them():
    names = [f"f{n}" for n in range(UPVALUES_MAX)]
    functions = "\n".join(f"local function {name}() end" for name in names)
    parts = split(f"{functions}\nreturn {', '.join(names)}".encode())
    assert lines(parts.once)[-1].startswith("local functions__ = { f0 = f0, f1 = f1")
    assert lines(parts.call)[0].startswith("local f0, f1, ")
    assert len(names) - lines(parts.call)[0].count("functions__") + OWN_UPVALUES <= UPVALUES_MAX


@pytest.mark.parametrize(
    "source",
    [
        "local a = 1\nlocal function f() return a end\nlocal a = 2\nreturn f()",
        "local function f() end\nlocal function f() end",
        "local t, n = { x = one() }, 1\nfunction t.f() end",
        "\n".join(f"local v{n} = one()" for n in range(UPVALUES_MAX))
        + f"\nlocal function f()\n  return {', '.join(f'v{n}' for n in range(UPVALUES_MAX))}\nend",
    ],
)
def test_a_script_that_cannot_be_split_is_refused(source):
    with pytest.raises(NotSplittable):
        split(source.encode())


@pytest.mark.parametrize("script", Script.all(), ids=lambda script: script.name)
def test_every_script_is_split(script):
    source = script.source.partition(b"\n")[2]
    assert b"\nlocal function" not in b"\n" + split(source).call
