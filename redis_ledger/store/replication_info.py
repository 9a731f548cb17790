"""Parses a node's report on its replicas, and judges a round of `WAIT`.  Pure.

    marker     WAIT        INFO                          outcome
    OK         ≥ wanted    same replication id, master   CONFIRMED   replies that arrived before the marker was sent
    OK         < wanted    same                          SHORT       nothing; try again
    NOREPLICAS, MISCONF, BUSY                            SHORT
    MOVED, ASK, TRYAGAIN, CLUSTERDOWN                    NO_SLOT     the marker needs a key of another slot
    anything else                                        LOST        the node is not the primary it was

A replication id is new at each promotion and restart.  It also changes when the first replica attaches, which loses
the round unnecessarily.  Source: valkey src/replication.c.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Any, NamedTuple

from hiredis import ReplyError

_NO_SLOT = ("MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", "CROSSSLOT")
_REFUSED = ("NOREPLICAS", "MISCONF", "BUSY")


class ReplicationInfo(NamedTuple):
    """lags: seconds since each online replica acknowledged; None if the server does not report its replicas."""

    is_primary: bool = True
    replication_id: str | None = None
    lags: tuple[int, ...] | None = None

    def in_sync(self, lag_s_max: float) -> int | None:
        """Copies, the primary's included.  A replica counts if its last acknowledgement is not older than lag_s_max."""
        return None if self.lags is None else 1 + sum(lag <= lag_s_max for lag in self.lags)


UNKNOWN = ReplicationInfo()


class Outcome(Enum):
    CONFIRMED = auto()
    SHORT = auto()
    NO_SLOT = auto()
    LOST = auto()


class Round(NamedTuple):
    """in_sync: copies, the primary's included, as far as the round shows.  reason: of LOST."""

    outcome: Outcome
    in_sync: int | None = None
    reason: str = ""


def parse_replication(reply: Any) -> ReplicationInfo:
    """reply: to INFO replication, or to INFO; an error means unknown."""
    if not isinstance(reply, bytes):
        return UNKNOWN
    lines = (line.partition(":") for line in reply.decode(errors="replace").splitlines())
    return replication_of({name: value for name, separator, value in lines if separator})


def replication_of(facts: dict[str, str]) -> ReplicationInfo:
    """facts: the fields of INFO."""
    count = facts.get("connected_slaves", "")
    rows = [dict(pair.partition("=")[::2] for pair in facts[name].split(",")) for name in facts if _is_replica(name)]
    if not count.isdigit() or len(rows) < int(count):
        lags = None
    else:
        lags = tuple(int(row["lag"]) for row in rows if row.get("state") == "online" and row.get("lag", "").isdigit())
    return ReplicationInfo(facts.get("role", "master") == "master", facts.get("master_replid"), lags)


def _is_replica(name: str) -> bool:
    return name.startswith("slave") and name[5:].isdigit()


def judge(replies: Sequence[Any], before: ReplicationInfo, wanted: int, lag_s_max: float) -> Round:
    """replies: to the marker, WAIT and INFO replication; errors are values.
    before: when the connection was opened.  wanted: copies, the primary's included.
    """
    marker, count, info = replies
    if isinstance(marker, Exception):
        word = str(marker).partition(" ")[0]
        if word in _NO_SLOT:
            return Round(Outcome.NO_SLOT)
        if word in _REFUSED:
            return Round(Outcome.SHORT, 1 if word == "NOREPLICAS" else None)
        return Round(Outcome.LOST, reason=str(marker))
    if not isinstance(count, int):
        return Round(Outcome.LOST, reason=str(count))
    now = parse_replication(info)
    if not now.is_primary:
        return Round(Outcome.LOST, reason="it is a replica now")
    if now.replication_id != before.replication_id:
        return Round(Outcome.LOST, reason="its replication id has changed")
    if 1 + count < wanted:
        return Round(Outcome.SHORT, 1 + count)
    known = now.in_sync(lag_s_max)
    return Round(Outcome.CONFIRMED, None if known is None else max(known, 1 + count))


def is_connection_error(reply: Any) -> bool:
    """Whether the connection broke before the reply: the round says nothing about the node."""
    return isinstance(reply, Exception) and not isinstance(reply, ReplyError)
