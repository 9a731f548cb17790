"""Lua scripts from the folder lua/: read, includes pasted in, named by their SHA-1.

    lua/ledger/append.lua ──┐
    lua/include/status.lua ─┴─ --- @include "include/status" ──▶ one source ──▶ pruned ──▶ sha1 ──▶ EVALSHA

A file is included once per script, where it is first asked for.  The line `#!lua flags=...`, which makes Redis check
slots and memory before the script starts, has to stay the very first.  The package finds the folder as
`redis_ledger/_lua/`: a copy in the wheel, a symbolic link in a checkout.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from redis_ledger.store.pruning import pruned

_INCLUDE = re.compile(rb'^([ \t]*)---[ \t]*@include[ \t]+"([a-z0-9_/]+)"[ \t]*$', re.MULTILINE)
_LINE = re.compile(rb"^(?=.)", re.MULTILINE)
_NAME = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*\Z")


# Scripts whose KEYS may be absent, since they make keys, remove them, or look whether they are there.  One that removes
# keys which are there and makes them again names `none`: Redis refuses to make the first of them in mid-script.
# While a slot is on the move such a call is answered TRYAGAIN until the move is over, for ever if it was given up.
# Other calls of the slot must not wait behind it.
NAMES_ABSENT = frozenset(
    {
        "broker/update_rows", "cursor/create", "cursor/delete", "cursor/offset_commit", "cursor/offset_delete",
        "cursor/offset_fetch", "cursor/seek", "cursor/stats", "delay/clear", "delay/drop_snapshot", "delay/rotate",
        "delay/seal", "delay/write", "fsck/read", "fsck/write", "ledger/alter", "ledger/catalog", "ledger/create",
        "ledger/cut", "ledger/delete", "ledger/drop", "ledger/roll", "ledger/trim", "txn/open",
    }
)  # fmt: skip


class ScriptBroken(Exception):
    """A script cannot be put together from its files; this is a mistake in lua/ or in the packaging."""


class Script:
    """One script.  sha: 40 hex digits, as EVALSHA wants them.  names_absent: its KEYS may be absent."""

    __slots__ = ("name", "names_absent", "sha", "source")

    def __init__(self, name: str, source: bytes) -> None:
        self.name = name
        self.names_absent = name in NAMES_ABSENT
        self.source = source
        self.sha = hashlib.sha1(source, usedforsecurity=False).hexdigest().encode()

    def __repr__(self) -> str:
        return f"Script({self.name!r})"

    @classmethod
    def load(cls, name: str) -> Script:
        """The script of lua/<name>.lua.  Raises ScriptBroken if a file is missing or includes form a circle."""
        return _load(name)

    @classmethod
    def all(cls) -> tuple[Script, ...]:
        """Every script there is, by name; files under lua/include/ are not scripts."""
        return _load_all()


@cache
def folder() -> Path:
    place = Path(__file__).resolve().parent.parent / "_lua"
    if not place.is_dir():
        raise ScriptBroken(f"there are no Lua scripts in {place}.")
    return place


def names(root: Path) -> list[str]:
    found = (path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.lua"))
    return sorted(name for name in found if not name.startswith("include/"))


@cache
def _load(name: str) -> Script:
    return Script(name, pruned(expand(folder(), name)))


@cache
def _load_all() -> tuple[Script, ...]:
    return tuple(_load(name) for name in names(folder()))


def expand(root: Path, name: str) -> bytes:
    """The source of root/<name>.lua with every include in place."""
    return _expand(root, name, [], set())


def _expand(root: Path, name: str, path: list[str], seen: set[str]) -> bytes:
    if name in path:
        raise ScriptBroken(f"includes form a circle: {' → '.join([*path, name])}.")
    if name in seen:
        return b"-- included above: " + name.encode()
    if not _NAME.match(name):
        raise ScriptBroken(f"{name!r} is not the name of a script; use small letters, digits, _ and /.")
    try:
        source = (root / f"{name}.lua").read_bytes()
    except FileNotFoundError:
        asked = f", which {path[-1]} includes," if path else ""
        raise ScriptBroken(f"there is no lua/{name}.lua{asked} in {root}.") from None
    if path and source.startswith(b"#!"):
        raise ScriptBroken(f"{name} is included by {path[-1]} and must not start with #!, only a script may.")
    seen.add(name)
    path.append(name)
    expanded = _INCLUDE.sub(lambda found: _indented(_expand(root, found[2].decode(), path, seen), found[1]), source)
    path.pop()
    return expanded


def _indented(source: bytes, by: bytes) -> bytes:
    """As the line that includes it: what is inside a function does not end the function."""
    return _LINE.sub(by, source.rstrip(b"\n")) if by else source.rstrip(b"\n")
