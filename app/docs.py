"""/docs: the OpenAPI document as one page of plain HTML, which needs no script and no other server."""

from __future__ import annotations

import json
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


def page(document: dict[str, Any]) -> str:
    info = document["info"]
    by_tag: dict[str, list[str]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag[operation["tags"][0]].append(_operation(method, path, operation))
    sections = "".join(
        f"<h2 id='{tag['name']}'>{tag['name']}</h2><p>{escape(tag['description'])}</p>{''.join(by_tag[tag['name']])}"
        for tag in document["tags"]
    )
    return (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
        f"<title>{info['title']} {escape(info['version'])}</title><style>{_STYLE}</style>"
        f"<h1>{info['title']} <small>{escape(info['version'])}</small></h1><p>{escape(info['description'])}</p>"
        f"<p>For tools: <a href='/openapi.json'>/openapi.json</a></p>{sections}</html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [f"<p>{escape(operation['description'])}</p>"]
    if parameters := operation.get("parameters"):
        rows = "".join(
            f"<tr><td><code>{p['name']}</code></td><td>{p['in']}</td><td>{escape(p['description'])}</td></tr>"
            for p in parameters
        )
        parts.append(f"<table>{rows}</table>")
    if body := operation.get("requestBody"):
        parts.append(_example("Request", body["content"]["application/json"]))
    for status, answer in operation["responses"].items():
        media = answer.get("content", {})
        if "application/problem+json" in media:
            items = "".join(f"<li>{escape(line[2:])}</li>" for line in answer["description"].split("\n"))
            parts.append(f"<p>{status}</p><ul>{items}</ul>")
        else:
            parts.append(_example(f"{status} {answer['description']}", media.get("application/json", {})))
    return (
        f"<details id='{operation['operationId']}'><summary><span class='m'>{method.upper()}</span><code>{escape(path)}"
        f"</code> {escape(operation['summary'])}</summary><div>{''.join(parts)}</div></details>"
    )


def _example(title: str, media: dict[str, Any]) -> str:
    shown = (
        f"<pre>{escape(json.dumps(media['example'], indent=2, ensure_ascii=False))}</pre>" if "example" in media else ""
    )
    return f"<p>{escape(title)}</p>{shown}"
