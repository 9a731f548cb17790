"""Libraries of Redis Functions, generated from the scripts: one library for each folder of lua/.

    lua/txn/apply.lua ─┐ pruned ─▶ hoisting.py ─┐
    lua/txn/end.lua   ─┘                        ├─▶ redis_ledger_txn_<hash> ──▶ FUNCTION LOAD
                                                     txn_apply_<hash>       ──▶ FCALL
                                                     txn_end_<hash>

The hash is that of the source, so releases whose scripts differ use different libraries side by side.  A library is
part of the data: replicas, the append-only file and snapshots have it.  Function names are unique on a server.

A call sets the variables that functions of its script share, and clears them after it, so that no data stays in memory.
Redis executes one call at a time.  A call that fails leaves them to the next one, which sets them all again.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from typing import NamedTuple

from redis_ledger.store.hoisting import NotSplittable, Split, split
from redis_ledger.store.pruning import pruned, without_comments

PREFIX = "redis_ledger_"
_log = logging.getLogger("redis_ledger.store")
_HASH_DIGITS = 12
_FLAGS = re.compile(rb"#!lua(?: flags=(?P<flags>[a-z,-]+))?\s*\Z")
_BREAK = re.compile(rb"\s*\n\s*")

# `redis` has no `call` while a library is loaded, so the functions use a variable of that name.
_HEAD = b"""
local register_function = redis.register_function
local function runtime__() return redis end
local redis, KEYS, ARGV
local function reset__(t, fields)
for name, value in pairs(t) do
if type(value) ~= "function" then t[name] = nil end
end
for name, value in pairs(fields) do t[name] = value end
end
"""
_FUNCTION = b"""
do
%(declared)b
%(once)b
local function call__()
%(call)b
end
register_function{function_name = "%(name)b", flags = {%(flags)b}, callback = function(keys, args)
if not redis then redis = runtime__() end
%(first)b
KEYS, ARGV = keys, args
local reply__ = call__()
%(cleared)b = nil
return reply__
end}
end
"""


class Library(NamedTuple):
    """functions: script → its function, both as in `FCALL`."""

    name: bytes
    source: bytes
    functions: Mapping[str, bytes]


def hash_of(library: bytes) -> str:
    """library: its name."""
    return library.rpartition(b"_")[2].decode(errors="replace")


def build(folder: str, scripts: Mapping[str, bytes]) -> Library:
    """scripts: name → pruned source.  Raises ValueError if the first line of a script is not `#!lua`."""
    bodies = {name: _body(name, scripts[name]) for name in sorted(scripts)}
    digest = hashlib.sha1(b"".join([_HEAD, *bodies.values()]), usedforsecurity=False).hexdigest()[:_HASH_DIGITS]
    library = f"{PREFIX}{folder}_{digest}".encode()
    functions = {name: f"{name.replace('/', '_')}_{digest}".encode() for name in bodies}
    parts = [body.replace(_placeholder(name), functions[name]) for name, body in bodies.items()]
    return Library(library, b"".join([b"#!lua name=" + library, _HEAD, *parts]), functions)


def _placeholder(name: str) -> bytes:
    return f"<{name}>".encode()


def _body(name: str, script: bytes) -> bytes:
    head, _, source = script.partition(b"\n")
    flags = _FLAGS.match(head)
    if flags is None:
        raise ValueError(f"the first line of {name} is {head.decode(errors='replace')!r}")
    try:
        parts = split(source)
    except NotSplittable as error:
        _log.debug("the functions of %s are built at each call: %s", name, error)
        parts = Split((), (), b"", b"", source)
    declared = (*parts.variables, *parts.builtins)
    body = _FUNCTION % {
        b"declared": b"local " + b", ".join(declared) if declared else b"",
        b"once": parts.once,
        b"call": pruned(parts.call),
        b"name": _placeholder(name),
        b"flags": b", ".join(b'"%b"' % flag for flag in (flags["flags"] or b"").split(b",") if flag),
        b"first": b"if not %b then\n%b\nend" % (parts.builtins[0], parts.first) if parts.builtins else b"",
        b"cleared": b", ".join((b"KEYS", b"ARGV", *parts.variables)),
    }
    return _BREAK.sub(b"\n", without_comments(body))
