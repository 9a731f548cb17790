"""Regular expressions for topic names, with RE2 as in Kafka.

    orders-.*   ──compile──▶  program of at most PROGRAM_MAX instructions  ──▶  does the whole name match?

Clients choose the expression, so with a backtracking engine they could block the broker.  RE2's time is linear in the
name and the program, and its memory is limited.  It releases the GIL, so `find` may run in a thread.  Source: KIP-848;
RE2's syntax page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import re2

from redis_ledger.errors import InvalidRegex

PATTERN_CHARS_MAX = 2_000
PROGRAM_MAX = 2_000  # instructions: the maximum cost of a character, about 10 ns each
MEMORY_BYTES_MAX = 4 << 20  # of one expression; with less, RE2 works but slowly
COMPILED_MAX = 16  # cached expressions of all groups; others are compiled again on use
FOREIGN = "\x00"  # replaces characters beyond Latin-1; topic names contain neither


@lru_cache(maxsize=COMPILED_MAX)
def _compiled(text: str) -> Any:
    """Raises InvalidRegex.  Topic names are ASCII.  With Latin-1 "." is one instruction, with UTF-8 it is eleven."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = MEMORY_BYTES_MAX
    options.never_capture, options.log_errors = True, False
    plain = "".join(char if char <= "\xff" else FOREIGN for char in text)
    try:
        compiled = re2.compile(plain.encode("latin-1"), options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        said = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise InvalidRegex(f"The expression {text[:80]!r} is invalid: {said[:200]}.") from None
    finally:
        re2.purge()  # its own cache would store 128 of them
    if compiled.programsize > PROGRAM_MAX:
        raise InvalidRegex(
            f"The expression {text[:80]!r} compiles to {compiled.programsize} instructions; at most {PROGRAM_MAX} are "
            "allowed. Use fewer or smaller repetitions."
        )
    return compiled


class Pattern:
    """A compiled expression.  Raises InvalidRegex if it is invalid or too large."""

    def __init__(self, text: str) -> None:
        if len(text) > PATTERN_CHARS_MAX:
            raise InvalidRegex(f"The expression has {len(text)} characters; at most {PATTERN_CHARS_MAX} are allowed.")
        self.text = text
        _compiled(text)

    def matches(self, name: str) -> bool:
        """Whether the whole name matches."""
        return _compiled(self.text).fullmatch(name.encode("latin-1", "replace")) is not None

    def find(self, names: Iterable[str]) -> dict[str, bool]:
        """Name → whether it matches."""
        return {name: self.matches(name) for name in names}


class Resolver:
    """Caches which names an expression matches.  pattern: None for an expression that matches nothing.

    tried: the results so far.
    """

    def __init__(self, pattern: Pattern | None, tried: Mapping[str, bool] | None = None) -> None:
        self._pattern = pattern
        self._tried = dict(tried or {})

    def matches(self, name: str) -> bool:
        found = self._tried.get(name)
        if found is None:
            found = self._tried[name] = self._pattern is not None and self._pattern.matches(name)
        return found

    def is_known_not_to_match(self, name: str) -> bool:
        return self._tried.get(name) is False

    def forget(self, names: Mapping[str, object]) -> None:
        """Forgets results for names that no longer exist."""
        if len(self._tried) > len(names):
            self._tried = {name: found for name, found in self._tried.items() if name in names}
