"""How deep JSON text nests, in one pass over it, without parsing it.

[{"a":[1]}, "]"]  ──only quotes and brackets──▶ [{""[]}"]"]  ──no strings──▶ [{[]}]  ──▶ 1 1 1 0 0 0
eight brackets at a time: how much deeper is it behind them, and how deep at most within?
"""

from __future__ import annotations

from itertools import accumulate
from operator import add

DEPTH_MAX = 100
_CHUNK = 1 << 18  # brackets and quotes looked at together: about a millisecond
_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))
_BITS = bytes.maketrans(b"[{]}", b"1100")


def _deepest(bits: int) -> int:
    """Of eight brackets, the first in the highest bit; 1 opens."""
    return max(accumulate(1 if bits >> place & 1 else -1 for place in range(7, -1, -1)))


_NET = tuple(2 * bits.bit_count() - 8 for bits in range(256))
_DEEPEST = tuple(map(_deepest, range(256)))


def is_too_deep(text: bytes) -> bool:
    """Whether JSON text nests deeper than DEPTH_MAX.  Text that is not JSON gets some answer, and never an error.

    Cost: two counts over the text unless it holds more than DEPTH_MAX opening brackets; else three copies of it, and 12
    ns a bracket.
    """
    if text.count(b"[") + text.count(b"{") <= DEPTH_MAX:
        return False
    # Without escapes every second piece between quotes is outside of strings; an empty string is nothing.
    symbols = text.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, _OTHERS).replace(b'""', b"")
    depth, is_inside = 0, False
    for at in range(0, len(symbols), _CHUNK):
        pieces = symbols[at : at + _CHUNK].split(b'"')
        outside = b"".join(pieces[is_inside::2])
        is_inside ^= len(pieces) % 2 == 0
        if outside:
            eights, rest = divmod(len(outside), 8)
            data = int(outside.ljust(8 * (eights + bool(rest)), b"]").translate(_BITS), 2).to_bytes(eights + bool(rest))
            before = accumulate(map(_NET.__getitem__, data), initial=depth)
            if max(map(add, before, map(_DEEPEST.__getitem__, data))) > DEPTH_MAX:
                return True
            depth += 2 * (outside.count(b"[") + outside.count(b"{")) - len(outside)
    return False
