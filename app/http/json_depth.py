"""Nesting depth of JSON text, in one pass and without parsing.

[{"a":[1]}, "]"]  ──only quotes and brackets──▶ [{""[]}"]"]  ──no strings──▶ [{[]}]  ──▶ 1 1 1 0 0 0
eight brackets at a time, by table: the change of the depth, and the maximum depth within
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from operator import add

DEPTH_MAX = 100
_PIECE_BYTES = 1 << 18
_BACKSLASH = ord("\\")
_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))
_BITS = bytes.maketrans(b"[{]}", b"1100")


def _deepest(bits: int) -> int:
    """The maximum depth within eight brackets: first bracket in the highest bit, 1 is opening."""
    return max(accumulate(1 if bits >> place & 1 else -1 for place in range(7, -1, -1)))


_NET = tuple(2 * bits.bit_count() - 8 for bits in range(256))
_DEEPEST = tuple(map(_deepest, range(256)))


def is_too_deep(text: bytes) -> bool:
    """Whether JSON text nests deeper than DEPTH_MAX.  The result for invalid JSON is arbitrary.

    Cost: two counts over the text; with more than DEPTH_MAX opening brackets also three copies of it and 12 ns per
    bracket.
    """
    if text.count(b"[") + text.count(b"{") <= DEPTH_MAX:
        return False
    depth, is_inside = 0, False
    for piece in _pieces(text):
        # Without escapes every second part between quotes is outside of strings.
        symbols = piece.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _OTHERS).replace(b'""', b"")
        parts = symbols.split(b'"')
        outside = b"".join(parts[is_inside::2])
        is_inside ^= len(parts) % 2 == 0
        if outside:
            size = -(-len(outside) // 8)
            data = int(outside.ljust(8 * size, b"]").translate(_BITS), 2).to_bytes(size)
            before = accumulate(map(_NET.__getitem__, data), initial=depth)
            if max(map(add, before, map(_DEEPEST.__getitem__, data))) > DEPTH_MAX:
                return True
            depth += 2 * (outside.count(b"[") + outside.count(b"{")) - len(outside)
    return False


def _pieces(text: bytes) -> Iterator[bytes]:
    """Pieces of about one millisecond, so that other threads run; no piece ends within an escape."""
    at = 0
    while at < len(text):
        end = min(at + _PIECE_BYTES, len(text))
        while end < len(text) and text[end - 1] == _BACKSLASH:
            end += 1
        yield text[at:end]
        at = end
