"""Lines of Python under construction, with the trick that makes the codec fast: runs.

    index int32, error_code int16, base_offset int64, and one byte that begins the next length
      →   index, error_code, base_offset, n = _ihqB(buf, pos)

Neighbours of fixed size are read or written by one call of `struct`; whatever comes next must settle the run first.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager


class Source:
    """One function's lines.  packers: the formats it used, as names of module constants → format."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.packers: dict[str, str] = {}
        self._indent = 1
        self._used: dict[str, int] = {}
        self._run: list[tuple[str, str]] = []

    def line(self, text: str) -> None:
        """Adds a line after settling the run before it."""
        self.settle()
        self.raw(text)

    def name(self, wanted: str) -> str:
        """A local name that nothing else in the function has."""
        count = self._used[wanted] = self._used.get(wanted, 0) + 1
        return wanted if count == 1 else f"{wanted}_{count}"

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._indent += 1
        yield
        self.settle()
        self._indent -= 1

    def take(self, code: str, name: str) -> None:
        """Adds one fixed-size value to the run."""
        self._run.append((code, name))

    def settle(self) -> None:
        run, self._run = self._run, []
        if run:
            self.write_run(run)

    def write_run(self, run: list[tuple[str, str]]) -> None:
        raise NotImplementedError

    def packer(self, codes: list[str], prefix: str) -> str:
        name = prefix + "".join(code.replace("?", "o").replace("16s", "u") for code in codes)
        self.packers[name] = ">" + "".join(codes)
        return name

    def raw(self, text: str) -> None:
        self.lines.append("    " * self._indent + text)


def size_of(codes: list[str]) -> int:
    return struct.calcsize(">" + "".join(codes))
