"""The cached copy of a broker: each change is taken up once, also a second one and one that comes while it is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from redis_ledger.broker.cluster.metadata_cache import MetadataCache, Row
from tests.support.cached_tables import TableStore

TABLE, OTHER = b"table", b"other"


class Broker:
    """taken: what its copy was each time it changed.  during: called at each change, before it is taken."""

    def __init__(self, store: Any, *tables: bytes) -> None:
        self.taken: list[list[dict[bytes, bytes]]] = []
        self.flaw: Exception | None = None
        self.cache = MetadataCache(store, "name", tables or (TABLE,), self._take)

    def _take(self, tables: Sequence[Sequence[Row]]) -> None:
        if self.flaw is not None:
            raise self.flaw
        self.taken.append([dict(rows) for rows in tables])


@pytest.fixture
def store() -> Any:
    return TableStore()


async def test_every_change_is_taken_up_and_is_read_once(store):
    writer, reader = Broker(store), Broker(store)
    for row in ("1", "2", "3", ""):
        assert await writer.cache.write(TABLE, {"a": row}) == 1
        await reader.cache.refresh()
        await reader.cache.refresh()
    assert reader.taken == [[{b"a": b"1"}], [{b"a": b"2"}], [{b"a": b"3"}], [{}]]
    assert writer.taken == reader.taken
    assert len(store.reads) == 2 * 4


async def test_a_row_that_is_written_again_unchanged_makes_no_broker_read(store):
    writer, reader = Broker(store), Broker(store)
    await writer.cache.write(TABLE, {"a": "1"})
    await reader.cache.refresh()
    assert await writer.cache.write(TABLE, {"a": "1"}) == 0
    await reader.cache.refresh()
    assert len(reader.taken) == 1


async def test_a_change_while_the_tables_are_read_is_taken_up_by_the_next_refresh(store, monkeypatch):
    # Given a reader that has read the first of two tables
    writer, reader = Broker(store, TABLE, OTHER), Broker(store, TABLE, OTHER)
    await writer.cache.write(TABLE, {"a": "1"})
    command, is_written = store.command, False

    async def slow(name: str, table: bytes, *fields: str, key: bytes) -> Any:
        nonlocal is_written
        found = await command(name, table, *fields, key=key)
        if (name, table, is_written) == ("HGETALL", TABLE, False):
            # When another broker changes it
            is_written = True
            await writer.cache.write(TABLE, {"a": "2"})
        return found

    monkeypatch.setattr(store, "command", slow)
    await reader.cache.refresh()
    assert reader.taken[-1] == [{b"a": b"1"}, {}]
    # Then the next refresh reads it again
    await reader.cache.refresh()
    assert reader.taken[-1] == [{b"a": b"2"}, {}]


async def test_a_change_that_could_not_be_taken_up_is_read_again(store):
    writer, reader = Broker(store), Broker(store)
    await writer.cache.write(TABLE, {"a": "1"})
    await reader.cache.refresh()
    await writer.cache.write(TABLE, {"a": "unreadable"})
    reader.flaw = ValueError("unreadable")
    with pytest.raises(ValueError, match="unreadable"):
        await reader.cache.refresh()
    reader.flaw = None
    await reader.cache.refresh()
    assert reader.taken == [[{b"a": b"1"}], [{b"a": b"unreadable"}]]


async def test_rows_of_several_calls_are_all_written(store, monkeypatch):
    monkeypatch.setattr("redis_ledger.broker.cluster.metadata_cache.ROWS_AT_ONCE", 2)
    writer = Broker(store)
    assert await writer.cache.write(TABLE, {str(n): "x" for n in range(5)}) == 5
    assert await writer.cache.write(TABLE, {str(n): "x" if n else "y" for n in range(5)}) == 1
    assert len(writer.taken[-1][0]) == 5
