"""The chart fits the project: what can be seen of it without Helm.  `scripts/check.py chart` renders and starts it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema_rs
import yaml

from redis_ledger.version import VERSION
from tests.tidy.tree import ROOT, shown

CHART = ROOT / "helm" / "redis-ledger"
TEMPLATES = sorted((CHART / "templates").iterdir())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
# Of a range over .Values.service, whose members are named by what they are for.
BY_RANGE = ("service.rest", "service.kafka")


def test_the_chart_has_the_version_of_the_project():
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (about["version"], about["appVersion"]) == (VERSION, VERSION)


def test_the_default_values_and_those_of_the_tests_fit_the_schema():
    takes = jsonschema_rs.validator_for(SCHEMA)
    examples = sorted((ROOT / "tests" / "chart" / "values").glob("*.yaml"))
    loaded: dict[Path, object] = {path: yaml.safe_load(path.read_text()) or {} for path in examples}
    loaded[CHART / "values.yaml"] = VALUES
    assert len(loaded) > 12
    assert [f"{shown(path)}: {error}" for path, each in loaded.items() for error in takes.iter_errors(each)] == []


def test_a_value_that_nobody_knows_does_not_fit_wherever_it_stands():
    takes = jsonschema_rs.validator_for(SCHEMA)
    assert not takes.is_valid({"settings": {"retention_mss": 1}})
    for path in branches(VALUES):
        wrong: dict[str, object] = {"unheard_of": 1}
        for name in reversed(path):
            wrong = {name: wrong}
        assert not takes.is_valid(wrong), path


def branches(node: dict[str, object], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Paths of maps whose keys the chart chooses: they hold keys by default, and the schema names them."""
    found = [path]
    for name, value in node.items():
        if isinstance(value, dict) and value and fixed((*path, name)):
            found += branches(value, (*path, name))
    return found


def fixed(path: tuple[str, ...]) -> bool:
    schema = SCHEMA
    for name in path:
        schema = schema["properties"].get(name, {})
        if "$ref" in schema:
            schema = SCHEMA["definitions"][schema["$ref"].removeprefix("#/definitions/")]
    return "properties" in schema


def test_templates_use_every_value_and_no_other():
    text = "\n".join(path.read_text() for path in TEMPLATES)
    # A name that stands for a part of the values, as in {{- $redis := .Values.redis.bundled }}.
    for short, full in re.findall(r"\{\{-? \$(\w+) := \.Values\.([\w.]+)", text):
        text = re.sub(rf"\${short}\.(?=[a-z])", f".Values.{full}.", text)
    text = text.replace("$v.", ".Values.")
    used = {name.rstrip(".") for name in re.findall(r"\.Values\.([\w.]+)", text)}
    there = set(names(VALUES))
    assert {name for name in used if not any(f"{each}.".startswith(f"{name}.") for each in there)} == set()
    idle = {each for each in there if not any(f"{each}.".startswith(f"{name}.") for name in used)}
    assert {each for each in idle if not each.startswith(BY_RANGE)} == set()


def names(node: dict[str, object], path: str = "") -> list[str]:
    found = []
    for name, value in node.items():
        if isinstance(value, dict) and value:
            found += names(value, f"{path}{name}.")
        else:
            found.append(f"{path}{name}")
    return found


def test_the_files_beside_the_templates_can_be_read():
    assert json.loads((CHART / "files" / "dashboard.json").read_text())["title"]
    alerts = yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
    assert all(rule["expr"] for group in alerts["groups"] for rule in group["rules"])
