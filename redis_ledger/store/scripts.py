"""Lua scripts from the folder lua/: expands includes, and names scripts for Redis.

    lua/ledger/append.lua ──┐                                                       ┌▶ a function of a library ──▶ FCALL
    lua/include/status.lua ─┴─ --- @include "include/status" ──▶ source ──▶ pruned ─┴▶ sha1 ──▶ EVALSHA

Brokers call functions (function_library.py), and EVALSHA where Redis takes no libraries (script_calls.py).  What is
made of the sources is kept in a file (prepared_scripts.py).

A file is included once per script, at its first include.  The line `#!lua flags=...`, which makes Redis check slots and
memory before the script starts, must stay the first line.  The folder is `redis_ledger/_lua/`: a copy in the wheel, a
symbolic link in a checkout.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from redis_ledger.store.function_library import Library, build
from redis_ledger.store.prepared_scripts import Prepared, cached
from redis_ledger.store.pruning import pruned

_INCLUDE = re.compile(rb'^([ \t]*)---[ \t]*@include[ \t]+"([a-z0-9_/]+)"[ \t]*$', re.MULTILINE)
_LINE = re.compile(rb"^(?=.)", re.MULTILINE)
_NAME = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*\Z")


# Scripts whose KEYS may be absent, since they create, delete or check keys.  A script that deletes existing keys and
# creates them again also has the key `none`: Redis would refuse to create the first of them in mid-script.
# While a slot migrates, such a call gets TRYAGAIN until the migration ends, forever if it was abandoned.
# Other calls of the slot must not wait behind it.
NAMES_ABSENT = frozenset(
    {
        "broker/release_key", "broker/store_answer", "broker/update_rows", "broker/witness", "cursor/create",
        "cursor/delete", "cursor/offset_commit", "cursor/offset_delete", "cursor/restore", "cursor/offset_fetch",
        "cursor/seek", "cursor/stats", "delay/clear", "delay/drop_snapshot", "delay/rotate", "delay/seal",
        "delay/write", "fsck/read", "fsck/write", "ledger/alter", "ledger/catalog", "ledger/create",
        "ledger/cut", "ledger/delete", "ledger/drop", "ledger/reclaim", "ledger/release_sidecar",
        "ledger/roll", "ledger/snapshot", "ledger/trim", "txn/open",
    }
)  # fmt: skip

_TIMED = b"local deadline = table.remove(ARGV)"  # of lua/include/deadline

# Scripts whose KEYS are of several slots: only for a server that is not part of a cluster.
SPANS_SLOTS = frozenset({"txn/apply_and_end"})


class ScriptBroken(Exception):
    """A script cannot be built from its files; this is a bug in lua/ or in the packaging."""


class Script:
    """One script.

    function      its name in a library, for FCALL; empty if it is in none
    sha           40 hex digits, for EVALSHA
    names_absent  its KEYS may be absent
    spans_slots   they are of several slots
    is_timed      its last argument is the time until which it may be executed (lua/include/deadline)
    """

    __slots__ = ("function", "is_timed", "name", "names_absent", "sha", "source", "spans_slots")

    def __init__(self, name: str, source: bytes, function: bytes = b"") -> None:
        self.name, self.function = name, function
        self.names_absent = name in NAMES_ABSENT
        self.spans_slots = name in SPANS_SLOTS
        self.source = source
        self.is_timed = _TIMED in source
        self.sha = hashlib.sha1(source, usedforsecurity=False).hexdigest().encode()

    def eval(self, keys: Sequence[bytes], args: Sequence[Any]) -> tuple[Any, ...]:
        """EVAL with the source: for rare commands to a node that may have nothing loaded."""
        return (b"EVAL", self.source, len(keys), *keys, *args, *((b"",) if self.is_timed else ()))

    def __repr__(self) -> str:
        return f"Script({self.name!r})"

    @classmethod
    def load(cls, name: str) -> Script:
        """Loads lua/<name>.lua.  Raises ScriptBroken if a file of any script is missing or includes form a cycle."""
        return _load(name)

    @classmethod
    def all(cls) -> tuple[Script, ...]:
        """All scripts, by name; files under lua/include/ are not scripts."""
        return _load_all()

    @staticmethod
    def libraries() -> tuple[Library, ...]:
        """The libraries that have all scripts as functions."""
        return tuple(_prepared().libraries.values())


@cache
def folder() -> Path:
    place = Path(__file__).resolve().parent.parent / "_lua"
    if not place.is_dir():
        raise ScriptBroken(f"there are no Lua scripts in {place}.")
    return place


def read(root: Path) -> dict[str, bytes]:
    """Returns the Lua files under root by name, such as `ledger/append`."""
    return {path.relative_to(root).with_suffix("").as_posix(): path.read_bytes() for path in root.rglob("*.lua")}


def names(files: Iterable[str]) -> list[str]:
    """Returns the names of scripts among those of Lua files, ascending."""
    return sorted(name for name in files if not name.startswith("include/"))


def prepare(files: Mapping[str, bytes]) -> Prepared:
    """files: all Lua files by name.  Raises ScriptBroken."""
    sources = {name: pruned(expand(files, name)) for name in names(files)}
    areas = sorted({name.partition("/")[0] for name in sources})
    try:
        libraries = {
            area: build(area, {name: source for name, source in sources.items() if name.startswith(f"{area}/")})
            for area in areas
        }
    except ValueError as error:
        raise ScriptBroken(f"{error}.") from None
    return Prepared(sources, libraries)


@cache
def _prepared() -> Prepared:
    return cached(folder(), read(folder()), prepare)


@cache
def _load(name: str) -> Script:
    prepared = _prepared()
    if name not in prepared.sources:
        raise ScriptBroken(f"there is no lua/{name}.lua in {folder()}.")
    return Script(name, prepared.sources[name], prepared.libraries[name.partition("/")[0]].functions[name])


@cache
def _load_all() -> tuple[Script, ...]:
    return tuple(_load(name) for name in _prepared().sources)


def expand(files: Mapping[str, bytes], name: str) -> bytes:
    """Returns the source of a script with its includes expanded.  files: all Lua files by name."""
    return _expand(files, name, [], set())


def _expand(files: Mapping[str, bytes], name: str, path: list[str], seen: set[str]) -> bytes:
    if name in path:
        raise ScriptBroken(f"includes form a circle: {' → '.join([*path, name])}.")
    if name in seen:
        return b"-- included above: " + name.encode()
    if not _NAME.match(name):
        raise ScriptBroken(f"{name!r} is not the name of a script; use small letters, digits, _ and /.")
    if name not in files:
        raise ScriptBroken(f"there is no lua/{name}.lua{f', which {path[-1]} includes' if path else ''}.")
    source = files[name]
    if path and source.startswith(b"#!"):
        raise ScriptBroken(f"{name} is included by {path[-1]} and must not start with #!, only a script may.")
    seen.add(name)
    path.append(name)
    expanded = _INCLUDE.sub(lambda found: _indented(_expand(files, found[2].decode(), path, seen), found[1]), source)
    path.pop()
    return expanded


def _indented(source: bytes, by: bytes) -> bytes:
    """Indents an include like its line, so that its `end` at the start of a line does not end a function."""
    return _LINE.sub(by, source.rstrip(b"\n")) if by else source.rstrip(b"\n")
