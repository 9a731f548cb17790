"""The version of the stored format, so that releases that share a Redis do not misread each other's data.

    {catalog}:state  format  1

The first broker on an empty Redis stores it.  A broker refuses to start on another one.
"""

from __future__ import annotations

from redis_ledger.errors import UnreadableFormat
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store

FORMAT = 1


async def check(store: Store) -> None:
    """Stores the format in an empty Redis.  Raises UnreadableFormat."""
    key = CatalogKeys(store.prefix).state
    await store.write_allow_oom("HSETNX", key, "format", FORMAT)
    found = await store.command("HGET", key, "format", key=key)
    if found != b"%d" % FORMAT:
        raise UnreadableFormat(
            f"The data under the prefix {store.prefix!r} has format {found.decode(errors='replace')[:20]}, and this "
            f"redis-ledger reads {FORMAT}. Run the release that wrote it; nothing was changed."
        )
