"""Commands of `redis-ledger` in the test's own process: a process of their own costs each half a second of a core."""

from __future__ import annotations

import os
import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from typer.testing import CliRunner

from redis_ledger.app.cli.main import app


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def run(*words: object, given: str = "", **environ: str) -> Ended:
    """given: its stdin.  environ: instead of every variable whose name begins with REDIS_LEDGER_,
    and of the terminal's width.

    In a thread, because a command runs an event loop and that of an async test runs in this one.
    """
    ours: dict[str, str | None] = {name: None for name in os.environ if name.startswith("REDIS_LEDGER_")}
    ours["COLUMNS"] = None
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(
            CliRunner().invoke, app, [str(word) for word in words], input=given, env={**ours, **environ}
        ).result()
    if ended.exception is not None and not isinstance(ended.exception, SystemExit):
        traceback.print_exception(ended.exception)
        raise ended.exception
    return Ended(ended.exit_code, ended.stdout, ended.stderr)
