"""Parses the header of a Lua script: its keys, arguments and replies.

    #!lua flags=allow-oom
    --[[ area/name: one sentence that says what the script decides.

    KEYS        1 state  hash  meaning   2 log            entries are "<number> <name>", two spaces apart
                3.. one key for each ...                  "3.." takes all from 3 on, however many
    ARGV        1 topic_id  2 now_ms                      "none" where there are none
    RETURNS     {OK, offset} | {UNKNOWN_TOPIC}
    COMPLEXITY  O(1)
    WRITES      when and what
    SOURCE      where the idea is from
    ]]

`disagreements()` compares it with the body below; tests/tidy runs it over lua/, and docs/reference/scripts.md is made
from it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

SHEBANG = re.compile(r"#!lua( flags=[a-z,-]+)?\n")
OPENING = re.compile(r"--\[\[ (?P<name>[a-z_/]+): (?P<prose>.*?)\n\]\]\n", re.DOTALL)
SECTIONS = ("KEYS", "ARGV", "RETURNS", "COMPLEXITY", "WRITES", "SOURCE")
REQUIRED = ("KEYS", "ARGV", "RETURNS", "COMPLEXITY", "SOURCE")
SECTION = re.compile(rf"^({'|'.join(SECTIONS)})(?=\s)", re.MULTILINE)
ENTRY = re.compile(r"(?:^|\s{2,})(\d+)(\.\.)?(?=\s)", re.MULTILINE)
INCLUDE = re.compile(r'^ *--- @include "(.+)"$', re.MULTILINE)
UNKNOWABLE = "{name}\\[(?!\\d+\\])|unpack\\({name}|pairs\\({name}|#{name}|in ipairs\\({name}"


class Indexes(NamedTuple):
    """The declared indexes of KEYS or ARGV.  open_ended: "7..", all from there on."""

    highest: int
    open_ended: bool


class Header(NamedTuple):
    flags: str
    name: str
    summary: str
    sections: dict[str, str]
    body: str

    def indexes(self, section: str) -> Indexes:
        found = ENTRY.findall(self.sections.get(section, ""))
        return Indexes(max((int(number) for number, _ in found), default=0), any(dots for _, dots in found))

    def gaps(self, section: str) -> list[int]:
        """Indexes that the header skips or names out of order."""
        numbers = [int(number) for number, _ in ENTRY.findall(self.sections.get(section, ""))]
        return [n for n, want in zip(numbers, range(1, len(numbers) + 1), strict=True) if n != want]


def parse(text: str) -> Header:
    """Raises ValueError with the reason for a script without a valid header."""
    shebang = SHEBANG.match(text)
    if shebang is None:
        raise ValueError("the first line is not #!lua, with or without flags")
    opening = OPENING.match(text, shebang.end())
    if opening is None:
        raise ValueError("the second line does not open the header: --[[ area/name: what it decides")
    prose = opening["prose"]
    starts = [*SECTION.finditer(prose)]
    ends = [match.start() for match in starts[1:]] + [len(prose)]
    sections = {match[1]: prose[match.end() : end].rstrip() for match, end in zip(starts, ends, strict=True)}
    summary = prose[: starts[0].start()] if starts else prose
    flags = (shebang[1] or "").removeprefix(" flags=")
    return Header(flags, opening["name"], summary.split("\n\n")[0], sections, text[opening.end() :])


def with_includes(body: str, lua: Path) -> str:
    return INCLUDE.sub(lambda match: with_includes((lua / f"{match[1]}.lua").read_text(), lua), body)


def disagreements(header: Header, name: str, lua: Path) -> list[str]:
    """Returns differences between the header and the body with its includes, as sentences."""
    said = [] if header.name == name else [f"the header calls itself {header.name}"]
    said += [f"the header has no {section}" for section in REQUIRED if not header.sections.get(section, "").strip()]
    body = re.sub(r"--[^\n]*", "", with_includes(header.body, lua))
    for section in ("KEYS", "ARGV"):
        declared = header.indexes(section)
        used = max((int(n) for n in re.findall(rf"\b{section}\[(\d+)\]", body)), default=0)
        computed = re.search(UNKNOWABLE.format(name=rf"\b{section}"), body) is not None
        said += [f"{section} {n} is out of order in the header" for n in header.gaps(section)]
        if used > declared.highest:
            said.append(f"the body uses {section}[{used}], the header ends at {declared.highest}")
        if used < declared.highest and not computed:
            said.append(f"the header declares {section} {declared.highest}, the body ends at {used}")
        if declared.open_ended and not computed:
            said.append(f"the header leaves {section} open-ended, the body does not")
    return said


def scripts(lua: Path) -> dict[str, Path]:
    """Name ("ledger/append") → file, includes left out."""
    found = sorted(path for path in lua.rglob("*.lua") if path.relative_to(lua).parts[0] != "include")
    return {path.relative_to(lua).with_suffix("").as_posix(): path for path in found}
