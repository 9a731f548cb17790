"""Partitions of many keys at once: murmur2 as in records/partitioner.

step 0   the first four bytes of every key that has four         numpy works on a column of them at a time
step 1   the next four of the keys that have them ...
finally  the remaining one to three bytes of each
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from redis_ledger.records.partitioner import partition_for

Array: TypeAlias = Any  # of numpy

_SEED, _M = np.uint32(0x9747B28C), np.uint32(0x5BD1E995)
STEPS_MAX = 64  # a longer key is hashed alone; else every four bytes of it would be a step


def partitions_of(keys: pa.Array, partitions: int) -> Array:
    """0 to partitions - 1 for each key, as `partition_for`; undefined for a null."""
    bounds = np.frombuffer(keys.buffers()[1], np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    at, size = bounds[:-1], np.diff(bounds)
    data = keys.buffers()[2]
    hashed = _murmur2(np.frombuffer(data if data is not None else b"", np.uint8), at, size)
    found = (hashed & np.uint32(0x7FFFFFFF)).astype(np.int64) % partitions
    for place in np.flatnonzero(size > 4 * STEPS_MAX):
        found[place] = partition_for(keys[place].as_py() or b"", partitions)
    return found


def _murmur2(octets: Array, at: Array, size: Array) -> Array:
    """Hashes these ranges of the bytes; undefined for ranges that are too long."""
    hashed = _SEED ^ size.astype(np.uint32)
    words = np.minimum(size >> 2, STEPS_MAX)
    for step in range(int(words.max(initial=0))):
        which = np.flatnonzero(words > step)
        mixed = _little(octets, at[which] + 4 * step, 4) * _M
        hashed[which] = hashed[which] * _M ^ (mixed ^ mixed >> np.uint32(24)) * _M
    left = size & 3
    for count in (1, 2, 3):
        which = np.flatnonzero(left == count)
        tail = _little(octets, (at + size)[which] - count, count)
        hashed[which] = (hashed[which] ^ tail) * _M
    hashed = (hashed ^ hashed >> np.uint32(13)) * _M
    return hashed ^ hashed >> np.uint32(15)


def _little(octets: Array, at: Array, count: int) -> Array:
    """Returns the little-endian numbers of `count` bytes at these positions."""
    number = octets[at].astype(np.uint32)
    for place in range(1, count):
        number |= octets[at + place].astype(np.uint32) << np.uint32(8 * place)
    return number
