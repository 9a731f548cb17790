"""The counter of a node, which tells that the node has lost writes of any kind.

    life A   1 ........ 70        life B   61 62 ...     B began at 60, so A lost what was written after 60

A broker remembers the life and the count of its last call. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LIVES_MAX = 64


class Count(NamedTuple):
    """life: run id and replication id of the server; "" if unknown."""

    life: str
    value: int


def parse_lives(rows: Sequence[bytes]) -> list[Count]:
    """rows: "life count", as broker/witness stores them, oldest first."""
    found = []
    for row in rows:
        life, _, count = row.decode().rpartition(" ")
        found.append(Count(life, int(count)))
    return found


def lost_above(remembered: Count, stored: int, lives: Sequence[Count]) -> int:
    """The count above which writes are lost, or -1."""
    if stored < remembered.value:
        return stored
    at = next((place for place, each in enumerate(lives) if each.life == remembered.life), len(lives))
    following = lives[at + 1 :]
    ended = min((each.value for each in following), default=remembered.value)
    return ended if ended < remembered.value else -1
