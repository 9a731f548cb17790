"""How the consumers of a key_shared subscription share its slots: calls lua/cursor/key_shares.

partition 0   c1 128 slots   c2 128 slots      each partition has 256 slots, and divides them by itself
partition 1   c1 256 slots                     c2 has not received there yet
together      c1 384 slots   c2 128 slots
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from redis_ledger.cursor.script_errors import checked, text
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.store import Script, Store

_KEY_SHARES = Script.load("cursor/key_shares")
_FIELDS, _SLOTS = 6, 256
GRANTS = 2_000  # that a call reads, and one more for each slot


class KeyShare(NamedTuple):
    """What a consumer of a key_shared subscription has.

    slots            as the last receives divided them, also if its session has ended since
    unacknowledged   records that it has leased, or acknowledged in open transactions
    waiting          records in the queues of its slots that no consumer has
    returned         those of them that were delivered before, and wait for redelivery
    session_ends_ms  0 if it was closed
    """

    consumer: str
    slots: int
    unacknowledged: int
    waiting: int
    returned: int
    session_ends_ms: int


async def read(store: Store, keys: PartitionKeys, topic_id: str, name: str) -> list[KeyShare]:
    """On one partition; none if the subscription is of another kind.  Raises StoredDamaged.

    Cost: one call, and one for each GRANTS grants, which a subscription has after many small receives.
    """
    found, at = list[KeyShare](), 0
    while at < _SLOTS:
        reply = await store.call(_KEY_SHARES, (keys.state, *keys.sub(name).all()), (topic_id, at, GRANTS))
        if reply[0] == Status.WRONG_KIND:
            return []
        _, at, *values = checked(reply, name)
        rows = (values[i : i + _FIELDS] for i in range(0, len(values), _FIELDS))
        found += [KeyShare(unquote(text(consumer)), *numbers) for consumer, *numbers in rows]
    return total(found)


def total(shares: Iterable[KeyShare]) -> list[KeyShare]:
    """Those of several partitions or calls as one for each consumer, in the order in which they are met."""
    found = dict[str, KeyShare]()
    for each in shares:
        known = found.get(each.consumer, KeyShare(each.consumer, 0, 0, 0, 0, 0))
        found[each.consumer] = KeyShare(
            each.consumer, known.slots + each.slots, known.unacknowledged + each.unacknowledged,
            known.waiting + each.waiting, known.returned + each.returned,
            max(known.session_ends_ms, each.session_ends_ms),
        )  # fmt: skip
    return list(found.values())
