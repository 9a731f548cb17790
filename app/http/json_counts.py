"""Counts the records of a JSON body before it is decoded: 15 MB can contain five million records.

    few commas ─▶ decoded directly
    many       ─▶ records: walked one by one until the limit is exceeded; other bodies: rejected

msgspec builds all objects of a list before it checks the length, which blocks the event loop.  So large bodies are
walked with its Raw type, which skips a value without building objects: decoding an element fails at the following one,
and the error contains the position.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from itertools import islice

import msgspec
from msgspec import UNSET, Raw, UnsetType

from redis_ledger.config import Config
from redis_ledger.decoding.budget import Pace
from redis_ledger.errors import RequestTooLarge

SMALL_BYTES = 256 << 10  # smaller bodies are not checked: they hold at most 87 000 elements
COMMAS = 10  # bodies with fewer commas per permitted record are decoded directly
LARGE_BYTES = 64 << 10  # records of this size: their headers are counted first
_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_HEADER = re.compile(_TEXT + rb"\s*+[:,]\s*+(?:" + _TEXT + rb"|null)")  # behind a comma: of a pair
_BEHIND = re.compile(r"trailing characters \(byte (\d+)\)")
_SPACE = b" \t\r\n"


class _Lists(msgspec.Struct):
    records: Raw | UnsetType = UNSET
    acks: Raw | UnsetType = UNSET


class _Group(msgspec.Struct):
    """A group of records or ids in the body of :execute."""

    records: Raw | UnsetType = UNSET
    ids: Raw | UnsetType = UNSET


class _Record(msgspec.Struct):
    headers: Raw | UnsetType = UNSET
    headers_base64: Raw | UnsetType = UNSET


_skip = msgspec.json.Decoder(Raw).decode
_lists = msgspec.json.Decoder(_Lists).decode
_group = msgspec.json.Decoder(_Group).decode
_record = msgspec.json.Decoder(_Record).decode


async def check(data: bytes, kind: type[msgspec.Struct], config: Config) -> None:
    """Checks the number of records and headers.  kind: the model of the body.  Raises RequestTooLarge.

    Invalid JSON and other types are left to the decoder.  Cost: one count over the body; with many commas 5 µs per
    record, yielding to other tasks.
    """
    limit, fields, commas = config.records_per_request_max, kind.__struct_fields__, data.count(b",")
    if commas <= COMMAS * limit:
        return
    if "records" not in fields:
        raise _too_many(config)
    try:
        lists, walk = _lists(data), _Walk(config)
        if "headers" in fields:
            walk.record(data)
        for raw in (lists.records, lists.acks):
            if isinstance(raw, Raw):
                await (walk.groups(raw) if "acks" in fields else walk.records(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return


class _Walk:
    """Counts records, ids, and empty groups."""

    def __init__(self, config: Config) -> None:
        self._config, self._pace = config, Pace()
        self._left, self._headers_left = config.records_per_request_max, config.headers_max

    async def groups(self, array: Raw) -> None:
        async for element in self._each(array):
            group = _group(element)
            if isinstance(group.records, Raw):
                await self.records(group.records)
            if isinstance(group.ids, Raw):
                self._take(bytes(group.ids).count(b","))

    async def records(self, array: Raw) -> None:
        async for element in self._each(array):
            if len(element) > LARGE_BYTES:
                self.record(element)

    def record(self, text: bytes | memoryview) -> None:
        record = _record(text)
        for headers in (record.headers, record.headers_base64):
            if isinstance(headers, Raw):
                self._take_headers(bytes(headers))

    async def _each(self, array: Raw) -> AsyncIterator[memoryview]:
        for element in elements(memoryview(array)):
            self._take(1)
            yield element
            if self._pace.is_over:
                await self._pace.rest()

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise _too_many(self._config)

    def _take_headers(self, text: bytes) -> None:
        most = self._config.record_headers_max
        count = sum(1 for _ in islice(_HEADER.finditer(text), most + 1))
        self._headers_left -= count
        if count > most or self._headers_left < 0:
            raise too_many_headers(self._config, count > most)


def _too_many(config: Config) -> RequestTooLarge:
    limit = config.records_per_request_max
    return RequestTooLarge(
        f"The body lists more than {limit} elements, the maximum of a request. Split it; nothing was done.",
        records_per_request_max=limit,
    )


def too_many_headers(config: Config, of_record: bool) -> RequestTooLarge:
    if of_record:
        most = config.record_headers_max
        return RequestTooLarge(
            f"A record has more than {most} headers (setting record_headers_max); nothing was written.",
            record_headers_max=most,
        )
    return RequestTooLarge(
        f"The records have more than {config.headers_max} headers in all (setting headers_max); nothing was written.",
        headers_max=config.headers_max,
    )


def elements(array: memoryview) -> Iterator[memoryview]:
    """Yields the texts of the elements of a JSON array; nothing if it is not an array.  The text must be complete."""
    if array[0] != ord("["):
        return
    at = 1
    while array[at] in _SPACE:
        at += 1
    while array[at] != ord("]"):
        rest = array[at:]
        try:
            _skip(rest)
        except msgspec.DecodeError as error:
            behind = _BEHIND.search(str(error))
            if behind is None:
                raise
            end = int(behind[1]) - 1  # the position is counted from 1
        else:
            raise msgspec.DecodeError("the array does not end")
        yield rest[:end]
        at += end
        if array[at] == ord("]"):
            return
        if array[at] != ord(","):
            raise msgspec.DecodeError("no comma between two elements")
        at += 1
        while array[at] in _SPACE:
            at += 1
