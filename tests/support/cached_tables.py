"""A store that has only the tables which every broker caches: what `MetadataCache` reads and writes, over dicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any


class TableStore:
    """reads: the tables that were read, in order."""

    prefix = "p"

    def __init__(self) -> None:
        self.tables: defaultdict[bytes, dict[bytes, bytes]] = defaultdict(dict)
        self.reads: list[bytes] = []

    async def command(self, name: str, table: bytes, *fields: str, key: bytes) -> Any:
        assert table == key
        rows = self.tables[table]
        if name == "HGET":
            return rows.get(fields[0].encode())
        assert name == "HGETALL"
        self.reads.append(table)
        return [part for row in rows.items() for part in row]

    async def call(self, script: object, keys: Sequence[bytes], arguments: Sequence[str]) -> list[int]:
        """As broker/update_rows."""
        (table, state), (version, new, *flat) = keys, (each.encode() for each in arguments)
        rows = self.tables[table]
        changed = [
            (field, row) for field, row in zip(flat[::2], flat[1::2], strict=True) if rows.get(field, b"") != row
        ]
        for field, row in changed:
            rows[field] = row
            if not row:
                del rows[field]
        if changed:
            self.tables[state][version] = new
        return [0, len(changed)]
