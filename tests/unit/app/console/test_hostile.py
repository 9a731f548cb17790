"""Every page of the console, with hostile texts in all that its data can hold: they stay texts."""

from __future__ import annotations

import re
import types
import typing
from typing import Any

import msgspec
import pytest

from redis_ledger.app.console.pages import PAGES, ActionResult
from redis_ledger.app.console.rendering import render
from redis_ledger.app.console.site import anonymous_frame
from tests.support.html_injection import TEXTS, Seen

LINKS = {"link", "location"}  # made by the console itself
OURS = re.compile(r"#[a-z]+|/docs|/metrics|/console([/?#][\w/?#=&%.+*~-]*)?", re.ASCII)
# Fields whose word decides what is on a page; their words are the console's own.
WORDS = {"level", "kind", "pattern", "durability"}


def filled(kind: Any, word: str, name: str = "") -> Any:
    """A value of the type: every text is the word, every list has an element, nothing is left out."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return filled(next(each for each in arguments if each is not type(None)), word, name)
    if origin is typing.Literal:
        return arguments[0]
    if origin is tuple:
        items = arguments[:1] if arguments[-1] is Ellipsis else arguments
        return tuple(filled(each, word) for each in items)
    if origin is dict:
        key, value = (filled(each, word) for each in arguments)
        return {key: value}
    if origin is not None:
        return [filled(arguments[0], word)]
    if kind is str:
        return "/console/topics" if name in LINKS else name if name in WORDS else word
    if kind in (bool, int, float):
        return kind(1)
    if kind is Any:
        return word
    hints = typing.get_type_hints(kind)
    return kind(**{field: filled(hint, word, field) for field, hint in hints.items() if _is_given(kind, field)})


def _is_given(kind: Any, field: str) -> bool:
    return field in getattr(kind, "__struct_fields__", getattr(kind, "_fields", ())) or hasattr(
        kind, "__dataclass_fields__"
    )


def frame(word: str) -> dict[str, Any]:
    return anonymous_frame(word) | {
        "title": word, "principal": word, "csrf": word, "message": word, "may": lambda *_: True, "now_ms": 1,
    }  # fmt: skip


def abroad(seen: Seen) -> list[str]:
    """Addresses that lead away from the pages of the console."""
    return [each for each in seen.addresses if not OURS.fullmatch(each)]


def made(path: str, word: str) -> Seen:
    found = PAGES[path]
    data = filled(typing.get_type_hints(found.handler)["return"], word)
    return Seen(render(found.template, frame(word) | {"page": data, "query": filled(found.query, word)}))


@pytest.mark.parametrize("path", sorted(PAGES))  # they are registered in the order of imports
@pytest.mark.parametrize("word", TEXTS)
def test_no_text_becomes_a_part_of_a_page_or_an_address(path: str, word: str) -> None:
    harmless, seen = made(path, "word"), made(path, word)
    assert seen.shape == harmless.shape
    assert abroad(seen) == []
    assert any("word" in each for each in harmless.texts)


@pytest.mark.parametrize("word", TEXTS)
@pytest.mark.parametrize("template", ["error.html", "login.html", "done.html"])
def test_no_error_login_or_secret_becomes_a_part_of_its_page(template: str, word: str) -> None:
    def page(word: str) -> Seen:
        facts = {"status": 404, "phrase": word, "detail": word, "again_s": 5, "wrong": word, "to": word}
        done = ActionResult(word, "/console/access", word)
        return Seen(render(template, frame(word) | facts | {"done": done}))

    seen = page(word)
    assert seen.shape == page("word").shape
    assert abroad(seen) == []


def test_every_page_was_filled_to_the_last_list() -> None:
    """So that a loop of a template cannot be left out."""
    for path, found in PAGES.items():
        data = filled(typing.get_type_hints(found.handler)["return"], "word")
        assert "[]" not in msgspec.json.encode(data).decode(), path
