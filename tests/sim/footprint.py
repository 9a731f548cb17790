"""What a run leaves in Redis after retention has removed every record."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tests.support.redis_servers import Server

# Kept for their own time, and bounded by it: answers to Idempotency-Keys, outcomes and tombstones of transactions.
TIMED = re.compile(rb"\{idem:|:ended$|:outcomes$|:forget$|:nonces$|:steps$|:producers$")
FAMILY = re.compile(r"^[^}]*\}:|(?<=data:).*|(?<=snap:).*|(?<=sub:)[^|]*")


class Footprint(NamedTuple):
    """Keys and bytes of each family, without what is kept for a time of its own."""

    keys: Counter[str]
    bytes: Counter[str]


def measure(servers: Sequence[Server]) -> Footprint:
    found = Footprint(Counter(), Counter())
    for server in servers:
        for key in _scan(server):
            if TIMED.search(key):
                continue
            family = FAMILY.sub("", key.decode(errors="replace"))
            used = server.ask("MEMORY", "USAGE", key, "SAMPLES", 0)
            found.keys[family] += 1
            found.bytes[family] += used if isinstance(used, int) else 0
    return found


def _scan(server: Server) -> list[bytes]:
    found: list[bytes] = []
    cursor = b"0"
    while True:
        reply = server.ask("SCAN", cursor, "COUNT", 1000)
        assert isinstance(reply, list), reply
        cursor, some = reply
        found += some
        if cursor == b"0":
            return found
