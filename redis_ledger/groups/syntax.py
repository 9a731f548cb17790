"""RE2's syntax for expressions over topic names: text to tree.

    (foo|bar)-\\d+   ──▶   Both(Either(foo, bar), -, Repeat(DIGIT, 1, None))

A topic name has 65 possible characters, so a set of characters is an int of 65 bits, and every other character is no
bit at all.  A group captures nothing here, greedy and lazy are the same, and flags that concern line ends do nothing.
Source: RE2's syntax page; KIP-848.
"""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Iterable
from enum import IntFlag
from typing import NamedTuple

from redis_ledger.errors import InvalidRegex

NESTING_MAX = 100
REPEAT_MAX = 1_000  # RE2's own limit

ALPHABET = string.ascii_letters + string.digits + "._-"
BIT = {char: 1 << place for place, char in enumerate(ALPHABET)}
ANY = (1 << len(ALPHABET)) - 1


def _mask(chars: Iterable[str]) -> int:
    mask = 0
    for char in chars:
        mask |= BIT.get(char, 0)
    return mask


DIGIT = _mask(string.digits)
WORD = _mask(string.ascii_letters + string.digits + "_")
PERL = {"d": DIGIT, "D": ANY ^ DIGIT, "w": WORD, "W": ANY ^ WORD, "s": 0, "S": ANY}
POSIX = {
    "alnum": _mask(string.ascii_letters + string.digits), "alpha": _mask(string.ascii_letters), "ascii": ANY,
    "blank": 0, "cntrl": 0, "digit": DIGIT, "graph": ANY, "lower": _mask(string.ascii_lowercase), "print": ANY,
    "punct": _mask("._-"), "space": 0, "upper": _mask(string.ascii_uppercase), "word": WORD,
    "xdigit": _mask(string.hexdigits),
}  # fmt: skip
CATEGORIES = frozenset(
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cs Co".split()
)
CONTROL = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}


class Where(IntFlag):
    """What holds between two characters; an assertion asks for one of them."""

    START = 1
    END = 2
    BOUNDARY = 4
    INSIDE = 8


class Chars(NamedTuple):
    mask: int


class Assert(NamedTuple):
    where: Where


class Both(NamedTuple):
    parts: list[Tree]


class Either(NamedTuple):
    parts: list[Tree]


class Repeat(NamedTuple):
    part: Tree
    least: int
    most: int | None


Tree = Chars | Assert | Both | Either | Repeat


def parse(text: str) -> Tree:
    """Raises InvalidRegex."""
    return _Parser(text).whole()


class _Parser:
    """Recursive descent; a level of parentheses is a level of recursion, hence NESTING_MAX."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._ignore_case = False

    def whole(self) -> Tree:
        tree = self._either(0)
        if self._at < len(self._text):
            raise self._wrong("a ) too many")
        return tree

    def _wrong(self, what: str) -> InvalidRegex:
        return InvalidRegex(f"The expression {self._text[:80]!r} has {what} at character {self._at}.")

    def _takes(self, text: str) -> bool:
        if self._text.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise self._wrong("its end too early")
        self._at += 1
        return self._text[self._at - 1]

    def _until(self, end: str) -> str:
        found = self._text.find(end, self._at)
        if found < 0:
            raise self._wrong(f"no {end}")
        taken = self._text[self._at : found]
        self._at = found + len(end)
        return taken

    def _either(self, depth: int) -> Tree:
        if depth > NESTING_MAX:
            raise self._wrong("too many groups in each other")
        ignore_case = self._ignore_case  # a flag set in a group ends with it
        parts = [self._both(depth)]
        while self._takes("|"):
            parts.append(self._both(depth))
        self._ignore_case = ignore_case
        return parts[0] if len(parts) == 1 else Either(parts)

    def _both(self, depth: int) -> Tree:
        parts: list[Tree] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            if self._takes("\\Q"):
                end = self._text.find("\\E", self._at)
                quoted = self._text[self._at : end if end >= 0 else len(self._text)]
                self._at += len(quoted) + (2 if end >= 0 else 0)
                parts += map(self._literal, quoted)
                if quoted:
                    parts.append(self._repeated(parts.pop()))
                continue
            parts.append(self._repeated(self._one(depth)))
        return Both(parts)

    def _repeated(self, part: Tree) -> Tree:
        bounds = self._bounds()
        if bounds is None:
            return part
        self._takes("?")
        if self._bounds() is not None:
            raise self._wrong("a repetition of a repetition")
        return Repeat(part, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, least, most in (("*", 0, None), ("+", 1, None), ("?", 0, 1)):
            if self._takes(sign):
                return least, most
        end = self._text.find("}", self._at, self._at + 12)
        if end < 0 or not self._text.startswith("{", self._at):
            return None
        first, comma, last = self._text[self._at + 1 : end].partition(",")
        if not _is_number(first) or not (last == "" or _is_number(last)):
            return None  # {x} stands for itself
        self._at = end + 1
        least = int(first)
        most = int(last) if last else (None if comma else least)
        if max(least, most or 0) > REPEAT_MAX or (most is not None and most < least):
            raise self._wrong("a repetition that cannot be")
        return least, most

    def _one(self, depth: int) -> Tree:
        char = self._next()
        if char == "(":
            return self._group(depth)
        if char == "[":
            return Chars(self._class())
        if char == ".":
            return Chars(ANY)
        if char in "^$":
            return Assert(Where.START if char == "^" else Where.END)
        if char in "*+?":
            raise self._wrong("nothing to repeat")
        if char != "\\":
            return self._literal(char)
        for name, where in (("A", Where.START), ("z", Where.END), ("b", Where.BOUNDARY), ("B", Where.INSIDE)):
            if self._takes(name):
                return Assert(where)
        mask = self._named_class()
        return Chars(mask) if mask is not None else self._literal(self._escaped())

    def _group(self, depth: int) -> Tree:
        if self._takes("?"):
            if self._takes("P<") or self._takes("<"):
                name = self._until(">")
                if not (name.isascii() and name.isidentifier()):
                    raise self._wrong("a group without a name")
            else:
                outside = self._ignore_case
                if self._flags() == ")":
                    return Both([])
                tree = self._closed(depth)
                self._ignore_case = outside
                return tree
        return self._closed(depth)

    def _closed(self, depth: int) -> Tree:
        tree = self._either(depth + 1)
        if not self._takes(")"):
            raise self._wrong("no )")
        return tree

    def _flags(self) -> str:
        """Reads (?i) and (?i: up to the last character, which is returned."""
        on = True
        while True:
            char = self._next()
            if char == "-" and on:
                on = False
            elif char == "i":
                self._ignore_case = on
            elif char in ":)":
                return char
            elif char not in "msU":  # nothing that these change can be seen in a topic name
                raise self._wrong("a group of an unknown kind")

    def _literal(self, char: str) -> Tree:
        return Chars(self._folded(BIT.get(char, 0)))

    def _folded(self, mask: int) -> int:
        if not self._ignore_case:
            return mask
        return mask | _mask(char.swapcase() for char in ALPHABET if mask & BIT[char])

    def _named_class(self) -> int | None:
        """After a backslash: \\d and its like, and \\pL, \\p{Lu}, \\P{L}."""
        char = self._text[self._at : self._at + 1]
        if char in PERL:
            self._at += 1
            return PERL[char]
        if char not in ("p", "P"):
            return None
        self._at += 1
        name = self._until("}") if self._takes("{") else self._next()
        name, negated = name.removeprefix("^"), (char == "P") != name.startswith("^")
        mask = _category(name)
        if mask is None:
            raise self._wrong(f"an unknown class {name[:20]}")
        return ANY ^ mask if negated else mask

    def _escaped(self) -> str:
        char = self._next()
        if char in CONTROL:
            return CONTROL[char]
        if char == "x":
            digits = self._until("}") if self._takes("{") else self._next() + self._next()
        elif char == "0" or (char in "1234567" and self._text[self._at : self._at + 1].isdigit()):
            digits = char
            while len(digits) < 3 and self._text[self._at : self._at + 1] in tuple("01234567"):
                digits += self._next()
            return chr(int(digits, 8))
        elif char.isascii() and not char.isalnum():
            return char
        else:
            raise self._wrong(f"an unknown escape \\{char}")
        if not 1 <= len(digits) <= 6 or set(digits) - set(string.hexdigits) or int(digits, 16) > 0x10FFFF:
            raise self._wrong("a character that cannot be")
        return chr(int(digits, 16))

    def _class(self) -> int:
        negated = self._takes("^")
        mask, first = 0, True
        while first or not self._takes("]"):
            first = False
            if self._takes("[:"):
                name = self._until(":]")
                if name.removeprefix("^") not in POSIX:
                    raise self._wrong(f"an unknown class {name[:20]}")
                known = POSIX[name.removeprefix("^")]
                mask |= ANY ^ known if name.startswith("^") else known
                continue
            low = self._next()
            if low == "\\":
                named = self._named_class()
                if named is not None:
                    mask |= named
                    continue
                low = self._escaped()
            high = low
            if self._text.startswith("-", self._at) and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._at += 1
                high = self._next()
                high = self._escaped() if high == "\\" else high
                if high < low:
                    raise self._wrong("a range that runs backwards")
            mask |= _mask(char for char in ALPHABET if low <= char <= high)
        mask = self._folded(mask)
        return ANY ^ mask if negated else mask


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _category(name: str) -> int | None:
    if name == "Any":
        return ANY
    if name == "Latin":
        return _mask(string.ascii_letters)
    if name not in CATEGORIES:
        return None
    return _mask(char for char in ALPHABET if unicodedata.category(char).startswith(name))
