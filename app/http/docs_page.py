"""/docs: the OpenAPI document as one HTML page, without scripts or external resources."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from typing import Any

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h2{margin-top:3rem;border-bottom:1px solid #ccc}summary{cursor:pointer;padding:.35rem 0}
code,pre{font:14px/1.45 ui-monospace,monospace}pre{background:#f5f5f3;padding:.8rem;overflow:auto;border-radius:4px}
.m{display:inline-block;min-width:4.2rem;font-weight:600}details{border-bottom:1px solid #eee}
details>div{padding:0 0 1rem 1.2rem}table{border-collapse:collapse}td{padding:.15rem .8rem .15rem 0;vertical-align:top}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#161616}pre{background:#222}h2,details{border-color:#444}}
"""


_STYLE_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
# As the console's policy, without scripts and forms.
POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_DIGEST}'; form-action 'none'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
]


def page(document: dict[str, Any]) -> str:
    info = document["info"]
    by_tag: dict[str, list[str]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag[operation["tags"][0]].append(_operation(method, path, operation, document["components"]["schemas"]))
    sections = "".join(
        f"<h2 id='{tag['name']}'>{tag['name']}</h2><p>{escape(tag['description'])}</p>{''.join(by_tag[tag['name']])}"
        for tag in document["tags"]
    )
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>{info['title']} {escape(info['version'])}</title><style>{_STYLE}</style>"
        f"<h1>{info['title']} <small>{escape(info['version'])}</small></h1>"
        f"{_prose(info['description'])}{_login(document)}"
        f"<p>For tools: <a href='/openapi.json'>/openapi.json</a></p>{sections}</html>"
    )


def _login(document: dict[str, Any]) -> str:
    schemes = document["components"]["securitySchemes"].values()
    return "".join(
        _prose(f"`Authorization: {each['scheme'].capitalize()} ...` {each['description']}") for each in schemes
    )


def _operation(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    parts = [_prose(operation["description"])]
    rows = [_row(p["name"], p["in"], p["schema"], p["description"]) for p in operation.get("parameters", ())]
    request = ""
    media = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if media is not None:  # not a stream of bytes, whose operation describes it
        rows += _members(media["schema"], schemas)
        request = _example("Request", media)
    if rows:
        parts.append(f"<table>{''.join(rows)}</table>")
    parts.append(request)
    for status, answer in operation["responses"].items():
        media = answer.get("content", {})
        if "application/problem+json" in media:
            items = "".join(f"<li>{_inline(line[2:])}</li>" for line in answer["description"].split("\n"))
            parts.append(f"<p>{status}</p><ul>{items}</ul>")
        else:
            parts.append(_example(f"{status} {answer['description']}", media.get("application/json", {})))
    return (
        f"<details id='{operation['operationId']}'><summary><span class='m'>{method.upper()}</span><code>{escape(path)}"
        f"</code> {_inline(operation['summary'])}</summary><div>{''.join(parts)}</div></details>"
    )


def _members(schema: dict[str, Any], schemas: dict[str, Any]) -> list[str]:
    """A row for each member of a body, and for nested members such as records.value."""
    rows = []
    shape = schemas[schema["$ref"].rpartition("/")[2]]
    for name, member in shape.get("properties", {}).items():
        where = "body, required" if name in shape.get("required", ()) else "body"
        rows.append(_row(name, where, member, member.get("description", "")))
        for inner in (member.get("items", member), *member.get("anyOf", ())):
            held = schemas[inner["$ref"].rpartition("/")[2]]["properties"] if "$ref" in inner else {}
            rows += [_row(f"{name}.{each}", "", its, its.get("description", "")) for each, its in held.items()]
    return rows


def _row(name: str, where: str, schema: dict[str, Any], description: str) -> str:
    default = schema.get("default")
    more = f" Default: `{json.dumps(default)}`." if default not in (None, "", []) else ""
    cells = (f"<code>{escape(name)}</code>", where, escape(_kind(schema)), _inline(description + more))
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _kind(schema: dict[str, Any]) -> str:
    """A schema in a few words: integer, earliest or latest, list of string, object."""
    if choices := schema.get("anyOf"):
        return " or ".join(dict.fromkeys(kind for each in choices if (kind := _kind(each)) != "null"))
    if values := schema.get("enum"):
        return " or ".join(str(value) for value in values)
    if "prefixItems" in schema:
        return "pair"
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "object" if "$ref" in schema else "anything"))


def _prose(text: str) -> str:
    return "".join(f"<p>{_inline(paragraph)}</p>" for paragraph in text.split("\n\n"))


def _inline(text: str) -> str:
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _example(title: str, media: dict[str, Any]) -> str:
    shown = (
        f"<pre>{escape(json.dumps(media['example'], indent=2, ensure_ascii=False))}</pre>" if "example" in media else ""
    )
    return f"<p>{escape(title)}</p>{shown}"
