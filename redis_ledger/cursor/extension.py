"""Calls lua/cursor/extend: a consumer keeps what it has leased for longer.

Source: docs/decisions/0054.
"""

from __future__ import annotations

from collections.abc import Sequence

from redis_ledger.cursor import paged_acks
from redis_ledger.cursor.ranges import Range, flat
from redis_ledger.cursor.script_errors import checked, token
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Script, Store

_EXTEND = Script.load("cursor/extend")
_COMPLETE, _ANEW = -2, -1


async def extend(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    consumer: str,
    ranges: Sequence[Range] | None,
    *,
    now_ms: int,
    wait: str,
    session_ms: int,
) -> list[Range]:
    """Returns what is leased until the time of `wait` (as ReceiveRequest.wait) has passed, at least: of these ranges,
    which count as delivered from now on (None: of all leases), what the consumer still has."""
    extended, first, rest = list[Range](), 0, list(ranges or ())
    while ranges is None or rest:
        some = rest[: paged_acks.RANGES_MAX]
        args: list[str | int] = [
            topic_id,
            token(consumer),
            now_ms,
            wait,
            session_ms,
            paged_acks.LEASES_MAX,
            first,
            *flat(some),
        ]
        reply = checked(await store.call(_EXTEND, (keys.state, *keys.sub(name).all()), args), name)
        _, reached, *found = reply
        extended += [Range(found[i], found[i + 1]) for i in range(0, len(found), 2)]
        behind = [] if reached == _COMPLETE else paged_acks.behind(some, reached)
        rest = behind + rest[paged_acks.RANGES_MAX :]
        if ranges is None:
            if reached == _COMPLETE:
                break
            first = 0 if reached == _ANEW else reached + 1
    return extended
