"""Forks: a child process shares the connections of its parent, and has none of its threads.

    parent   client, its producers, consumers, transactions, results     go on
    child    client                                                      begins anew, with connections of its own
             what was made from it before the fork                       raises ClientClosed where it would wait or send

So no process reads the answer to a request of the other, or waits for a thread that is not there.  This holds for
os.fork, and so for gunicorn --preload, Celery's prefork pool and multiprocessing's start method "fork".
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar
from weakref import WeakKeyDictionary

from redis_ledger.errors import ClientClosed

FORKED = (
    "This was made before the process was forked, and belongs to its parent. Make producers, consumers and "
    "transactions in the process that uses them; the client itself may be made before, unless it was given `http`."
)

T = TypeVar("T")
_living: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()


class Process:
    """The process in which this was made."""

    __slots__ = ("_made_in",)
    current: ClassVar[object] = object()  # another one in each child

    def __init__(self) -> None:
        self._made_in = Process.current

    def check(self) -> None:
        """Raises ClientClosed in any other process."""
        if self._made_in is not Process.current:
            raise ClientClosed(FORKED)


def in_child(owner: T, begin_anew: Callable[[T], None]) -> None:
    """Calls a function, which raises nothing, with the owner in each child that is forked while the owner lives."""
    _living[owner] = begin_anew


def _forked() -> None:
    Process.current = object()
    for owner, begin_anew in list(_living.items()):
        begin_anew(owner)


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forked)
