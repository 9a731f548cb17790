"""Removes unused functions and constants of includes from a script.

Redis runs the whole source at every call and builds each function in it, also unused ones.

    local FEW = 16                      removed: no statement and no kept function uses it
    local function used(n) ... end      kept: the last line uses it
    local function unused() ... end     removed
    return used(1)

Only functions and constants that begin at the start of a line are removed.  A function `t.f` is always kept if its
table is used other than as `t.name`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

# Comments and strings; a bracket of level n closes with one of the same level.
_SILENT = re.compile(
    rb"""--\[(?P<c>=*)\[.*?\](?P=c)\]|--[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\[(?P<s>=*)\[.*?\](?P=s)\]""",
    re.DOTALL,
)
_VISIBLE = re.compile(rb"[^\n]")
# On one line, or up to the first `end` at the start of a line.
FUNCTION = re.compile(
    rb"^(?:local function (?P<local>\w+)|function (?P<table>\w+)\.(?P<field>\w+))\("
    rb"(?:[^\n]*\Wend[ ]*$|[^\n]*\n(?:(?!end\b)[^\n]*\n)*end[ ]*$)",
    re.MULTILINE,
)
# No calls, since they may have effects.  The statement ends with its line.
_CONSTANT = re.compile(
    rb"^local (?P<names>\w+(?:, \w+)*) = (?P<value>[^\n()]*[\w\"'}\]])[ ]*$(?!\n[ \t])", re.MULTILINE
)
_WORD = re.compile(rb"(?<![\w.:])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")


class _Definition(NamedTuple):
    """names: the forms of its use, `f` or `t.f`."""

    names: frozenset[bytes]
    begin: int
    end: int


def pruned(source: bytes) -> bytes:
    """Returns the source without unused definitions; lines keep their numbers."""
    text = masked(source)
    definitions = sorted(_definitions(text), key=lambda each: each.begin)
    unused = set(definitions) - _used(text, definitions)
    at, kept = 0, list[bytes]()
    for each in sorted(unused, key=lambda each: each.begin):
        kept += source[at : each.begin], b"\n" * source.count(b"\n", each.begin, each.end)
        at = each.end
    return b"".join([*kept, source[at:]])


def masked(source: bytes) -> bytes:
    """Returns the source with blanks in place of comments and strings."""
    return _SILENT.sub(lambda found: _VISIBLE.sub(b" ", found[0]), source)


def without_comments(source: bytes) -> bytes:
    return _SILENT.sub(lambda found: b"" if found[0].startswith(b"--") else found[0], source)


def _definitions(text: bytes) -> Iterator[_Definition]:
    within: set[int] = set()
    is_plain = cache(partial(_is_plain, text))  # a search of the whole text: once for each table
    for found in FUNCTION.finditer(text):
        table = found["table"]
        within.update(range(found.start(), found.end()))
        if table is None:
            yield _Definition(frozenset((found["local"],)), *found.span())
        elif is_plain(table):
            yield _Definition(frozenset((table + b"." + found["field"],)), *found.span())
    for found in _CONSTANT.finditer(text):
        is_whole = found["value"].count(b"{") == found["value"].count(b"}")
        if is_whole and b"function" not in found["value"] and found.start() not in within:
            yield _Definition(frozenset(found["names"].split(b", ")), *found.span())


def _is_plain(text: bytes, table: bytes) -> bool:
    """Whether the table is only ever used as `table.name`, apart from its declaration."""
    others = re.sub(rb"^local " + table + rb" = ", b"", text, flags=re.MULTILINE)
    return not re.search(rb"(?<![\w.:])" + table + rb"(?!\w|\.[A-Za-z_])", others)


def _used(text: bytes, definitions: list[_Definition]) -> set[_Definition]:
    at, statements = 0, list[bytes]()
    for each in definitions:
        statements.append(text[at : each.begin])
        at = each.end
    named = names_in(b"".join([*statements, text[at:]]))
    used = set[_Definition]()
    while more := [each for each in definitions if each not in used and each.names & named]:
        used.update(more)
        for each in more:
            named |= names_in(text[each.begin : each.end])
    return used


def names_in(text: bytes) -> set[bytes]:
    """Every name in the text, and for `t.f` both `t` and `t.f`."""
    words = set(_WORD.findall(text))
    return words | {word.partition(b".")[0] for word in words}
