"""Logs: one JSON object per line on stderr, with the same field names everywhere; or text for terminals.

    {"time":"2026-11-21T10:28:51.123456Z","level":"warning","event":"request failed","operation":"commit","txn":"3-17"}

Fields  time level event      always; `event` is a constant sentence, what varies goes into fields
        topic partition offset subscription consumer txn producer_id coordinator    names of things, as in `ids.py`
        operation code status     a request (REST or Kafka) and its result
        request_id principal      of the request; the response of a failed request has the id as X-Request-Id
        library                   a library that logged the line
        trace_id span_id          of the trace it belongs to, while traces are on
        took_ms                   durations
        error trace               the exception; the trace is one string
The fields of the current request are added to every line; they are computed only when a line is written.
Passwords in URLs, bearer tokens and API tokens are masked in every value.
stdout belongs to the command (the `ready` line, results), never to the log.
"""

from __future__ import annotations

import logging
import re
import sys
import time
import traceback
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any, Literal, Protocol, TextIO

import structlog

from redis_ledger.errors import LedgerError
from redis_ledger.telemetry import tracing

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["json", "text"]
_LEVELS: dict[str, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
MASK = "***"
_SECRET = re.compile(
    r"(?P<url>\b[a-z][a-z0-9+.-]*://)[^\s/@\"']*@"  # user and password of a URL
    r"|(?P<scheme>\b(?:bearer|basic)\s+)[a-z0-9._~+/=-]{8,}"  # what an Authorization header holds
    r"|\b(?P<token>rl_[a-z0-9]+_)[a-z0-9_-]{8,}"  # an API token
    r"|(?P<name>\b(?:password|passwd|secret|authorization)[\"']?\s*[=:]\s*[\"']?)(?:(?:bearer|basic)\s+)?[^\s\"',;}]+",
    re.IGNORECASE,
)


class RequestFields(Protocol):
    """A request whose fields are added to every log line."""

    def log_fields(self) -> Mapping[str, Any]: ...


current_request: ContextVar[RequestFields | None] = ContextVar("current_request", default=None)


def without_secrets(text: str) -> str:
    """The text with possible secrets masked."""
    return _SECRET.sub(_masked, text)


def _masked(found: re.Match[str]) -> str:
    if found["url"]:
        return f"{found['url']}{MASK}@"
    return f"{found['scheme'] or found['token'] or found['name']}{MASK}"


def _of_request(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    request = current_request.get()
    known = {} if request is None else request.log_fields()
    if tracing.tracer is not None:
        known = {**known, **tracing.ids()}
    return {**event, **{name: value for name, value in known.items() if value and name not in event}}


def _trace(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Converts `exc_info` to `error` (class and message) and `trace` (one string)."""
    raised = event.pop("exc_info", None)
    if raised is True:
        raised = sys.exc_info()[1]
    if isinstance(raised, BaseException):
        event["error"] = f"{type(raised).__name__}: {raised}"
        event["trace"] = "".join(traceback.format_exception(raised))
    return event


def _mask(_: Any, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    return {name: value if isinstance(value, int | float) else _clean(value) for name, value in event.items()}


def _clean(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set):
        return [_clean(each) for each in value]
    return value if value is None or isinstance(value, bool | int | float) else without_secrets(str(value))


class _Forwarded(logging.Handler):
    """Writes what libraries log through `logging` to this log."""

    def emit(self, record: logging.LogRecord) -> None:
        level = "error" if record.levelno >= logging.ERROR else record.levelname.lower()
        write = getattr(structlog.get_logger(library=record.name), level, None) or structlog.get_logger().info
        raised = record.exc_info[1] if record.exc_info else None
        write(record.getMessage(), **({} if raised is None else {"exc_info": raised}))


_forwarded = _Forwarded()


def configure(
    level: Level = "info", stream: TextIO | None = None, shape: Format = "json", *, whole_process: bool = False
) -> None:
    """Called once per process; until then only warnings are logged.  whole_process: also logs what libraries log."""
    renderer: Any = structlog.processors.JSONRenderer(default=str)
    if shape == "text":
        renderer = structlog.dev.ConsoleRenderer(colors=False, timestamp_key="time", pad_event_to=0)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            _of_request,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            _trace,
            _mask,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        # Looked up for every logger, so that redirecting sys.stderr redirects the log.
        logger_factory=lambda *_: structlog.PrintLogger(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )
    if whole_process:
        logging.basicConfig(handlers=[_forwarded], level=max(_LEVELS[level], logging.WARNING), force=True)


def get(**fields: Any) -> Any:
    """A logger whose lines carry these fields."""
    return structlog.get_logger(**fields)


class RateLimitedLog:
    """Logs each event at most once in every_s, with the number of lines it suppressed (`unsaid`)."""

    def __init__(self, every_s: float = 1.0) -> None:
        self._every_s = every_s
        self._logged: dict[str, tuple[float, int]] = {}  # event → time of its last line, lines suppressed since

    def warning(self, event: str, **fields: Any) -> None:
        """event: a constant sentence."""
        self._write("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._write("error", event, fields)

    def failed(self, event: str, error: Exception, **fields: Any) -> None:
        """Logs a failure that is retried: a LedgerError with its message, other errors with a trace."""
        if isinstance(error, LedgerError):
            self.warning(event, **fields, error=str(error))
        else:
            self.error(event, **fields, exc_info=error)

    def _write(self, level: str, event: str, fields: Mapping[str, Any]) -> None:
        now, (logged, unsaid) = time.monotonic(), self._logged.get(event, (float("-inf"), 0))
        if now - logged < self._every_s:
            self._logged[event] = logged, unsaid + 1
            return
        self._logged[event] = now, 0
        getattr(get(), level)(event, **fields, **({"unsaid": unsaid} if unsaid else {}))


if not structlog.is_configured():
    configure("warning")
