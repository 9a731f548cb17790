"""Pagination of lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

ROWS_MAX = 100

T = TypeVar("T")
PageNumber = Annotated[int, Meta(ge=1)]


class Paged(msgspec.Struct):
    """Rows first to last of total; rows and pages are numbered from 1."""

    first: int
    last: int
    total: int
    page: int
    pages: int


def paged(rows: Sequence[T], page: int) -> tuple[Sequence[T], Paged]:
    """Returns the rows of a page; the last page if there are fewer pages."""
    pages = max(-(-len(rows) // ROWS_MAX), 1)
    page = min(page, pages)
    begin = (page - 1) * ROWS_MAX
    chosen = rows[begin : begin + ROWS_MAX]
    return chosen, Paged(begin + 1 if rows else 0, begin + len(chosen), len(rows), page, pages)
