"""Helm, kubeconform and promtool, which the chart's tests need: built once with Go, kept in the user's cache folder.

    .venv/bin/python scripts/chart_tools.py            builds missing tools (a few minutes, once)
    .venv/bin/python scripts/chart_tools.py schemas    writes tests/chart/schemas/ anew from Kubernetes' OpenAPI

They are Go modules at the versions below, verified by Go's checksum database.  A new version is built at the next run.
Without Go and without an earlier build, `scripts/check.py chart` fails with one sentence.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import chart_schemas  # noqa: E402  a script has its own folder on sys.path, not the root


class Tool(NamedTuple):
    name: str
    package: str
    version: str


TOOLS = (
    Tool("helm", "helm.sh/helm/v4/cmd/helm", "v4.3.1"),
    Tool("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform", "v0.8.0"),
    Tool("promtool", "github.com/prometheus/prometheus/cmd/promtool", "v0.313.5"),
)

LEAVE_OUT = ("-tags", "remove_all_sd")  # of promtool: what asks clouds for machines is most of it


class Unavailable(Exception):
    """A tool cannot be built on this machine.  The message is one sentence for the user."""


def folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache) / "redis-ledger" / "charts" / "bin"


def tool(name: str) -> Path:
    return folder() / name


def prepare() -> None:
    """Builds tools that are missing or have another version.  Raises Unavailable."""
    home = folder()
    home.mkdir(parents=True, exist_ok=True)
    with (home.parent / "lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # concurrent runs build it once
        for wanted in TOOLS:
            if shutil.which("go") is None and (home / wanted.name).exists():
                continue  # its version cannot be checked, nor another one built
            if built(home / wanted.name) != (wanted.package, wanted.version):
                build(wanted, home)


def built(program: Path) -> tuple[str, str]:
    """The package and version in the build information of a Go program; empty without one."""
    if not program.exists():
        return "", ""
    said = subprocess.run(["go", "version", "-m", str(program)], capture_output=True, text=True, check=False).stdout
    rows = [line.split() for line in said.splitlines()]
    path = next((row[1] for row in rows if row[:1] == ["path"]), "")
    return path, next((row[2] for row in rows if row[:1] == ["mod"]), "")


def build(wanted: Tool, home: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise Unavailable(f"{wanted.name} is built with Go, which is not installed: install Go 1.26 or newer.")
    print(f"chart: building {wanted.name} {wanted.version} (a few minutes, once)", file=sys.stderr, flush=True)
    began = time.monotonic()
    nice = [found] if (found := shutil.which("nice")) else []
    # In a separate module: `go install` rejects modules with replace directives, such as Prometheus.
    with tempfile.TemporaryDirectory() as place:
        for command in (
            ("mod", "init", "chart"),
            ("get", f"{wanted.package}@{wanted.version}"),
            ("build", "-trimpath", *LEAVE_OUT, "-o", str(home / wanted.name), wanted.package),
        ):
            if subprocess.call([*nice, go, *command], cwd=place) != 0:
                raise Unavailable(f"{wanted.name} {wanted.version} could not be built; see the output of Go above.")
    print(f"chart: {wanted.name} is ready after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def module(name: str, version: str) -> Path:
    """The folder with the sources of a Go module, fetched if necessary.  Raises Unavailable."""
    go = shutil.which("go")
    if go is None:
        raise Unavailable("The schemas are in Go modules, and Go is not installed.")
    asked = subprocess.run(
        [go, "mod", "download", "-json", f"{name}@{version}"], capture_output=True, text=True, check=False
    )
    if asked.returncode != 0:
        raise Unavailable(f"{name} {version} cannot be fetched.")
    return Path(json.loads(asked.stdout)["Dir"])


def main() -> int:
    try:
        if sys.argv[1:] == ["schemas"]:
            homes = [module(*source) for source in chart_schemas.SOURCES]
            for path, text in chart_schemas.schemas(*homes).items():
                path.write_text(text)
            return 0
        prepare()
    except Unavailable as why:
        print(f"chart: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
