"""/docs: what a browser shows without any other server is what /openapi.json has."""

from __future__ import annotations

import base64
import hashlib
import re
from html import unescape

import pytest

from redis_ledger.app.http.application import OPERATIONS
from redis_ledger.app.http.docs_page import HEADERS, page
from redis_ledger.app.http.openapi import document

DOCUMENT = document(OPERATIONS)
PAGE = page(DOCUMENT)
SECTIONS = dict(re.findall(r"<details id='(\w+)'>(.*?)</details>", PAGE, re.DOTALL))


def rows(operation_id: str) -> dict[str, list[str]]:
    """The cells behind each name."""
    found = {}
    for row in re.findall(r"<tr>(.*?)</tr>", SECTIONS[operation_id], re.DOTALL):
        name, *cells = [unescape(re.sub(r"<.*?>", "", cell)) for cell in re.findall(r"<td>(.*?)</td>", row, re.DOTALL)]
        found[name] = cells
    return found


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.id)
def test_every_member_of_a_body_is_shown(operation):
    asked = DOCUMENT["paths"][operation.path][operation.method.lower()].get("requestBody")
    if asked is None or "application/json" not in asked["content"]:
        assert not any(cells[0].startswith("body") for cells in rows(operation.id).values())
        return
    name = asked["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    members = DOCUMENT["components"]["schemas"][name].get("properties", {})
    assert set(members) <= set(rows(operation.id))


def test_member_has_type_description_and_default():
    receive = rows("receive")
    assert receive["wait_ms"][:2] == ["body", "integer"]
    assert receive["wait_ms"][2]
    assert rows("create_topic")["name"][:2] == ["body, required", "string"]
    assert rows("fetch")["offset"] == [
        "query",
        "integer or earliest or latest",
        'First offset to read. Default: "earliest".',
    ]
    assert "records.deliver_at" in rows("produce")
    assert rows("create_topic")["settings.retention_ms"][1] == "integer"


def test_authentication_is_described_before_the_operations():
    assert "<code>Authorization: Bearer ...</code>" in PAGE[: PAGE.index("<details")]


def test_page_has_no_external_resources_and_no_markdown_syntax():
    assert re.findall(r"(?:src|href)='([^']*)'", PAGE) == ["/openapi.json"]
    assert "`" not in re.sub(r"<pre>.*?</pre>", "", PAGE, flags=re.DOTALL)


def test_page_style_matches_the_content_security_policy():
    (style,) = re.findall(r"<style>(.*?)</style>", PAGE, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = dict(HEADERS)[b"content-security-policy"].decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"<script|<form|\sstyle=|\son\w+=", PAGE)
