"""docs/reference/rest.md from the table of operations: what the OpenAPI document says, short enough to be read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from redis_ledger.app.http.openapi import ANY_ERRORS, BODY_ERRORS, KEY_ERRORS, TAGS, problems_of
from redis_ledger.app.http.operations import Operation
from redis_ledger.errors import LedgerError
from scripts.markdown import MADE, table

INTRO = """\
Bodies are JSON; times are milliseconds since 1970, UTC. Fields that are marked *optional*, or that have a value in
parentheses, may be left out. Unknown fields are refused. `GET /openapi.json` is the same for tools, `GET /docs` for
browsers, and [Using HTTP](../howto/use-http.md) has examples.

An error is an `application/problem+json` document with a `code`; [Errors](errors.md) explains each code. Besides
the errors listed with a call,

- every call may return {any};
- calls with a body may return {body};
- calls marked *keyed* accept an `Idempotency-Key`, and may then return {keyed}.
"""


def page(operations: Sequence[Operation]) -> str:
    common = {"any": ANY_ERRORS, "body": BODY_ERRORS, "keyed": KEY_ERRORS}
    parts = [
        "# REST API\n",
        MADE.format(source="app/http/routers/ and app/http/schemas/core.py"),
        INTRO.format(**{name: codes(found) for name, found in common.items()}),
        table(("call", "does"), ((f"[`{title(each)}`](#{anchor(each)})", each.summary) for each in operations)),
    ]
    for tag, text in TAGS.items():
        parts.append(f"## {tag.capitalize()}\n\n{text}\n")
        parts += [section(each) for each in operations if each.tag == tag]
    return "\n".join(parts)


def title(operation: Operation) -> str:
    return f"{operation.method} {operation.path}"


def anchor(operation: Operation) -> str:
    return "".join(c for c in title(operation).lower().replace(" ", "-") if c.isalnum() or c in "-_")


def section(operation: Operation) -> str:
    marks = [mark for mark, holds in (("keyed", operation.keyed), ("body optional", operation.optional)) if holds]
    marked = f" *{', '.join(marks).capitalize()}.*" if marks else ""
    lines = [f"### {title(operation)}\n", f"{operation.summary}.{marked} {operation.description}".rstrip() + "\n"]
    for name, kind in (("Query", operation.query), ("Body", operation.body)):
        if kind is not None and (taken := list(members(kind))):
            lines.append(f"{name}: {', '.join(taken)}\n")
    shown = list(examples(operation))
    if shown:
        lines.append("```text\n" + "\n".join(shown) + "\n```\n")
    own = [error for error in problems_of(operation) if error not in (*ANY_ERRORS, *BODY_ERRORS, *KEY_ERRORS)]
    if own:
        lines.append(f"Problems: {codes(own)}\n")
    return "\n".join(lines)


def members(kind: type[msgspec.Struct]) -> Iterator[str]:
    """`name`, or `name` (what it is when left out)."""
    for each in msgspec.structs.fields(kind):
        if each.required or each.default is msgspec.UNSET or each.default is None:
            yield f"`{each.encode_name}`" + ("" if each.required else " (optional)")
        else:
            default = each.default if each.default is not msgspec.NODEFAULT else each.default_factory()
            yield f"`{each.encode_name}` ({json.dumps(default)})"


def examples(operation: Operation) -> Iterator[str]:
    for name in ("query", "request"):
        if name in operation.examples:
            given = operation.examples[name]
            yield "? " + "&".join(f"{k}={v}" for k, v in given.items()) if name == "query" else f"> {compact(given)}"
    for status, kind in operation.answers.items():
        example = operation.examples.get(str(status))
        yield f"< {status}" + (f" {compact(example)}" if example is not None else "" if kind is None else " ...")


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def codes(found: Sequence[type[LedgerError]]) -> str:
    return ", ".join(f"`{each.code}`" for each in found)
