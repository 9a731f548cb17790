"""How scripts are called: FCALL of a library's function, or EVALSHA where a node takes no libraries.

    new connection ─▶ FUNCTION LIST ─▶ FUNCTION LOAD of the libraries that are missing
                                        └ refused: NOPERM, a full memory, no functions at all
                                          ─▶ SCRIPT LOAD; all calls of this store are EVALSHA

A call by EVALSHA builds the functions of its script anew, so it costs Redis 5 to 20 µs more; its effect is the same.  A
node that lost its libraries replies "Function not found", as it replies NOSCRIPT for a script.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from hiredis import ReplyError

from redis_ledger.errors import StorageFull
from redis_ledger.store.connection import Arg
from redis_ledger.store.error_replies import FUNCTION_MISSING
from redis_ledger.store.function_library import PREFIX
from redis_ledger.store.scripts import Script

# A node with such an error refuses all writes.  Calls are retried when it accepts them again, and the libraries loaded.
_NOT_NOW = ("READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY", "MISCONF", "NOREPLICAS")
LIST = (b"FUNCTION", b"LIST", b"LIBRARYNAME", PREFIX.encode() + b"*")
_PROBE = (b"FCALL", PREFIX.encode() + b"probe", 0)  # a function that does not exist: whether FCALL is allowed
_log = logging.getLogger("redis_ledger.store")
Ask = Callable[[Sequence[Sequence[Arg]]], Awaitable[list[Any]]]


class ScriptCalls:
    """Of one store.  uses_functions: all its nodes take libraries."""

    __slots__ = ("refusals", "uses_functions")

    def __init__(self) -> None:
        self.uses_functions = True
        self.refusals: WeakKeyDictionary[object, str] = WeakKeyDictionary()  # node → why it takes no libraries

    def command(self, script: Script, keys: Sequence[bytes], args: Sequence[Arg]) -> tuple[Any, ...]:
        if self.uses_functions and script.function:
            return (b"FCALL", script.function, len(keys), *keys, *args)
        return (b"EVALSHA", script.sha, len(keys), *keys, *args)

    def note(self, node: object, name: str, why: str) -> None:
        """why: the node takes no libraries; "": it does."""
        if why and node not in self.refusals:
            _log.warning("Redis at %s takes no function libraries; scripts are called by EVALSHA: %s", name, why)
        if why:
            self.refusals[node] = why
        else:
            self.refusals.pop(node, None)
        self.uses_functions = not self.refusals

    @property
    def refusal(self) -> str:
        """Why a node takes no libraries; "" if all do."""
        return next(iter(self.refusals.values()), "")


def loads(missing: str) -> list[tuple[bytes, ...]]:
    """The commands that load all libraries, or all scripts.  missing: the error of a call to a node that lacks them."""
    if missing == FUNCTION_MISSING:
        return [(b"FUNCTION", b"LOAD", library.source) for library in Script.libraries()]
    return [(b"SCRIPT", b"LOAD", script.source) for script in Script.all()]


async def load_missing(ask: Ask) -> str:
    """Loads the libraries that a node lacks.  Returns why it takes none, or "".  Cost: one round trip if it has all."""
    listed, probed = await ask([LIST, _PROBE])
    if why := refusal(probed):
        return why
    known = names_of(listed)
    missing = [library for library in Script.libraries() if library.name not in known]
    replies = await ask([(b"FUNCTION", b"LOAD", library.source) for library in missing]) if missing else []
    return next(filter(None, map(refusal, replies)), "")


def names_of(listed: object) -> set[bytes]:
    """listed: the reply to LIST."""
    return {each[1] for each in listed} if isinstance(listed, list) else set()


def refusal(reply: object) -> str:
    """Why a node takes no libraries, by its reply to FUNCTION LOAD or FCALL; "" if it takes them, or cannot tell."""
    text = str(reply)
    if isinstance(reply, StorageFull):
        return text
    if not isinstance(reply, ReplyError) or text == FUNCTION_MISSING or text.endswith("already exists"):
        return ""
    return "" if text.startswith(_NOT_NOW) else text
