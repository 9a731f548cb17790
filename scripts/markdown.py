"""Markdown elements of generated pages."""

from __future__ import annotations

from collections.abc import Iterable

MADE = "<!-- Made by `make generate` from {source}; do not edit. -->\n"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"
