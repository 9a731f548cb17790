"""Definitions of includes that a script does not use are left out, and only those."""

from __future__ import annotations

import re

import pytest

from redis_ledger.store.pruning import pruned
from redis_ledger.store.scripts import Script, expand, folder, names, read

LUA = read(folder())
DEFINITION = re.compile(rb"^(?:local )?function ([\w.]+)\(", re.MULTILINE)


def kept(source: str) -> list[str]:
    """The lines that are left, without the empty ones."""
    return [line for line in pruned(source.encode()).decode().splitlines() if line]


@pytest.mark.parametrize(
    "unused",
    [
        "local function g(n) return n end",
        "local function g(n)\n  if n then\n    return n\n  end\nend",
        "local function g(n) return g(n - 1) end -- only by itself",
        "local G = 16",
        "local G, H = 16, { 1, 2 }",
        'local G = { "a", { x = 1 } } -- a comment',
    ],
)
def test_unused_definitions_are_pruned(unused):
    assert kept(f"#!lua\n{unused}\nreturn 1") == ["#!lua", "return 1"]


def test_functions_used_indirectly_are_kept():
    source = "local LIMIT = 2\nlocal function f() return LIMIT end\nlocal function g() return f() end\nreturn g()"
    assert kept(source) == source.splitlines()


def test_functions_of_a_table_are_kept_one_by_one():
    source = "local t = {}\nfunction t.f() return 1 end\nfunction t.g()\n  return 2\nend\nreturn t.g()"
    assert kept(source) == ["local t = {}", "function t.g()", "  return 2", "end", "return t.g()"]


@pytest.mark.parametrize("use", ["t[name]()", "visit(t)", "for _, f in pairs(t) do f() end", "t:f()"])
def test_a_table_that_is_used_as_a_whole_keeps_all_its_functions(use):
    source = f"local t = {{}}\nfunction t.f() return 1 end\n{use}"
    assert kept(source) == source.splitlines()


@pytest.mark.parametrize(
    "statement",
    [
        'local reply = redis.call("HGET", KEYS[1], "a")',
        "local a = {\n  1,\n}",
        "local sum = one +\n  two",
        "local sum = one and -- goes on\n  two",
        "t.x = 1",
        "if a then\n  local b = 1\nend",
    ],
)
def test_statements_stay(statement):
    assert kept(f"#!lua\n{statement}\nreturn 1") == ["#!lua", *statement.splitlines(), "return 1"]


def test_comments_and_strings_are_no_uses():
    source = "local function f() return 1 end\n-- f\n--[[ f\nf() ]]\nlocal text = \"f(\" .. 'f' .. [[f]]\nreturn text"
    assert "local function f() return 1 end" not in kept(source)


def test_strings_and_comments_end_no_function():
    source = "local function f()\n  local a = [[\nend\n]]\n--[[\nend\n]]\n  return a\nend\nreturn 1"
    assert kept(source) == ["return 1"]


def test_a_field_of_the_same_name_is_no_use():
    assert kept("local function f() return 1 end\nreturn row.f") == ["return row.f"]


def test_lines_keep_their_numbers():
    source = b"#!lua\nlocal function f()\n  return 1\nend\nerror()"
    assert pruned(source).splitlines()[4] == b"error()"


@pytest.mark.parametrize("name", names(LUA))
def test_a_script_has_every_function_that_it_calls(name):
    source = Script.load(name).source
    called = set(re.findall(rb"(?<![\w.:])\w+(?:\.\w+)*", re.sub(rb"--[^\n]*", b"", source)))
    defined_in_includes, defined = (set(DEFINITION.findall(text)) for text in (expand(LUA, name), source))
    assert (called & defined_in_includes) - defined == set()


def test_a_script_does_not_build_what_only_others_use():
    assert b"cursors.hold(" in expand(LUA, "cursor/ack")
    assert b"cursors.hold(" not in Script.load("cursor/ack").source
