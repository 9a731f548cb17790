"""Streaming of large JSON responses: encoded piece by piece while they are sent.

    {"records":[  record,  record,  {"offset":7,"text":" 192 KiB  192 KiB ... "}  ],"next_offset":8}
                  └ small: as it is  └ large: its key, value and headers in pieces

30 MB of control characters become 180 MB of JSON.  Encoding them at once would block the event loop and occupy memory
until the client has read them.  So the bytes of a large record are kept and only one piece at a time is encoded.
"""

from __future__ import annotations

import binascii
import codecs
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from redis_ledger.app.http.json_depth import is_too_deep
from redis_ledger.app.http.request import HttpResponse
from redis_ledger.app.http.values import repeats
from redis_ledger.broker.types import Headers

PIECE_BYTES = 192 << 10  # a multiple of three, for base64
LARGE_BYTES = 256 << 10  # records of this size are encoded in pieces
_encode = msgspec.json.Encoder().encode
_read_json = msgspec.json.Decoder(msgspec.Raw).decode


class Member(NamedTuple):
    """form: json (data as it is), text or base64."""

    name: str
    form: str
    data: bytes


class LargeRecord(NamedTuple):
    """small: the record without key, value and headers.  headers: text headers, and the others."""

    small: msgspec.Struct
    members: Sequence[Member]
    headers: Sequence[Member]
    headers_base64: Sequence[Member]
    as_pairs: bool  # headers_base64 is a list of pairs


def record_bytes(key: bytes | None, value: bytes | None, headers: Headers) -> int:
    size = len(key or b"") + len(value or b"")
    return size + sum(len(name) + len(each or b"") for name, each in headers) if headers else size


def large_record(
    small: msgspec.Struct, key: bytes | None, value: bytes | None, headers: Headers, form: str
) -> LargeRecord:
    """Uses the same forms as `values.key_to_body`, `value_to_body` and `headers_to_body`.  Slow: call it in a
    thread."""
    members = []
    if key is not None:
        members.append(Member("key", "text", key) if is_text(key) else Member("key_base64", "base64", key))
    members.append(_value(value, form))
    as_pairs = repeats(headers)
    texts = [] if as_pairs else [Member(n, "text", each) for n, each in headers if each is not None and is_text(each)]
    named = {each.name for each in texts}
    others = [
        Member(name, "json", b"null") if each is None else Member(name, "base64", each)
        for name, each in headers
        if name not in named
    ]
    return LargeRecord(small, members, texts, others, as_pairs)


def _value(value: bytes | None, form: str) -> Member:
    if value is None:
        return Member("value", "json", b"null")
    if form == "base64" or not is_text(value):
        return Member("base64", "base64", value)
    if form != "text" and value != b"null" and _is_json(value):
        return Member("value", "json", value)
    return Member("text", "text", value)


def _is_json(value: bytes) -> bool:
    """Whether the bytes are JSON without surrounding spaces and not nested too deeply."""
    if value[:1] in b"[{ \t\r\n" and is_too_deep(value):
        return False
    try:
        return len(bytes(_read_json(value))) == len(value)
    except (msgspec.DecodeError, RecursionError):
        return False


def is_text(data: bytes) -> bool:
    """Whether the bytes are valid UTF-8."""
    try:
        for _ in _texts(data):
            pass
    except UnicodeDecodeError:
        return False
    return True


def stream_records(name: str, body: msgspec.Struct, records_bytes: int) -> HttpResponse:
    """Replaces the body's list of records by a stream.  name: the member with the list, which has large records."""
    rest = msgspec.structs.replace(body, **{name: []})
    return HttpResponse(200, chunks=encode_records(name, getattr(body, name), rest), chunks_bytes=records_bytes)


def encode_records(name: str, records: list[msgspec.Struct | LargeRecord], rest: msgspec.Struct) -> Iterator[bytes]:
    """Yields the JSON text of `rest` with the records in its first member, which is empty.

    Removes sent records from the list to free their memory.
    """
    text, begin = _encode(rest) + b"\n", b'{"%s":[' % name.encode()
    assert text.startswith(begin + b"]"), text[:100]
    out = bytearray(begin)
    records.reverse()
    comma = b""
    while records:
        record = records.pop()
        out += comma
        if isinstance(record, LargeRecord):
            for piece in _large(record):
                out += piece
                if len(out) >= PIECE_BYTES:
                    yield bytes(out)
                    out.clear()
        else:
            out += _encode(record)
            if len(out) >= PIECE_BYTES:
                yield bytes(out)
                out.clear()
        comma = b","
    yield bytes(out) + text[len(begin) :]


def _large(record: LargeRecord) -> Iterator[bytes]:
    yield _encode(record.small)[:-1]
    for each in record.members:
        yield b"," + _encode(each.name) + b":"
        yield from _encode_member(each)
    for name, headers in ((b"headers", record.headers), (b"headers_base64", record.headers_base64)):
        if headers:
            begin, between, behind, end = (b"[[", b",", b"]", b"]") if record.as_pairs else (b"{", b":", b"", b"}")
            yield b',"%s":%b' % (name, begin)
            for number, each in enumerate(headers):
                yield (b"" if not number else b",[" if record.as_pairs else b",") + _encode(each.name) + between
                yield from _encode_member(each)
                yield behind
            yield end
    yield b"}"


def _encode_member(member: Member) -> Iterator[bytes]:
    if member.form == "json":
        yield from _cut(member.data)
        return
    yield b'"'
    if member.form == "text":
        for text in _texts(member.data):
            yield _encode(text)[1:-1]
    else:
        for piece in _cut(member.data):
            yield binascii.b2a_base64(piece, newline=False)
    yield b'"'


def _texts(data: bytes) -> Iterator[str]:
    """Raises UnicodeDecodeError."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for piece in _cut(data):
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def _cut(data: bytes) -> Iterator[bytes]:
    return (data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))
