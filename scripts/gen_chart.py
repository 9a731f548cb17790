"""Generates parts of helm/redis-ledger from other files: version, settings, and the table of values.

    Chart.yaml            the project's version
    values.schema.json    `settings`: every field of Config except those that other values determine
    README.md             a row for each value, from the comments of values.yaml

scripts/gen_docs.py writes them with the pages of docs/reference/.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from redis_ledger.config import Config
from scripts.markdown import table

ROOT = Path(__file__).resolve().parent.parent
CHART = ROOT / "helm" / "redis-ledger"
# Settings that other values of the chart determine; setting both could be contradictory.
DECIDED = {
    "auth_required", "allow_everyone_if_no_acl", "super_users", "bootstrap_token_file",
    "tls_certificate", "tls_key", "tls_kafka_listeners", "tls_client_ca", "tls_principal", "offload_home",
}  # fmt: skip
# Never in production, so Helm rejects them.
REFUSED = {"test_hooks"}
JSON_TYPE = {bool: "boolean", int: "integer", str: "string"}
BEGIN, END = "<!-- values -->\n", "<!-- end of values -->\n"


class Value(NamedTuple):
    name: str
    default: str
    meaning: str


def pages() -> dict[Path, str]:
    """File → expected content."""
    return {
        CHART / "Chart.yaml": chart_file(),
        CHART / "values.schema.json": schema_file(),
        CHART / "README.md": readme(),
    }


def chart_file() -> str:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    text = re.sub(r"(?m)^version: .*$", f"version: {version}", (CHART / "Chart.yaml").read_text())
    return re.sub(r"(?m)^appVersion: .*$", f'appVersion: "{version}"', text)


def schema_file() -> str:
    """Makes Helm reject misspelt settings, because brokers ignore unknown variables."""
    schema = json.loads((CHART / "values.schema.json").read_text())
    known = {each.name: type(each.default) for each in fields(Config) if each.name not in DECIDED | REFUSED}
    schema["properties"]["settings"] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: {"type": JSON_TYPE[kind]} for name, kind in known.items()},
    }
    return json.dumps(schema, indent=1) + "\n"


def readme() -> str:
    text = (CHART / "README.md").read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = ((f"`{each.name}`", f"`{each.default}`", each.meaning) for each in values())
    return f"{before}{BEGIN}\n{table(('value', 'default', 'is'), rows)}\n{END}{after}"


def values() -> Iterator[Value]:
    """Yields all keys of values.yaml with a comment `# -- ...` directly above."""
    text = (CHART / "values.yaml").read_text()
    root = yaml.compose(text)
    assert isinstance(root, yaml.MappingNode)
    yield from _described(root, yaml.safe_load(text), text.splitlines(), "")


def _described(node: yaml.MappingNode, loaded: dict[str, Any], lines: list[str], path: str) -> Iterator[Value]:
    for key, value in node.value:
        name, said = f"{path}{key.value}", lines[key.start_mark.line - 1].strip()
        if said.startswith("# -- "):
            yield Value(name, json.dumps(loaded[key.value], ensure_ascii=False), said.removeprefix("# -- "))
        elif isinstance(value, yaml.MappingNode):
            yield from _described(value, loaded[key.value], lines, f"{name}.")
        else:
            raise ValueError(f"{name} has no description in values.yaml: add a line with # -- above it.")
