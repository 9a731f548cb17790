"""Version, locks and generated code fit together."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from scripts import gen_proto, gen_wire, unasync
from tests.tidy.tree import ROOT, shown

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def pins(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / name).read_text()
    return dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", text, re.MULTILINE))


def name_of(requirement: str) -> str:
    return re.split(r"[<>=!~ \[;]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def test_the_changelog_begins_with_the_current_version():
    first = re.search(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert first is not None
    assert first[1] == PROJECT["project"]["version"]


def test_the_locks_pin_every_dependency_with_hashes():
    project, groups = PROJECT["project"], PROJECT["dependency-groups"]
    runtime = [*project["dependencies"], *project["optional-dependencies"]["embedded"], *groups["demo"]]
    demo, dev = pins("demo.lock"), pins("dev.lock")
    assert {name_of(requirement) for requirement in runtime} - demo.keys() == set(), "run: make lock"
    assert {name_of(requirement) for requirement in groups["dev"]} - dev.keys() == set(), "run: make lock"
    spark = [*runtime, *project["optional-dependencies"]["spark"], *groups["spark-env"]]
    assert {name_of(requirement) for requirement in spark} - pins("spark.lock").keys() == set(), "run: make lock"
    extras = [each for name, of in project["optional-dependencies"].items() if name != "spark" for each in of]
    image = {name_of(requirement) for requirement in (*project["dependencies"], *extras)}
    assert image - pins("image.lock").keys() == set(), "run: make lock"
    assert {name_of(requirement) for requirement in groups["demo"]} - pins("build.lock").keys() == set(), (
        "run: make lock"
    )
    assert {name_of(requirement) for requirement in groups["browser"]} - pins("browser.lock").keys() == set(), (
        "run: make lock"
    )
    assert {name_of(requirement) for requirement in groups["site"]} - pins("site.lock").keys() == set(), (
        "run: make lock"
    )
    for lock in ("demo.lock", "dev.lock", "spark.lock", "image.lock", "build.lock", "browser.lock", "site.lock"):
        blocks = re.split(r"\n(?=[a-z0-9])", (ROOT / "requirements" / lock).read_text())[1:]
        assert [block.split("==")[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_the_development_environment_contains_the_demo_environment():
    demo, dev = pins("demo.lock"), pins("dev.lock")
    assert {name: version for name, version in demo.items() if dev.get(name) != version} == {}


def test_sparks_environment_has_the_same_versions_as_the_development_environment():
    spark, dev = pins("spark.lock"), pins("dev.lock")
    assert {name: version for name, version in spark.items() if dev.get(name, version) != version} == {}


@pytest.mark.parametrize("lock", ["image.lock", "build.lock"])
def test_the_image_has_the_same_versions_as_the_development_environment(lock):
    image, dev = pins(lock), pins("dev.lock")
    assert {name: version for name, version in image.items() if dev.get(name, version) != version} == {}


def test_the_image_holds_no_tools_of_development():
    assert pins("image.lock").keys() & {"pytest", "hypothesis", "pyspark", "grpcio-tools", "hatchling", "ruff"} == set()


def test_generated_messages_are_fresh():
    assert [shown(path) for path in gen_proto.stale(gen_proto.generate())] == [], "run: make generate"


def test_the_wire_codec_is_fresh():
    assert [shown(path) for path in gen_wire.stale(gen_wire.generate())] == [], "run: make generate"


def test_the_sync_client_is_fresh(capsys):
    verdict = unasync.main(check=True)
    assert verdict == 0, capsys.readouterr().out


def test_old_python_gets_an_error_message():
    # Given a script that pretends to run on Python 3.9, with no other Python on PATH
    code = "import sys; sys.path.insert(0, 'scripts'); import venv"
    code += "; sys.version_info = (3, 9, 0); sys.argv = ['venv.py', 'dev']; sys.exit(venv.main())"
    # When it is asked for an environment
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={"PATH": ""}, capture_output=True, text=True, check=False
    )
    # Then it refuses in words
    assert ran.returncode == 1
    assert "needs Python 3.11, 3.12 or 3.13" in ran.stderr
