"""What `redis-ledger serve` says when it refuses to start: one line, or a numbered list, on stderr with exit code 2."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.cli import run
from tests.support.processes import Serve


def refusal(serve: Serve) -> str:
    """The message of a process that does not start."""
    return _message(*serve.end())


def refused(*arguments: str | Path, **environ: str) -> str:
    """The message of `serve` in this process, for what is refused before any process or listener is started.

    The Redis that it is given is not there.  Should it not refuse, it fails without serving: only the main thread may
    handle signals.
    """
    addresses = ("--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0")
    with _logging_kept():
        ended = run("serve", *addresses, "--redis", "redis://127.0.0.1:1", *arguments, **environ)
    return _message(ended.code, ended.err)


def _message(code: int, errors: str) -> str:
    assert code == 2, errors
    assert errors.startswith("redis-ledger: ")
    first, *rest = errors.splitlines()
    assert [line[:5] for line in rest] == [f"  {number}. " for number in range(1, len(rest) + 1)]
    assert not rest or first == f"redis-ledger: {len(rest)} things keep this Redis from being used:"
    return errors.removeprefix("redis-ledger: ").strip()


@contextmanager
def _logging_kept() -> Iterator[None]:
    """`serve` replaces the handlers of the root logger and closes them."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    root.handlers = []
    try:
        yield
    finally:
        root.handlers = handlers
        root.setLevel(level)
