"""Checks the arguments of the SDK's methods before anything is sent, by a table from names to types.

A broker checks what it receives.  This checks what the SDK itself computes with, and what it could not encode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from redis_ledger.errors import InvalidRequest


class Kind(NamedTuple):
    """may_be_none: None stands for "not given"."""

    types: tuple[type, ...]
    words: str
    may_be_none: bool = False
    at_least: float | None = None


TEXT = Kind((str,), "a str that is not empty")
COUNT = Kind((int,), "an int from 0 up", at_least=0)
POSITIVE = Kind((int,), "an int from 1 up", at_least=1)

KINDS: dict[str, Kind] = {
    "topic": TEXT,
    "subscription": TEXT,
    "name": TEXT._replace(may_be_none=True),
    "id": TEXT,
    "partition": COUNT._replace(may_be_none=True),
    "timestamp_ms": COUNT._replace(may_be_none=True),
    "size": COUNT._replace(may_be_none=True),
    "idempotency_key": TEXT._replace(may_be_none=True),
    "wait_ms": COUNT,
    "timeout_ms": POSITIVE,
    "attempt_ms": POSITIVE,
    "requests_max": POSITIVE,
    "polls_max": POSITIVE,
    "linger_ms": Kind((int, float), "a number from 0 up", at_least=0),
    "batch_bytes": POSITIVE,
    "buffer_bytes": POSITIVE,
    "max_in_flight": POSITIVE,
    "max_bytes": POSITIVE,
    "max_messages": POSITIVE,
    "prefetch": COUNT,
    "ack_timeout_ms": POSITIVE,
    "lease_max_ms": COUNT,
}


def check(**given: Any) -> None:
    """Raises InvalidRequest for the first argument that is not of its kind."""
    for name, value in given.items():
        check_kind(name, value, KINDS[name])


def check_kind(name: str, value: Any, kind: Kind) -> None:
    if value is None and kind.may_be_none:
        return
    is_right = isinstance(value, kind.types) and not isinstance(value, bool) and value != ""
    if not is_right or (kind.at_least is not None and value < kind.at_least):
        raise InvalidRequest(f"{name} is {_shown(value)}; give {kind.words}.")


def choice(name: str, given: Any, choices: Iterable[str]) -> None:
    if given not in (known := tuple(choices)):
        raise InvalidRequest(f"{name} is {_shown(given)}; give one of {', '.join(known)}.")


def name(given: Any) -> str:
    """A part of a path."""
    if isinstance(given, str) and given and given.isascii():
        return given
    if not isinstance(given, (str, int)) or given == "" or any("\ud800" <= each <= "\udfff" for each in str(given)):
        raise InvalidRequest(f"{_shown(given)} is not a name; give a str that is not empty.")
    return str(given)


def mapping(name: str, given: Any) -> dict[Any, Any]:
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"{name} is {_shown(given)}; give a dict.")
    return dict(given)


def sequence(name: str, given: Any) -> list[Any]:
    """A text is refused: it is a sequence of letters, which is never meant."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InvalidRequest(f"{name} is {_shown(given)}; give a list.")
    return list(given)


def pairs(name: str, given: Any) -> list[tuple[Any, ...]]:
    found = [tuple(each) if isinstance(each, (tuple, list)) else () for each in sequence(name, given)]
    if any(len(each) != 2 for each in found):
        raise InvalidRequest(f"{name} is {_shown(given)}; give a list of pairs.")
    return found


def _shown(value: Any) -> str:
    """Short, and with its type where that is what is wrong."""
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(value).__name__})"
