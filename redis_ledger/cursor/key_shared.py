"""Calls lua/cursor/receive_key_shared: a receive of a key_shared subscription.

The script needs a hash of each record's key, which Redis does not have.  A window has those of consecutive offsets.

    window  offset 17 ┌────┬────┬────┬────┐ 20      four bytes each, whatever is there: a record, a marker, or a gap
                      └────┴────┴────┴────┘

If the window does not begin at or before the first new record, or ends too early, the reply needs another one.
Source: docs/decisions/0046.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

from redis_ledger.cursor.ranges import to_ranges
from redis_ledger.cursor.script_errors import token
from redis_ledger.cursor.scripts import Delivery, Received, ReceiveRequest, answer_of, check_received
from redis_ledger.errors import OutcomeUnknown
from redis_ledger.store.keys import PartitionKeys
from redis_ledger.store.store import Script, Store

HASH_BYTES = 4
_RECEIVE = Script.load("cursor/receive_key_shared")


class KeyWindow(NamedTuple):
    """Hashes of the keys of offsets from `start` on."""

    start: int
    hashes: bytes

    @property
    def end(self) -> int:
        """The first offset behind it."""
        return self.start + len(self.hashes) // HASH_BYTES

    def covers(self, offset: int) -> bool:
        return self.start <= offset < self.end


NO_WINDOW = KeyWindow(0, b"")


def hash_of(key: bytes | None, offset: int) -> bytes:
    """A record without a key has one of its own, so such records are spread evenly and have no order."""
    return zlib.crc32(b"%d" % offset if key is None else key).to_bytes(HASH_BYTES, "big")


async def receive(
    store: Store,
    keys: PartitionKeys,
    topic_id: str,
    name: str,
    request: ReceiveRequest,
    window: KeyWindow,
    *,
    now_ms: int,
    records_max: int,
    unacked_max: tuple[int, int] = (0, 0),
    waiting_max: int,
) -> Received:
    """Leases records whose keys are the consumer's.  waiting_max: records that may wait for other consumers.
    Raises ConsumerBusy (too many consumers), UnknownSubscription, NotOwner (another kind), UnknownTopic."""
    places = (keys.state, keys.log, keys.aborted, *keys.sub(name).all())
    head = (
        topic_id, token(request.consumer), now_ms, records_max, request.bytes_max,
        request.wait, request.session_ms, request.token,
    )  # fmt: skip
    tail = (*unacked_max, waiting_max, window.start, window.hashes)
    try:
        reply = await store.call(_RECEIVE, places, (*head, int(request.takes_over), *tail), retry=False)
    except OutcomeUnknown:
        reply = await store.call(_RECEIVE, places, (*head, 1, *tail))
    check_received(reply, name)
    return answer_of(reply, [each for i in range(6, len(reply), 10) for each in _deliveries(reply[i : i + 10])])


def _deliveries(row: list[Any]) -> list[Delivery]:
    """Of the records of one batch: a delivery for each range of offsets."""
    packed, count, base = row[0], row[1], int(row[4])
    offsets = [base + place for place in struct.unpack(f">{len(packed) // 4}I", packed)]
    fields = (int(row[2]), int(row[3]), base, int(row[5]), int(row[6]), row[7], int(row[8]), int(row[9]))
    return [Delivery(first, last, count, *fields) for first, last in to_ranges(offsets)]
