"""Splits a script into what Redis makes once, when it loads a library, and what each call does.

    local EACH = 64                          once         its name is in capitals
    local function lowest(n) ... end         once         it reads `held` as an upvalue
    local match = string.match               first call   a library cannot read `string` while it is loaded
    local wide = { room = 1000 }             each call    reset__(wide, { room = 1000 }), since wide.f is a function
    local held = redis.call("HGET", ...)     each call    held = redis.call("HGET", ...)
    return lowest(EACH)                      each call

EVALSHA builds every function and table of a script at each call.  Here a variable that functions of the script read
becomes a variable of the library, which each call assigns; others stay local to the call.  Only statements that begin
at the start of a line are split.  A function of Lua has 60 upvalues: if a call would use more, it copies functions into
locals first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from redis_ledger.store.pruning import FUNCTION, masked, names_in

UPVALUES_MAX = 60
OWN_UPVALUES = 6  # of every call: redis, KEYS, ARGV, reset__, functions__, and one to spare
_LOCAL = re.compile(rb"^local (?!function\b)(?P<names>\w+(?:, \w+)*)(?P<value> = )?", re.MULTILINE)
_CAPITALS = re.compile(rb"[A-Z][A-Z0-9_]*\Z")
_BUILTINS = re.compile(rb"(?:string|math|table|bit)\.\w+(?:, (?:string|math|table|bit)\.\w+)*\s*\Z")
_NO_NAMES = re.compile(rb"[A-Za-z_]\w* = |\b(?:true|false|nil)\b")  # fields of a table, and values that look like names
_NOT_SCALAR = re.compile(rb"[A-Za-z_{]")


class NotSplittable(Exception):
    """The script stays whole: its functions are built at each call."""


class Split(NamedTuple):
    """Source of a script in parts.

    variables  each call assigns them, and functions read them
    builtins   functions of Lua, assigned by `first`
    once, first, call   statements: when the library is loaded, at the first call, at each call
    """

    variables: tuple[bytes, ...]
    builtins: tuple[bytes, ...]
    once: bytes
    first: bytes
    call: bytes


class _Statement(NamedTuple):
    """`local names = value`.  begins: of the statement, its names, its value; value: without comments and strings, None
    without `=`."""

    names: tuple[bytes, ...]
    begin: int
    names_begin: int
    value_begin: int
    end: int
    value: bytes | None


class _Script:
    """The definitions of a script at the start of a line, by what becomes of them."""

    def __init__(self, source: bytes) -> None:
        self.source, text = source, masked(source)
        found = list(FUNCTION.finditer(text))
        self.functions = [each.span() for each in found]
        self.defined = [each["local"] for each in found if each["local"]]
        self.tables = {each["table"] for each in found if each["table"]}
        statements = [each for each in _statements(text) if not any(a <= each.begin < b for a, b in self.functions)]
        self.constants = list(_constants(statements, {*self.defined}, self.tables))
        self.builtins = [each for each in self.constants if _BUILTINS.match(each.value or b"")]
        rest = [each for each in statements if each not in self.constants]
        self.reset = [each for each in rest if self.tables.intersection(each.names)]
        read = names_in(b"\n".join(text[begin:end] for begin, end in self.functions))
        self.assigned = [each for each in rest if each not in self.reset and read.intersection(each.names)]
        self._check(Counter([*self.defined, *(name for each in statements for name in each.names)]))

    def _check(self, counts: Counter[bytes]) -> None:
        """Functions would read the later of two variables of one name, and not the one before it."""
        shared = {*self.defined, *(name for each in (*self.assigned, *self.reset) for name in each.names)}
        if clashes := sorted(name.decode() for name in shared if counts[name] > 1):
            raise NotSplittable(f"functions use a name that is declared twice: {', '.join(clashes)}")
        if any(len(each.names) > 1 or each.value is None for each in self.reset):
            raise NotSplittable("a table with functions is declared with other variables, or without a value")

    @property
    def variables(self) -> tuple[bytes, ...]:
        return tuple(name for each in self.assigned for name in each.names)

    @property
    def made(self) -> list[bytes]:
        """Names of functions, and of tables that no call assigns."""
        lasting = [each for each in self.constants if each not in self.builtins and not _is_cheap(each)]
        names = (name for each in lasting for name in each.names)
        return list(dict.fromkeys([*self.defined, *names, *(each.names[0] for each in self.reset)]))

    def once(self) -> bytes:
        parts = [(begin, self.source[begin:end]) for begin, end in self.functions]
        parts += [(e.begin, self.source[e.begin : e.end]) for e in self.constants if e not in self.builtins]
        parts += [(each.begin, b"local %b = {}" % each.names[0]) for each in self.reset]
        return b"\n".join(part for _, part in sorted(parts))

    def call(self) -> bytes:
        edits = [(begin, end, b"") for begin, end in self.functions]
        edits += [(each.begin, each.end, b"") for each in self.constants if not _is_cheap(each)]
        for each in self.reset:
            edits += [(each.begin, each.value_begin, b"reset__(%b, " % each.names[0]), (each.end, each.end, b"\n)")]
        for each in self.assigned:
            edits.append((each.begin, each.names_begin, b""))
            if each.value is None:
                edits.append((each.end, each.end, b" = nil"))
        return _edited(self.source, edits)


def split(source: bytes) -> Split:
    """source: pruned, with its includes.  Raises NotSplittable."""
    script = _Script(source)
    once, call = script.once(), script.call()
    used = names_in(masked(call))
    made = [name for name in script.made if name in used]
    builtins = tuple(name for each in script.builtins for name in each.names)
    surplus = len(used.intersection((*script.variables, *builtins))) + len(made) + OWN_UPVALUES - UPVALUES_MAX
    if surplus > 0:
        if surplus > len(made) or len(script.variables) + OWN_UPVALUES > UPVALUES_MAX:
            raise NotSplittable(f"functions use {len(script.variables)} variables")
        made = made[:surplus]
        once += b"\nlocal functions__ = { %b }" % b", ".join(name + b" = " + name for name in made)
        call = b"local %b = %b\n%b" % (b", ".join(made), b", ".join(b"functions__." + name for name in made), call)
    return Split(
        script.variables,
        builtins,
        once,
        b"\n".join(script.source[each.names_begin : each.end] for each in script.builtins),
        call,
    )


def _statements(text: bytes) -> Iterator[_Statement]:
    for found in _LOCAL.finditer(text):
        names = tuple(found["names"].split(b", "))
        begin, names_begin, end = found.start(), found.start("names"), found.end()
        if found["value"] is None:
            yield _Statement(names, begin, names_begin, end, end, None)
            continue
        value_begin, end = end, _line_end(text, end)
        while (value := text[value_begin:end]).count(b"{") > value.count(b"}"):
            end = _line_end(text, end + 1)
        yield _Statement(names, begin, names_begin, value_begin, end, value)


def _line_end(text: bytes, at: int) -> int:
    found = text.find(b"\n", at)
    return found if found >= 0 else len(text)


def _constants(statements: Sequence[_Statement], known: set[bytes], tables: set[bytes]) -> Iterator[_Statement]:
    """known: names of functions; a constant may also use earlier constants."""
    for each in statements:
        value = each.value or b""
        is_fixed = bool(value) and b"(" not in value and names_in(_NO_NAMES.sub(b"", value)) <= known
        if tables.intersection(each.names):
            is_constant = is_fixed and len(each.names) == 1 and value.count(b"{") == 1
        else:
            is_constant = is_fixed and all(map(_CAPITALS.match, each.names))
        if is_constant or _BUILTINS.match(value):
            known.update(each.names)
            yield each


def _is_cheap(constant: _Statement) -> bool:
    """Whether the call makes the constant as well: a number costs less than an upvalue."""
    return not _NOT_SCALAR.search(constant.value or b"{")


def _edited(source: bytes, edits: Sequence[tuple[int, int, bytes]]) -> bytes:
    kept, at = list[bytes](), 0
    for begin, end, text in sorted(edits):
        kept += source[at:begin], text
        at = end
    return b"".join([*kept, source[at:]])
