"""Logs: one JSON object a line on stderr, with the same field names everywhere.

    {"time":"2026-11-21T10:28:51.123456Z","level":"warning","event":"request failed","operation":"commit","txn":"3-17"}

Fields  time level event      always; `event` is a constant sentence, what varies goes into fields
        topic partition offset subscription consumer txn producer_id coordinator    names of things, as in `ids.py`
        operation code status     an HTTP request and how it ended
        took_ms                   durations
        error trace               what was raised; the trace is one string
stdout belongs to the command (the `ready` line, results), never to the log.
"""

from __future__ import annotations

import logging
import sys
import time
import traceback
from typing import Any, Literal, TextIO

import structlog

Level = Literal["debug", "info", "warning", "error"]
_LEVELS: dict[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def _trace(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """`exc_info` becomes `error` (class and message) and `trace` (the whole of it, as one string)."""
    raised = event.pop("exc_info", None)
    if raised is True:
        raised = sys.exc_info()[1]
    if isinstance(raised, BaseException):
        event["error"] = f"{type(raised).__name__}: {raised}"
        event["trace"] = "".join(traceback.format_exception(raised))
    return event


def configure(level: Level = "info", stream: TextIO | None = None) -> None:
    """Called once by a process; a library that is merely imported logs nothing below warning."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            _trace,
            structlog.processors.JSONRenderer(default=str),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        # sys.stderr is looked up as late as possible: whoever redirects it means the log too.
        logger_factory=lambda *_: structlog.PrintLogger(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )


def get(**fields: Any) -> Any:
    """A logger whose lines carry these fields."""
    return structlog.get_logger(**fields)


class Seldom:
    """For what a flood may bring: each event at most once in every_s, with how often it was left unsaid."""

    def __init__(self, every_s: float = 1.0) -> None:
        self._every_s = every_s
        self._said: dict[str, tuple[float, int]] = {}  # by event: when, and how often not since

    def warning(self, event: str, **fields: Any) -> None:
        """event: a constant sentence."""
        now, (said, unsaid) = time.monotonic(), self._said.get(event, (float("-inf"), 0))
        if now - said < self._every_s:
            self._said[event] = said, unsaid + 1
            return
        self._said[event] = now, 0
        get().warning(event, **fields, **({"unsaid": unsaid} if unsaid else {}))


if not structlog.is_configured():
    configure("warning")
