"""Classifies error replies: fail the call, redirect it, retry it later, or raise the error in the caller.

For every class except FAULT Redis did not execute the call, so sending it again is safe regardless of `retry`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from hiredis import ReplyError


class Action(Enum):
    MOVED = auto()  # the slot is on another node: update the map and send there
    ASK = auto()  # this time only: send to the named node, after ASKING
    LATER = auto()  # send again after a pause
    STALE = auto()  # the same, and locate the primary again
    LOAD = auto()  # the script is not known: load all, send again
    FULL = auto()  # maxmemory is reached
    UNABLE = auto()  # the server itself refuses writes
    LATE = auto()  # the call's time was over; it was not executed
    DAMAGED = auto()  # a script cannot read a value that scripts wrote
    FAULT = auto()  # for the caller


class ErrorReply(NamedTuple):
    course: Action
    text: str
    host: str = ""
    port: int = 0


_COURSES = {
    "MOVED": Action.MOVED,
    "ASK": Action.ASK,
    "TRYAGAIN": Action.LATER,
    "LOADING": Action.LATER,
    "BUSY": Action.LATER,
    "MASTERDOWN": Action.STALE,
    "CLUSTERDOWN": Action.STALE,
    "READONLY": Action.STALE,
    "NOSCRIPT": Action.LOAD,
    "OOM": Action.FULL,
    "MISCONF": Action.UNABLE,
    "NOREPLICAS": Action.UNABLE,
    "LATE": Action.LATE,
    "DAMAGED": Action.DAMAGED,
}
FUNCTION_MISSING = "ERR Function not found"
_BECAUSE = "EXECABORT Transaction discarded because of: "


def classify(error: ReplyError) -> ErrorReply:
    text = str(error).removeprefix(_BECAUSE)
    word, _, rest = text.partition(" ")
    course = Action.LOAD if text == FUNCTION_MISSING else _COURSES.get(word, Action.FAULT)
    if course in (Action.MOVED, Action.ASK):
        _slot, _, where = rest.partition(" ")
        host, _, port = where.partition(" ")[0].rpartition(":")
        if not port.isdigit():
            return ErrorReply(Action.FAULT, text)
        return ErrorReply(course, text, host.strip("[]"), int(port))
    if course is Action.DAMAGED:
        return ErrorReply(course, rest.partition(" script: ")[0])
    return ErrorReply(course, text)


def classify_unit(replies: Sequence[Any]) -> ErrorReply | None:
    """Classifies a MULTI unit by its replies in order, EXEC's last.  None: it was executed.

    The reason is in the first command that could not be queued; EXEC only reports that the unit was discarded.
    """
    last = replies[-1]
    if not isinstance(last, ReplyError):
        return None
    first = next(reply for reply in replies if isinstance(reply, ReplyError))
    return classify(first)


def missing_script(result: Any) -> str:
    """Returns the error if an element of EXEC's list is a call of a script or function that is not loaded, else ""."""
    if not isinstance(result, list):
        return ""
    errors = (str(element) for element in result if isinstance(element, ReplyError))
    return next((text for text in errors if text.startswith(("NOSCRIPT", FUNCTION_MISSING))), "")
