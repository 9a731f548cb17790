"""The table of operations, all in one; and what is not in it yet, with reasons."""

from __future__ import annotations

from tests.model import rows_topics, rows_transactions
from tests.model.rows import ROWS, Producer, Row, Session

__all__ = ["ROWS", "Producer", "Row", "Session", "rows_topics", "rows_transactions"]
