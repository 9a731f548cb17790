"""The version of what is stored, so that two releases can run on one Redis and none misreads the other.

    {catalog}:state  format  1

A release writes the format that is there, and reads it and those before it; a Redis without one gets the newest.  One
that is newer than a broker knows is refused at its start, before anything is read.  A format only ever changes in a
release after the one that can read it, so brokers are upgraded one by one (docs/howto/operate.md).
"""

from __future__ import annotations

from redis_ledger.errors import UnreadableFormat
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store

FORMAT = OLDEST = 1


async def agree(store: Store) -> int:
    """The format of this Redis.  Raises UnreadableFormat."""
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
