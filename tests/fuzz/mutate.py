"""What is sent, from a seed and a number: a frame and what is done to it, and how it goes out.

    source    captured, captured and renamed, made            tests/fuzz/corpus.py
    inside    fields set to odd values, elements repeated,    the frame stays well formed, so that handlers see it
              arrays long, empty or null
    outside   bits, bytes, integers, pieces, key, version     mostly it is the codec that sees it
    way out   whole, several at once, byte by byte, half and then silence, with a length that is not true

The same seed and number make the same choices; ids that the broker gave are whatever it gave.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import islice
from random import Random
from typing import Any, NamedTuple

from redis_ledger.kafka.protocol.api import UnknownRequest
from redis_ledger.kafka.protocol.frame import read_header, read_request
from redis_ledger.kafka.protocol.primitives import BadFrame
from tests.fuzz import corpus
from tests.fuzz.corpus import Site
from tests.fuzz.words import SPAN, TEXTS, Words, boundary

BYTES = (0x00, 0x01, 0x7F, 0x80, 0xFF)
WIDTHS = {2: "int16", 4: "int32", 8: "int64"}
FRAME_BYTES_MAX, SITES_MAX = 1 << 20, 2_000
REPEATED_MAX, ELEMENTS_MAX = 5_000, 20_000
PRODUCE, FETCH = 0, 1
WAYS = ("whole",) * 70 + ("several",) * 14 + ("bytewise",) * 3 + ("half",) * 2 + ("false length",) * 5 + ("noise",) * 2


class Sent(NamedTuple):
    """One frame.  message: what the codec makes of it, None if nothing.  is_sound: the codec takes it.
    may_be_silent: it asks for no answer, or for one that takes its time."""

    frame: bytes
    correlation_id: int
    key: int
    version: int
    message: Any
    is_sound: bool
    may_be_silent: bool


class Case(NamedTuple):
    """pieces: what is written, in this order; frames: what it holds, if the lengths are true."""

    number: int
    way: str
    frames: list[Sent]
    pieces: list[bytes]

    @property
    def data(self) -> bytes:
        return b"".join(self.pieces)


def framed(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


class Mutator:
    """only: API keys that frames are taken of; None takes all that are served."""

    def __init__(self, seed: int, words: Words, only: set[int] | None = None) -> None:
        self.seed, self.words = seed, words
        self._served = [one for one in corpus.served() if only is None or one[0] in only]
        keys, known = {key for key, _ in self._served}, set(self._served)
        self._captured = [one for one in corpus.captured() if one.key in keys]
        self._readable = {one.frame for one in self._captured if (one.key, one.version) in known} & corpus.readable()

    def case(self, number: int) -> Case:
        rng = Random(f"{self.seed}/{number}")
        way = rng.choice(WAYS)
        count = rng.randint(2, 12) if way == "several" else 1
        frames = [self._frame(rng, (number * 16 + n) & 0x7FFFFFFF) for n in range(count)]
        return Case(number, way, frames, _pieces(way, frames, rng))

    def _frame(self, rng: Random, correlation_id: int) -> Sent:
        frame = self._source(rng)
        for _ in range(rng.choice((0, 1, 1, 2, 3)) if rng.random() < 0.4 else 0):
            frame = rng.choice(OUTSIDE)(frame, rng, self)
        if len(frame) >= 8:  # so that its answer can be identified
            frame = frame[:4] + correlation_id.to_bytes(4, "big") + frame[8:]
        return described(frame[:FRAME_BYTES_MAX], correlation_id)

    def plain(self, rng: Random) -> bytes:
        """A frame that nothing was done to."""
        one = rng.choice(self._captured) if self._captured else None
        return one.frame if one is not None else self._source(rng)

    def _source(self, rng: Random) -> bytes:
        self.words.choose(rng)
        if self._captured and rng.random() < 0.45:
            # An API first, then one of its frames: clients say some things much more often than others.
            key = rng.choice(sorted({one.key for one in self._captured}))
            seed = rng.choice([one for one in self._captured if one.key == key])
            if rng.random() < 0.25 or seed.frame not in self._readable:
                return seed.frame
            key, version = seed.key, seed.version
            message = corpus.renamed(key, version, corpus.read(seed.frame), self.words, rng)
        else:
            key = rng.choice(sorted({key for key, _ in self._served}))
            key, version = rng.choice([one for one in self._served if one[0] == key])
            message = corpus.make(key, version, self.words, rng)
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
            change(key, version, message, self.words, rng)
        try:
            return corpus.write(key, version, 0, message)
        except (struct.error, ValueError, TypeError, OverflowError, AttributeError):
            # What was put in does not fit this version: null where it has none, a text too long.
            return corpus.write(key, version, 0, corpus.make(key, version, self.words, Random(rng.random())))


def described(frame: bytes, correlation_id: int) -> Sent:
    """Describes a frame as far as it can be parsed."""
    view = memoryview(frame)
    key, version = struct.unpack_from(">hh", frame) if len(frame) >= 4 else (-1, -1)
    message, sound, silent = None, False, False
    try:
        message = read_request(view, read_header(view))
        sound = (key, version) in corpus.served()
        match type(message).__name__:
            case "ProduceRequest":
                silent = message.acks == 0
            case "FetchRequest":
                silent = message.max_wait_ms > 200
            case "JoinGroupRequest" | "SyncGroupRequest" | "ConsumerGroupHeartbeatRequest":
                silent = True
    except (BadFrame, UnknownRequest):
        pass
    return Sent(frame, correlation_id, key, version, message, sound, silent)


# -- inside: the message stays one -------------------------------------------------------------------------------------


def change(key: int, version: int, message: Any, words: Words, rng: Random) -> None:
    """Sets one field of the message to something odd."""
    found = list(islice(corpus.sites(key, version, message), SITES_MAX))
    if not found or len(found) == SITES_MAX:  # it has grown enough
        return
    site, size = rng.choice(found), len(found) + sum(len(each.value or ()) for each in found if each.field.is_array)
    if site.field.is_array:
        _change_array(site, key, version, words, rng, min(REPEATED_MAX, max(1, ELEMENTS_MAX // size)))
    elif site.field.struct is None:
        site.set(_odd(site, version, words, rng))
    elif site.field.is_nullable:
        site.set(None)


def _change_array(site: Site, key: int, version: int, words: Words, rng: Random, most: int) -> None:
    """most: how often an element may be there: elements may hold arrays, too."""
    array, layout = list(site.value or []), corpus.requests()[key]
    more = corpus.value_for(layout, site.struct, site.field, version, words, rng) or []
    match rng.randrange(6):
        case 0:
            array = []
        case 1:
            array = array + array
        case 2:
            array = ((array or more) * rng.choice((10, 100, 1_000, REPEATED_MAX)))[:most]
        case 3:
            array = array + more
        case 4 if array:
            array.insert(rng.randrange(len(array)), rng.choice(array))
        case 5 if site.field.may_be_null(version):
            site.set(None)
            return
    site.set(array)


def _odd(site: Site, version: int, words: Words, rng: Random) -> Any:
    field = site.field
    if field.may_be_null(version) and rng.random() < 0.2:
        return None
    if field.element in SPAN:
        return boundary(field.element or "", rng)
    match field.element:
        case "string":
            return rng.choice((rng.choice(TEXTS), words.element(site.struct, field, rng) or ""))
        case "bytes":
            old = bytes(site.value or b"")
            return rng.choice((b"", old[: len(old) // 2], old + old, rng.randbytes(20), old + b"\xff", bytes(5_000)))
    return words.element(site.struct, field, rng)


# -- outside: bytes that are not interpreted ---------------------------------------------------------------------------


def _flip(frame: bytes, rng: Random, _: Mutator) -> bytes:
    out = bytearray(frame)
    for _bit in range(rng.choice((1, 1, 2, 8))):
        if out:
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _byte(frame: bytes, rng: Random, _: Mutator) -> bytes:
    out = bytearray(frame)
    if out:
        out[rng.randrange(len(out))] = rng.choice(BYTES)
    return bytes(out)


def _integer(frame: bytes, rng: Random, _: Mutator) -> bytes:
    width, kind = rng.choice(list(WIDTHS.items()))
    at = rng.randrange(max(1, len(frame) - width + 1))
    return frame[:at] + boundary(kind, rng).to_bytes(width, "big", signed=True) + frame[at + width :]


def _cut(frame: bytes, rng: Random, _: Mutator) -> bytes:
    return frame[: rng.randrange(len(frame) + 1)]


def _longer(frame: bytes, rng: Random, _: Mutator) -> bytes:
    return frame + rng.choice((b"\0", b"\xff" * 4, rng.randbytes(9), bytes(5_000)))


def _splice(frame: bytes, rng: Random, by: Mutator) -> bytes:
    other = by.plain(rng)
    return frame[: rng.randrange(len(frame) + 1)] + other[rng.randrange(len(other) + 1) :]


def _repeat(frame: bytes, rng: Random, _: Mutator) -> bytes:
    """A stretch of the frame once more, behind itself."""
    first = rng.randrange(len(frame) + 1)
    end = min(len(frame), first + rng.choice((1, 2, 4, 8, 16, 40)))
    return frame[:end] + frame[first:end] * rng.choice((1, 1, 2, 50)) + frame[end:]


def _without(frame: bytes, rng: Random, _: Mutator) -> bytes:
    first = rng.randrange(len(frame) + 1)
    return frame[:first] + frame[first + rng.choice((1, 2, 4, 8)) :]


def _other_api(frame: bytes, rng: Random, _: Mutator) -> bytes:
    """The body stays: what one API means is read as another."""
    key, version = rng.choice([*corpus.served(), (rng.randrange(-1, 100), rng.randrange(-1, 20))])
    return struct.pack(">hh", key, version) + frame[4:]


def _other_version(frame: bytes, rng: Random, _: Mutator) -> bytes:
    return frame[:2] + rng.choice((0, 1, 2, 5, 9, 12, 16, 99, -1)).to_bytes(2, "big", signed=True) + frame[4:]


OUTSIDE: tuple[Callable[[bytes, Random, Mutator], bytes], ...] = (
    _flip, _flip, _byte, _byte, _integer, _integer, _cut, _longer, _splice, _repeat, _without, _other_api,
    _other_version,
)  # fmt: skip


# -- the way out -------------------------------------------------------------------------------------------------------


def _pieces(way: str, frames: list[Sent], rng: Random) -> list[bytes]:
    data = b"".join(framed(one.frame) for one in frames)
    match way:
        case "bytewise":
            head = min(len(data), 60)
            return [data[n : n + 1] for n in range(head)] + [data[head:]]
        case "half":
            return [data[: rng.randint(1, max(1, len(data) - 1))]]
        case "false length":
            size = rng.choice(
                (-1, 0, 9, 10, len(data), len(data) + 5, len(data) - 5, 1 << 20, 104_857_600, (1 << 31) - 1)
            )
            return [size.to_bytes(4, "big", signed=True) + data[4:]]
        case "noise":
            return [
                rng.choice((b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", rng.randbytes(40)))
            ]
    return [data]
