"""What is small to send and large to answer: built once, before the broker is attacked, since building takes a while.

    within     a batch, one record of WITHIN_BYTES: as much as a broker decodes
    beyond     a batch, one record of BEYOND_BYTES: more than that
    headers    a batch, one record of HEADERS headers
    repeated   a request of each API that takes a list, with one element REPEATED times
    deep       JSON nested DEEP levels: lists, objects, and both inside a record

The batches are built by tests/support/bombs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from tests.fuzz import corpus
from tests.fuzz.words import Words
from tests.support.bombs import CODECS, header_bomb, value_bomb

WITHIN_BYTES, BEYOND_BYTES = 30_000_000, 100_000_000
HEADERS = 5_000_000
REPEATED, REPEATED_INSIDE, DEPTH_MAX = 1_000, 10, 4
DEEP = 100_000


class Bomb(NamedTuple):
    name: str
    data: bytes


def batches() -> list[Bomb]:
    """Batches that unpack to much, of each codec."""
    kinds: dict[str, Callable[[int], bytes]] = {
        "within": lambda codec: value_bomb(WITHIN_BYTES, codec),
        "beyond": lambda codec: value_bomb(BEYOND_BYTES, codec),
        "headers": lambda codec: header_bomb(HEADERS, codec),
    }
    return [Bomb(f"{what} {name}", made(codec)) for what, made in kinds.items() for codec, name in enumerate(CODECS, 1)]


# -- one thing, many times ---------------------------------------------------------------------------------------------


def repeated(words: Words, seed: int) -> list[Bomb]:
    """A frame of the newest version of each API that takes lists: each of its lists has one element, very often."""
    newest: dict[int, int] = {}
    for key, version in corpus.served():
        newest[key] = max(version, newest.get(key, 0))
    bombs = []
    for key, version in newest.items():
        message = corpus.make(key, version, words, Random(f"{seed}/repeated/{key}"))
        if repeat(key, version, message, words, Random(seed)):
            bombs.append(Bomb(corpus.served()[key, version], corpus.write(key, version, key, message)))
    return bombs


def repeat(key: int, version: int, message: Any, words: Words, rng: Random) -> int:
    """Makes the lists of the message long, those inside their elements less so; how many lists there are outside."""
    for _ in range(DEPTH_MAX):
        for site in list(corpus.sites(key, version, message)):
            if site.field.is_array and not site.value:
                site.set([_element(key, version, site, words, rng)])
    lists = [site for site in corpus.sites(key, version, message) if site.field.is_array]
    for site in reversed(lists):  # those inside first
        site.set([site.value[0]] * (REPEATED if site.owner is message else REPEATED_INSIDE))
    return sum(site.owner is message for site in lists)


def _element(key: int, version: int, site: corpus.Site, words: Words, rng: Random) -> Any:
    while True:  # most choices have an element
        if made := corpus.value_for(corpus.requests()[key], site.struct, site.field, version, words, rng):
            return made[0]


# -- JSON --------------------------------------------------------------------------------------------------------------


def texts() -> Iterator[Bomb]:
    """Bodies for REST."""
    lists, objects = b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP
    yield Bomb("deep lists", lists)
    yield Bomb("deep objects", objects)
    yield Bomb("deep and never closed", b"[" * DEEP)
    for name, deep in (("lists", lists), ("objects", objects)):
        yield Bomb(f"a value of deep {name}", b'{"records":[{"value":' + deep + b"}]}")
        yield Bomb(f"records of deep {name}", b'{"records":' + deep + b"}")
        yield Bomb(f"an unknown member of deep {name}", b'{"records":[{"value":1}],"other":' + deep + b"}")
    for name, element in (("records", b'{"value":1}'), ("empty records", b"{}"), ("nothing", b"null")):
        yield Bomb(f"200 000 {name}", b'{"records":[' + b",".join([element] * 200_000) + b"]}")
    yield Bomb("200 000 ids", b'{"ids":[' + b",".join([b'"0:1"'] * 200_000) + b"]}")
    headers = b",".join([b'"h":"v"'] * 200_000)
    yield Bomb("200 000 headers", b'{"records":[{"value":1,"headers":{' + headers + b"}}]}")
    yield Bomb("a long number", b'{"records":[{"value":' + b"9" * 1_000_000 + b"}]}")
    yield Bomb("a long text", b'{"records":[{"value":"' + b"\\u0000" * 500_000 + b'"}]}')
