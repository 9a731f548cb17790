"""Any value of any Kafka message, from the schemas that the codec is made from; and the same value as kio sees it."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import uuid
from functools import cache
from importlib import import_module
from typing import Any

from hypothesis import strategies as st

from redis_ledger.kafka.protocol.primitives import Buffer
from scripts import gen_wire
from scripts.wire.schema import FIXED, Field, Message, Struct
from tests.support.kafka_codec import codec_of

MESSAGES = {message.name: message for message in gen_wire.messages()}
INTEGERS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
# Long enough for a length of two bytes as varint; records also long enough for a chunk of their own.
texts = st.sampled_from(["", "orders", "é" * 70, "x" * 126, "x" * 127, "y" * 300]) | st.text(
    st.characters(exclude_categories=["Cs"]), max_size=4
)
blobs = st.sampled_from([b"", b"\0", bytes(130)]) | st.binary(max_size=4)
records = st.sampled_from([b"", bytes(61), b"r" * 4097, b"s" * 20_000])
pieces = records | st.lists(records, max_size=3)


def class_of(message: Message, struct: Struct) -> type:
    cls = codec_of(message.module)[struct.name]
    assert isinstance(cls, type)
    return cls


def fixed(name: str, plain: bool) -> st.SearchStrategy:
    """plain: only numbers that every reader takes for what the field's name says, an error code or a time."""
    if name == "bool":
        return st.booleans()
    if name == "uuid":
        return st.sampled_from([bytes(16), bytes(range(16))]) | st.binary(min_size=16, max_size=16)
    if name == "float64":
        return st.floats(allow_nan=False, allow_infinity=not plain)  # nothing equals what is no number
    bits = INTEGERS[name]
    span = st.integers(0, min(100, 1 << bits - 2)) if plain else st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
    return span | st.sampled_from([0, 1]) if plain else span | st.sampled_from([-1, 0, 1])


def field_values(message: Message, field: Field, plain: bool) -> st.SearchStrategy:
    if field.struct is not None:
        one = struct_values(message, field.struct, plain)
    elif field.element in FIXED:
        one = fixed(field.element, plain)
    else:
        both = pieces if message.kind == "response" else records
        one = {"string": texts, "bytes": blobs, "records": both}[field.element or ""]
    if field.is_array:
        one = st.lists(one, max_size=2)
    return st.none() | one if field.is_nullable or field.is_tagged_struct else one


def struct_values(message: Message, struct: Struct, plain: bool = False) -> st.SearchStrategy:
    return st.builds(class_of(message, struct), *(field_values(message, field, plain) for field in struct.fields))


@cache
def values(message_name: str, plain: bool = False) -> st.SearchStrategy:
    message = MESSAGES[message_name]
    return struct_values(message, message.root, plain)


def default_of(message: Message, field: Field) -> object:
    """The value a reader gets for a field that was not sent, or that may not be null."""
    return eval(field.default_source(), {"NO_UUID": bytes(16), **codec_of(message.module)})


def cut(message: Message, struct: Struct, value: object, version: int, *, keep_absent: bool = False) -> object:
    """The value as it arrives when it travels in this version; keep_absent: only made fit to be sent in it."""
    held = []
    for field in struct.fields:
        one = getattr(value, field.name)
        if version not in field.versions:
            held.append(one if keep_absent else default_of(message, field))
            continue
        if one is None and not field.is_tagged_struct and not field.may_be_null(version):
            one = [] if field.is_array else {"string": "", "bytes": b"", "records": b""}[field.element or "string"]
        if one is not None and field.struct is not None:
            inner = [cut(message, field.struct, item, version, keep_absent=keep_absent) for item in as_list(one, field)]
            one = inner if field.is_array else inner[0]
        elif field.element == "records" and isinstance(one, list) and not keep_absent:
            one = b"".join(one)
        held.append(one)
    return class_of(message, struct)(*held)


def as_list(value: object, field: Field) -> list[object]:
    return value if field.is_array and isinstance(value, list) else [value]


def encoded(message: Message, version: int, value: object) -> bytes:
    chunks: list[Buffer] = []
    tail = codec_of(message.module)["ENCODERS"][version](value, bytearray(), chunks)
    return b"".join([*chunks, tail])


def decoded(message: Message, version: int, data: bytes) -> object:
    return codec_of(message.module)["DECODERS"][version](memoryview(data), 0)


def kio_class(message: Message, version: int) -> Any:
    """kio's class for this version; None where kio has none."""
    folder = message.module.removesuffix(f"_{message.kind}")
    try:
        return getattr(import_module(f"kio.schema.{folder}.v{version}.{message.kind}"), message.name)
    except ModuleNotFoundError:
        return None


def to_plain(value: object) -> object:
    """A value of kio's in the types that the wire has."""
    match value:
        case enum.Enum():
            return value.value
        case datetime.timedelta():
            return value // datetime.timedelta(milliseconds=1)
        case datetime.datetime():
            return round(value.timestamp() * 1000)
        case uuid.UUID():
            return value.bytes
        case tuple():
            return [to_plain(one) for one in value]
    if dataclasses.is_dataclass(value):
        return [to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    return value


def as_kio_tells(message: Message, struct: Struct, value: object, version: int) -> list[object]:
    """Our value in the same form: lists for structs, with only the fields that this version carries."""
    out: list[object] = []
    for field in struct.fields:
        if version in field.versions:
            one = getattr(value, field.name)
            if field.struct is not None and one is not None:
                inner = [as_kio_tells(message, field.struct, item, version) for item in as_list(one, field)]
                one = inner if field.is_array else inner[0]
            if field.is_tagged_struct and one is None and field.struct is not None:
                one = as_kio_tells(message, field.struct, class_of(message, field.struct)(), version)
            # kio has None for the id that says "no id".
            out.append(None if field.element == "uuid" and one == bytes(16) else one)
    return out
