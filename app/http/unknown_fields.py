"""Errors for unknown fields, with a suggestion.

    {"records": [{"vaule": 1}]}    $.records[0]: unknown field vaule; did you mean value?

msgspec reports the path; the type at that path has the candidates.
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import cache

from msgspec import inspect

from redis_ledger.errors import InvalidRequest

LISTED_MAX = 10  # longer lists are left out of the message
NAME_MAX = 100  # characters of the unknown name in the message
_SAID = re.compile(r"Object contains unknown field `(.*?)`(?: - at `(\$[^`]*)`)?\Z", re.DOTALL)
_INDEX = re.compile(r"\[\d+\]")
_STEP = re.compile(r"\.(\w+)|\[\.\.\.\]")


def unknown_field_error(said: str, kind: type, what: str) -> InvalidRequest | None:
    """said: msgspec's message.  kind: the model of the request.  what: "field" or "query parameter".
    None: the message is about something else.
    """
    found = _SAID.match(said)
    if found is None:
        return None
    name, path = found[1][:NAME_MAX], found[2] or "$"
    place = "" if what != "field" else f"{path}: "
    known = fields(kind, _INDEX.sub("[...]", path))
    return InvalidRequest(f"{place}unknown {what} {name}; {_advice(name, known)}", unknown_field=name)


@cache
def fields(kind: type, path: str) -> tuple[str, ...]:
    """The names that an object at this place may have; none if there is no such place.

    path: msgspec's path with list indexes replaced: $.records[...]
    """
    types = [inspect.type_info(kind)]
    for step in _STEP.finditer(path):
        types = [below for each in types for below in _below(each, step[1])]
    return tuple(dict.fromkeys(f.encode_name for each in _structs(types) for f in each.fields))


def _below(kind: inspect.Type, name: str | None) -> list[inspect.Type]:
    """name: a member; None for an element of a list or a value of a dict."""
    kinds = _alternatives(kind)
    if name is not None:
        return [f.type for each in _structs(kinds) for f in each.fields if f.encode_name == name]
    lists = [each.item_type for each in kinds if isinstance(each, inspect.ListType)]
    return lists + [each.value_type for each in kinds if isinstance(each, inspect.DictType)]


def _structs(kinds: list[inspect.Type]) -> list[inspect.StructType]:
    return [each for kind in kinds for each in _alternatives(kind) if isinstance(each, inspect.StructType)]


def _alternatives(kind: inspect.Type) -> list[inspect.Type]:
    if isinstance(kind, inspect.Metadata):
        return _alternatives(kind.type)
    if isinstance(kind, inspect.UnionType):
        return [found for each in kind.types for found in _alternatives(each)]
    return [kind]


def _advice(name: str, known: tuple[str, ...]) -> str:
    folded = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), folded, n=2)
    if close:
        return f"did you mean {' or '.join(folded[each] for each in close)}?"
    if 0 < len(known) <= LISTED_MAX:
        return f"known are {', '.join(known)}."
    return "/openapi.json lists the known ones." if known else "leave it out."
