"""Template rendering and the formatting of numbers, sizes and durations."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

import msgspec

from redis_ledger.app.console.pages import href
from redis_ledger.auth.acl import Op, Resource
from redis_ledger.version import VERSION

if TYPE_CHECKING:
    import jinja2

_STEPS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def number(value: float) -> str:
    """1234567 → "1 234 567", with narrow spaces that do not break."""
    text = f"{value:,.0f}" if isinstance(value, int) or value >= 100 else f"{value:,.1f}"
    return text.replace(",", "\u202f")


_UNSEEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def visible(text: str) -> str:
    """Escapes invisible and bidirectional control characters as in source code."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def counted(count: int, noun: str, nouns: str = "") -> str:
    """ "1 record", "1 234 records"; nouns: where the plural is not noun + s."""
    return f"{number(count)} {noun if count == 1 else nouns or f'{noun}s'}"


def size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            return f"{amount:.0f}\u202f{unit}" if unit == "B" else f"{amount:.1f}\u202f{unit}"
        amount /= 1024
    return f"{amount:.1f}\u202fTiB"


def duration(ms: int) -> str:
    """The two largest units: "3 min 12 s"."""
    if ms < 1_000:
        return f"{max(ms, 0)}\u202fms"
    parts = []
    for unit_ms, unit in _STEPS:
        if ms >= unit_ms:
            parts.append(f"{ms // unit_ms}\u202f{unit}")
            ms %= unit_ms
        elif parts:
            break
        if len(parts) == 2:
            break
    return " ".join(parts)


@cache
def _environment() -> jinja2.Environment:
    import jinja2  # not at the start of a broker: most never render a page

    root = files("redis_ledger.app.console") / "templates"

    def load(name: str) -> str | None:
        found = root.joinpath(*name.split("/"))
        return found.read_text(encoding="utf-8") if found.is_file() else None

    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.filters.update(number=number, counted=counted, visible=visible, size=size, duration=duration, data=_data)
    made.globals.update(href=href, static=_static(), version=VERSION, Op=Op, Resource=Resource)
    return made


def _data(value: Any) -> str:
    """A value as JSON for a data attribute; the template escapes it."""
    return msgspec.json.encode(value).decode()


def _static() -> Callable[[str], str]:
    """Returns URLs of static files with a digest of all of them, so that browsers may cache them."""
    digest = sha256()

    def take(folder: Traversable) -> None:
        for each in sorted(folder.iterdir(), key=lambda found: found.name):
            if each.is_dir():
                take(each)
            else:
                digest.update(each.read_bytes())

    take(files("redis_ledger.app.console") / "static")
    mark = digest.hexdigest()[:8]
    return lambda name: f"/console/static/{name}?{mark}"


def render(template: str, values: dict[str, Any]) -> str:
    return _environment().get_template(template).render(values)
