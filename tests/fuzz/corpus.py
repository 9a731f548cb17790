"""Where frames come from: captured from real clients, or made for the versions that no client sent.

A frame here has no length before it.  Captured ones are decoded once and their names replaced by those of `words`, so
that they meet topics and groups that exist; the originals are kept beside them.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from redis_ledger.kafka.protocol.api import UnknownRequest
from redis_ledger.kafka.protocol.frame import read_header, read_request
from redis_ledger.kafka.protocol.primitives import BadFrame
from redis_ledger.kafka.protocol.registry import message_module
from redis_ledger.kafka.router import routes
from scripts import gen_wire
from scripts.wire.schema import Field, Message, Struct
from tests.fuzz.words import Words
from tests.support.kafka_codec import request

FOLDER = Path(__file__).parent / "corpus"
CLIENT_ID = "fuzz"
RENAMED = {"string", "uuid"}  # what a captured frame says of another broker; its numbers stay, but for these
NUMBERS_RENAMED = {
    "producer_id", "producer_epoch", "generation_id", "member_epoch", "session_id", "transaction_timeout_ms",
}  # fmt: skip


class Seed(NamedTuple):
    key: int
    version: int
    frame: bytes
    client: str


class Site(NamedTuple):
    """A field of one struct inside a message: where a value can be read and set."""

    owner: Any
    struct: Struct
    field: Field

    @property
    def value(self) -> Any:
        return getattr(self.owner, self.field.name)

    def set(self, value: Any) -> None:
        setattr(self.owner, self.field.name, value)


@cache
def requests() -> dict[int, Message]:
    """By API key: how a request is laid out."""
    return {one.api_key: one for one in gen_wire.messages() if one.kind == "request" and one.api_key is not None}


@cache
def captured() -> list[Seed]:
    """In the order of their names, so that a seed means the same frames everywhere."""
    seeds = []
    for path in sorted(FOLDER.glob("*.bin")):
        data, client = path.read_bytes(), path.name.split(".")[2]
        while data:
            end = 4 + int.from_bytes(data[:4], "big")
            frame, data = data[4:end], data[end:]
            key, version = struct.unpack_from(">hh", frame)
            seeds.append(Seed(key, version, frame, client))
    return seeds


@cache
def readable() -> frozenset[bytes]:
    """The captured frames that the codec takes; not all are of versions that it speaks."""
    found = set()
    for seed in captured():
        with contextlib.suppress(BadFrame, UnknownRequest):
            read(seed.frame)
            found.add(seed.frame)
    return frozenset(found)


@cache
def served() -> dict[tuple[int, int], str]:
    """Every API key and version that is advertised, with the API's name."""
    return {(r.key, v): r.name for r in routes().values() for v in range(r.version_min, r.version_max + 1)}


# -- messages ----------------------------------------------------------------------------------------------------------


def read(frame: bytes) -> Any:
    """The message in a frame.  Raises what the codec raises for a damaged one."""
    view = memoryview(frame)
    return read_request(view, read_header(view))


def write(key: int, version: int, correlation_id: int, message: Any) -> bytes:
    return b"".join(request(key, version, correlation_id, CLIENT_ID, message))[4:]


def make(key: int, version: int, words: Words, rng: Random) -> Any:
    """A plausible message of this version, from the words alone."""
    message = requests()[key]
    return _struct(message, message.root, version, words, rng)


def _struct(message: Message, struct: Struct, version: int, words: Words, rng: Random) -> Any:
    made = class_of(message, struct)()
    for field in struct.fields:
        if version in field.versions:
            setattr(made, field.name, value_for(message, struct, field, version, words, rng))
    return made


def value_for(message: Message, struct: Struct, field: Field, version: int, words: Words, rng: Random) -> Any:
    def one() -> Any:
        if field.struct is not None:
            return _struct(message, field.struct, version, words, rng)
        return words.element(struct, field, rng)

    if field.is_tagged_struct and rng.random() < 0.7:
        return None
    if field.is_array:
        if field.may_be_null(version) and rng.random() < 0.15:
            return None
        found = [one() for _ in range(rng.choice((0, 1, 1, 1, 1, 2, 3)))]
        return found if field.element != "string" else ["" if text is None else text for text in found]
    value = one()
    if value is None and not field.may_be_null(version):
        return "fuzz" if field.element == "string" else b""
    return value


def class_of(message: Message, struct: Struct) -> type:
    found = getattr(message_module(message.module), struct.name)
    assert isinstance(found, type)
    return found


def sites(key: int, version: int, message: Any) -> Iterator[Site]:
    """Every field of the message that this version carries, the outer ones first."""
    layout = requests()[key]
    return _sites(layout.root, version, message)


def _sites(struct: Struct, version: int, owner: Any) -> Iterator[Site]:
    for field in struct.fields:
        if version not in field.versions:
            continue
        yield Site(owner, struct, field)
        value = getattr(owner, field.name)
        if field.struct is None or value is None:
            continue
        for one in value if field.is_array else [value]:
            yield from _sites(field.struct, version, one)


def renamed(key: int, version: int, message: Any, words: Words, rng: Random) -> Any:
    """A copy in which names and ids are ones of this broker."""
    # Records are views of the frame, which cannot be copied deeply and need not be.
    views = {id(s.value): bytes(s.value) for s in sites(key, version, message) if isinstance(s.value, memoryview)}
    message = deepcopy(message, dict(views))
    for site in sites(key, version, message):
        field = site.field
        if field.struct is not None or (
            field.element not in RENAMED and field.name.removeprefix("v3_and_below_") not in NUMBERS_RENAMED
        ):
            continue
        if field.is_array:
            if site.value:
                site.set([words.element(site.struct, field, rng) or "" for _ in site.value])
        elif site.value is not None and (site.value or field.name != "transactional_id"):
            new = words.element(site.struct, field, rng)
            site.set(new if new is not None or field.may_be_null(version) else site.value)
    return message
