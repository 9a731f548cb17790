"""Texts of others on a terminal."""

from __future__ import annotations


def one_line(text: str) -> str:
    """What would move a terminal's cursor, or do worse to it, is written as in Python: \\n, \\x1b."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
