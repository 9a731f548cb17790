"""A Dockerfile as data: stages of instructions with flags and variables; and what .dockerignore lets through.

    FROM ${PYTHON_IMAGE} AS build     Stage("build", "docker.io/library/python:3.11-slim-bookworm", [...])
    COPY --from=build /a /b           Instruction("COPY", ("--from=build",), "/a /b", line=40)

Only what our Dockerfile needs is understood; anything else is an error, so that nothing is passed over.
Source: the Dockerfile reference of Docker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

WORDS = {
    *("ARG", "FROM", "RUN", "COPY", "ENV", "LABEL", "USER", "WORKDIR", "VOLUME", "EXPOSE", "STOPSIGNAL"),
    *("HEALTHCHECK", "ENTRYPOINT", "CMD"),
}
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE = re.compile(rf"\$(?:\{{({_NAME})\}}|({_NAME}))")
_PAIR = re.compile(r'([A-Za-z_][A-Za-z0-9_.]*)=("(?:[^"\\]|\\.)*"|\S*)')


class Instruction(NamedTuple):
    """flags: words that begin with --.  value: the rest, its continued lines joined."""

    word: str
    flags: tuple[str, ...]
    value: str
    line: int

    def flag(self, name: str) -> str | None:
        return next((each.partition("=")[2] for each in self.flags if each.startswith(f"--{name}=")), None)

    def pairs(self, variables: Mapping[str, str]) -> dict[str, str]:
        """a=b c="d e" of ENV, LABEL and ARG."""
        found = {name: filled(value.strip('"'), variables) for name, value in _PAIR.findall(self.value)}
        assert _PAIR.sub("", self.value).strip() == "", f"line {self.line}: not all of it is NAME=VALUE"
        return found

    def words(self) -> list[str]:
        """The JSON form, which runs without a shell."""
        found: Any = json.loads(self.value)
        assert isinstance(found, list), f"line {self.line}: the JSON form is wanted"
        return [str(word) for word in found]


class Stage(NamedTuple):
    name: str
    base: str
    instructions: list[Instruction]

    def all(self, word: str) -> list[Instruction]:
        return [each for each in self.instructions if each.word == word]

    def last(self, word: str) -> Instruction:
        return self.all(word)[-1]


def filled(text: str, variables: Mapping[str, str]) -> str:
    """Raises KeyError for a variable that is not set."""
    return _VARIABLE.sub(lambda found: variables[found[1] or found[2]], text)


def instructions(text: str) -> list[Instruction]:
    result: list[Instruction] = []
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        whole = line
        while whole.endswith("\\"):
            whole = whole[:-1] + next(lines)[1]
        word, _, rest = whole.strip().partition(" ")
        assert word in WORDS, f"line {number}: {word} is not understood"
        flags = []
        while rest.lstrip().startswith("--"):
            flag, _, rest = rest.lstrip().partition(" ")
            flags.append(flag)
        result.append(Instruction(word, tuple(flags), rest.strip(), number))
    return result


def stages(text: str, arguments: Mapping[str, str] | None = None) -> list[Stage]:
    """arguments: --build-arg, which win over what ARG says before the first FROM."""
    result: list[Stage] = []
    outside: dict[str, str] = {}
    for each in instructions(text):
        if each.word == "FROM":
            base, _, name = each.value.partition(" AS ")
            result.append(Stage(name, filled(base, outside), []))
        elif result:
            result[-1].instructions.append(each)
        else:
            assert each.word == "ARG", f"line {each.line}: only ARG may stand before FROM"
            outside |= {name: (arguments or {}).get(name, value) for name, value in each.pairs(outside).items()}
    return result


def is_sent(path: str, patterns: Sequence[str]) -> bool:
    """Whether a file of the context is sent: the last pattern of .dockerignore that matches it or a parent decides."""
    sent = True
    for pattern in patterns:
        if _matches(path, pattern.removeprefix("!")):
            sent = pattern.startswith("!")
    return sent


def _matches(path: str, pattern: str) -> bool:
    parts = [{"**": "§§", "*": "[^/]*"}.get(part, part) for part in re.split(r"(\*\*|\*)", pattern.strip("/"))]
    plain = "".join(part if part in ("§§", "[^/]*") else re.escape(part) for part in parts)
    return re.fullmatch(plain.replace("§§/", "(?:.*/)?").replace("§§", ".*") + "(?:/.*)?", path) is not None


def patterns(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


def context(root: Path, names: Iterable[str], ignored: Sequence[str]) -> list[Path]:
    """The files and symbolic links under the named files and folders of root that are sent, relative to it."""
    found: list[Path] = []
    for name in names:
        place = root / name
        every = (
            [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file() or path.is_symlink()]
        )
        assert every, f"{name} is not there"
        found += [path.relative_to(root) for path in every if is_sent(path.relative_to(root).as_posix(), ignored)]
    return found
