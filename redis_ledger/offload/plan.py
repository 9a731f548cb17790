"""Plans what to write to Parquet next: stretches of a partition that end where payload ledgers end.

    offset     0          400         900     1000       1500     1700
    ledgers    | 1 sealed | 2 sealed  | 3 sealed ........ | 4 active
    scheduled           -1 sealed, its last record went to 950        an open transaction began at 1200: the limit
    stretches  [0, 400)   [400, 900)  [900, 951)

A ledger's payload may be dropped once all its log entries are published, so a stretch ends where a ledger ends, and a
ledger that extends beyond the limit waits for the next plan.  Scheduled records have ledgers of their own, with offsets
that depend on when they fell due: the last stretch extends to the end of such a ledger if that frees payload.  Small
ledgers share a stretch and large ones are split by offset, so that files are about as large as a ledger.  Pure.
Source: Pulsar's offload of ledgers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

STRETCH_BYTES = 64 << 20  # of payload; ledgers that are smaller in total share a stretch
STRETCH_BYTES_MAX = 128 << 20  # a larger one is split
STRETCHES_MAX = 500  # per plan, which is one value in Redis and one request body


class LedgerRow(NamedTuple):
    """A payload ledger.  max_offset: the greatest offset of a record in it, -1 if none.  unlogged: entries without an
    offset so far.  size: of its payload, in bytes."""

    number: int
    is_sealed: bool
    max_offset: int
    unlogged: int
    size: int

    @classmethod
    def parse(cls, number: int, row: bytes) -> LedgerRow:
        _, _, sealed, max_offset, unlogged, size, _ = map(int, row.split())
        return cls(number, bool(sealed), max_offset, unlogged, size)

    @property
    def is_done(self) -> bool:
        """Whether no entry of it will get an offset any more."""
        return self.is_sealed and self.unlogged == 0

    @property
    def end(self) -> int:
        return self.max_offset + 1


class _Piece(NamedTuple):
    """Offsets from the end of the previous piece to `end`."""

    end: int
    size: int


def decide(
    ledgers: Sequence[LedgerRow], *, offloaded: int, start: int, limit: int, to_limit: bool = False
) -> list[tuple[int, int]]:
    """Returns stretches (first, end), ascending, without gaps, from `offloaded` or the log start; [] if nothing is due.

    ledgers   by number, as Redis holds them
    limit     all offsets below it are decided and old enough
    to_limit  extend the last stretch to the limit, wherever ledgers end
    """
    begin = max(offloaded, start)
    plain = [row for row in ledgers if row.number > 0]
    pieces = _pieces(plain, begin, limit)
    low = pieces[-1].end if pieces else begin
    late = [row for row in ledgers if row.number < 0 and row.is_done and row.end <= limit]
    reached = max((row.end for row in late), default=0)
    if to_limit:
        reached = max(reached, limit)
    if reached > low:
        of_ledger = next((row.size * (reached - low) // (row.end - low) for row in plain if row.end > reached), 0)
        pieces.append(_Piece(reached, of_ledger))
    weighed = _with_delay_ledgers(pieces, late, begin)
    return _split_large(_merge_small(weighed), begin)[:STRETCHES_MAX]


def _pieces(ledgers: Sequence[LedgerRow], begin: int, limit: int) -> list[_Piece]:
    """One piece a finished ledger that ends above `begin`, until one is unfinished or extends beyond the limit."""
    pieces: list[_Piece] = []
    for row in ledgers:
        if not row.is_done or row.end > limit:
            break
        if row.end > (pieces[-1].end if pieces else begin):
            pieces.append(_Piece(row.end, row.size))
    return pieces


def _with_delay_ledgers(pieces: Sequence[_Piece], late: Sequence[LedgerRow], begin: int) -> list[_Piece]:
    """Adds the bytes of a delay ledger to the piece in which it ends."""
    weighed, low = [], begin
    for piece in pieces:
        weighed.append(_Piece(piece.end, piece.size + sum(row.size for row in late if low < row.end <= piece.end)))
        low = piece.end
    return weighed


def _merge_small(pieces: Sequence[_Piece]) -> list[_Piece]:
    joined: list[_Piece] = []
    for piece in pieces:
        if joined and joined[-1].size + piece.size <= STRETCH_BYTES:
            joined[-1] = _Piece(piece.end, joined[-1].size + piece.size)
        else:
            joined.append(piece)
    return joined


def _split_large(pieces: Sequence[_Piece], begin: int) -> list[tuple[int, int]]:
    """Splits large pieces into equal ranges of offsets, as if bytes were spread evenly over them."""
    stretches: list[tuple[int, int]] = []
    for first, piece in zip([begin, *(piece.end for piece in pieces)], pieces, strict=False):
        offsets = piece.end - first
        parts = 1 if piece.size <= STRETCH_BYTES_MAX else min(-(-piece.size // STRETCH_BYTES), offsets)
        edges = [first + offsets * part // parts for part in range(parts + 1)]
        stretches += pairwise(edges)
    return stretches
