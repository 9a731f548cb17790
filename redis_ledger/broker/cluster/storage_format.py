"""The version of the stored format, so that releases that share a Redis do not misread each other's data.

    {catalog}:state  format  1

A release writes the format it finds and reads that and older ones; an empty Redis gets the newest.  A broker refuses to
start on a newer format.  A release that writes a new format comes after the one that can read it, so brokers can be
upgraded one by one (docs/howto/operate.md).
"""

from __future__ import annotations

from redis_ledger.errors import UnreadableFormat
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store

FORMAT = OLDEST = 1


async def agree(store: Store) -> int:
    """Returns the format of this Redis, after setting it in an empty one.  Raises UnreadableFormat."""
    key = CatalogKeys(store.prefix).state
    await store.write_allow_oom("HSETNX", key, "format", FORMAT)
    text = await store.command("HGET", key, "format", key=key)
    found = int(text) if text.isdigit() else 0
    if not OLDEST <= found <= FORMAT:
        raise UnreadableFormat(
            f"The data under the prefix {store.prefix!r} has format {text.decode(errors='replace')[:20]}, and this "
            f"redis-ledger reads {OLDEST} to {FORMAT}. Run the release that wrote it; nothing was changed."
        )
    return found
