"""A page of the documentation as something that runs.

    python   the blocks of a page are one program; `print(...)  # text` says what it prints
    sh       `name=value`, and curl calls; below a call, `# {...}` is its answer, shortened

The calls are sent by http.client, so that a page says the same on a machine without curl.  The id of a transaction
differs from run to run: the one that a page shows stands, in all that follows, for the one that was answered.
"""

from __future__ import annotations

import http.client
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_TXN = re.compile(r"\d+-\d{10,}")

HERE = "http://127.0.0.1:8080"  # what pages call the broker
KAFKA_HERE = "127.0.0.1:9092"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)


def program(page: Path, url: str, kafka: str = KAFKA_HERE) -> tuple[str, list[str]]:
    """The page's Python for a broker at url, and the lines it says it prints."""
    code = "\n".join(blocks(page, "python"))
    return code.replace(HERE, url).replace(KAFKA_HERE, kafka), re.findall(
        r"^ *print\(.*\)  # (.+)$", code, re.MULTILINE
    )


@dataclass
class Call:
    method: str
    url: str
    body: str | None
    headers: dict[str, str]
    answer: Any = field(default=None)  # what the page shows of it; None: nothing

    def send(self) -> tuple[int, Any]:
        """Status, and the JSON of the answer."""
        where = urlsplit(self.url)
        link = http.client.HTTPConnection(where.netloc, timeout=20)
        target = where.path + (f"?{where.query}" if where.query else "")
        # curl's default content type for -d.
        form = {"Content-Type": "application/x-www-form-urlencoded"} if self.body is not None else {}
        link.request(self.method, target, (self.body or "").encode() or None, {**form, **self.headers})
        reply = link.getresponse()
        data = reply.read()
        link.close()
        return reply.status, json.loads(data) if data else None


def calls(page: Path, url: str) -> list[Call]:
    """The page's curl calls in order, for a broker at url."""
    found: list[Call] = []
    names: dict[str, str] = {}
    for words in _commands("\n".join(blocks(page, "sh"))):
        if words[0] == "#":
            assert found[-1].answer is None, f"two answers to {found[-1].url}"
            found[-1].answer = json.loads(words[1])
        elif words[0] == "curl":
            found.append(_call([re.sub(r"\$(\w+)", lambda m: names[m[1]], word) for word in words[1:]], url))
        else:
            name, equals, value = words[0].partition("=")
            assert (len(words), equals) == (1, "="), f"{words} is neither a curl call nor name=value"
            names[name] = value
    return found


def _commands(script: str) -> Iterator[list[str]]:
    """Each command's words; a comment line is "#" and its text.  A quote may go over several lines."""
    begun = ""
    for line in script.splitlines():
        if not begun and line.startswith("# "):
            yield ["#", line[2:]]
            continue
        begun += line + "\n"
        if begun.strip() and begun.count("'") % 2 == 0:
            yield shlex.split(begun)
            begun = ""
    assert not begun.strip(), f"a quote does not end: {begun}"


def _call(words: list[str], url: str) -> Call:
    method, address, body, headers = "", "", None, {}
    rest = iter(words)
    for word in rest:
        if word == "-X":
            method = next(rest)
        elif word == "-d":
            body = next(rest)
        elif word == "-H":
            name, _, value = next(rest).partition(": ")
            headers[name] = value
        else:
            assert word.startswith(HERE), f"curl {word}: this test does not know it"
            address = url + word.removeprefix(HERE)
    return Call(method or ("GET" if body is None else "POST"), address, body, headers)


def names(shown: Any, seen: Any) -> dict[str, str]:
    """Transaction ids of a page → those answered in their place."""
    if isinstance(shown, dict) and isinstance(seen, dict):
        pairs = [(shown[name], seen[name]) for name in shown.keys() & seen.keys()]
    elif isinstance(shown, list) and isinstance(seen, list):
        pairs = list(zip(shown, seen, strict=False))
    else:
        is_id = isinstance(shown, str) and isinstance(seen, str) and _TXN.fullmatch(shown) and _TXN.fullmatch(seen)
        return {shown: seen} if is_id else {}
    return {one: other for pair in pairs for one, other in names(*pair).items()}


def renamed(text: str, ids: dict[str, str]) -> str:
    return _TXN.sub(lambda found: ids.get(found[0], found[0]), text)


def differences(shown: Any, seen: Any, at: str = "$") -> list[str]:
    """Where an answer is not what a page shows of it.  Members may be left out, elements of a list may not."""
    if isinstance(shown, dict) and isinstance(seen, dict):
        gone = [f"{at}.{name} is not there" for name in shown.keys() - seen.keys()]
        both = shown.keys() & seen.keys()
        return gone + [line for name in both for line in differences(shown[name], seen[name], f"{at}.{name}")]
    if isinstance(shown, list) and isinstance(seen, list) and len(shown) == len(seen):
        pairs = enumerate(zip(shown, seen, strict=True))
        return [line for index, (one, other) in pairs for line in differences(one, other, f"{at}[{index}]")]
    return [] if shown == seen else [f"{at}: shown {shown!r}, seen {seen!r}"]


class Block(NamedTuple):
    """A fenced block of code.  note: the comment right above it, or ""."""

    language: str
    text: str
    note: str


_BLOCK = re.compile(r"(?:^<!-- ([^\n]*?) -->\n)?^[ ]*```(\w*)\n(.*?)^[ ]*```$", re.DOTALL | re.MULTILINE)


def noted_blocks(page: Path) -> list[Block]:
    return [Block(found[2], found[3], found[1] or "") for found in _BLOCK.finditer(page.read_text())]


def commands_of(page: Path, test: str) -> list[str]:
    """The lines of the page's blocks that say they are run by this test."""
    return [line for each in noted_blocks(page) if each.note == f"run by {test}" for line in each.text.splitlines()]
