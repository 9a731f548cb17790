"""The chart, rendered by Helm as it would be installed, and what of it differs each time made equal."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from scripts import chart_tools

ROOT = Path(__file__).parents[2]
CHART = ROOT / "helm" / "redis-ledger"
HERE = ROOT / "tests" / "chart"
RELEASE, NAMESPACE = "ledger", "streams"
Manifest = dict[str, Any]


def run(
    name: str, *arguments: str | Path, given: str | None = None, kubeconfig: Path | str = "/nonexistent"
) -> subprocess.CompletedProcess[str]:
    """helm, kubeconform or promtool: they see no cluster but what is given, and no configuration of who runs this."""
    program = chart_tools.tool(name)
    assert program.exists(), f"{name} is missing; `scripts/check.py chart` builds it"
    kept = {key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ}
    alone = {"KUBECONFIG": str(kubeconfig), "HELM_PLUGINS": "/nonexistent"}
    command = [str(program), *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False, env=kept | alone)


def values_files() -> list[str]:
    return sorted(path.stem for path in (HERE / "values").glob("*.yaml"))


def refused(values: str) -> str:
    """Helm's error for values it rejects."""
    ran = run("helm", "template", RELEASE, CHART, "--namespace", NAMESPACE, "--values", "-", given=values)
    assert ran.returncode != 0, "taken"
    return ran.stderr


@cache
def rendered(name: str) -> str:
    """All manifests that a file of tests/chart/values makes, as Helm would send them."""
    chosen = ("--namespace", NAMESPACE, "--values", HERE / "values" / f"{name}.yaml")
    ran = run("helm", "template", RELEASE, CHART, *chosen)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@cache
def notes(name: str) -> str:
    """The notes that `helm install` prints."""
    chosen = ("--namespace", NAMESPACE, "--values", HERE / "values" / f"{name}.yaml")
    ran = run("helm", "install", RELEASE, CHART, "--dry-run=client", *chosen)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.partition("\nNOTES:\n")[2].strip() + "\n"


def manifests(name: str) -> list[Manifest]:
    return [each for each in yaml.safe_load_all(rendered(name)) if each]


def one(name: str, kind: str, called: str) -> Manifest:
    """The object of that kind and name."""
    found = [each for each in manifests(name) if each["kind"] == kind and each["metadata"]["name"] == called]
    assert len(found) == 1, f"{len(found)} objects {kind} {called}"
    return found[0]


def golden(name: str) -> str:
    """Manifests and notes as they are kept in tests/chart/golden: without what is made anew or kept elsewhere."""
    text = rendered(name)
    for each in manifests(name):
        if each["kind"] == "Secret":
            for key in ("token", "password"):
                text = text.replace(each["stringData"].get(key) or "\0", f"<{key}>")
    text = re.sub(r"(?s)(\nkind: PrometheusRule\n.*?\nspec:\n).*?(\n---\n|\Z)", r"\1  <files/alerts.yaml>\n\2", text)
    text = re.sub(r"(?s)(\n  redis-ledger\.json: \|-\n).*?(\n---\n|\Z)", r"\1    <files/dashboard.json>\n\2", text)
    version = str(yaml.safe_load((CHART / "Chart.yaml").read_text())["version"])
    return f"{text.strip()}\n\n---\n# NOTES\n{notes(name)}".replace(version, "<version>")
