"""The version of the stored format, so that releases that share a Redis do not misread each other's data.

    {catalog}:state  format  1   every batch in the log has its payload, until retention or offload deletes it
                             2   batches of aborted transactions may have none, below the partition's field `reclaimed`;
                                 the records of a transaction may be one log entry (ledger/sidecar.py)

A release writes the format it finds and reads that and older ones; an empty Redis gets the newest.  A broker refuses to
start on a newer format.  So brokers can be upgraded one by one, and back, until an operator raises the format, which
`redis-ledger raise-format` does when all brokers can read the newer one (docs/howto/operate.md).
"""

from __future__ import annotations

from redis_ledger.errors import UnreadableFormat
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store

OLDEST, FORMAT = 1, 2
RECLAIMS_ABORTED = 2  # the format from which on payload of aborted transactions is deleted


async def agree(store: Store) -> int:
    """Returns the format of this Redis, after setting it in an empty one.  Raises UnreadableFormat."""
    key = CatalogKeys(store.prefix).state
    # Releases that did not store a format have stored other fields.
    is_empty = not await store.command("EXISTS", key, key=key)
    await store.write_allow_oom("HSETNX", key, "format", FORMAT if is_empty else OLDEST)
    text = await store.command("HGET", key, "format", key=key)
    found = int(text) if text.isdigit() else 0
    if not OLDEST <= found <= FORMAT:
        raise UnreadableFormat(
            f"The data under the prefix {store.prefix!r} has format {text.decode(errors='replace')[:20]}, and this "
            f"redis-ledger reads {OLDEST} to {FORMAT}. Run the release that wrote it; nothing was changed."
        )
    return found
