"""The wheel installs one top-level package: a project with an `app` package of its own keeps working beside it."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import httpx
import pytest

from tests.support.processes import Release, Serve
from tests.support.wheel import Environment, build, project

THEIRS = "WHOSE = 'theirs'\n"
NO_PATHS = {"PYTHONPATH": ""}  # a checkout on it would be found before what is installed


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("dist"))


def test_the_wheel_has_one_top_level_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"redis_ledger"}
    for needed in (
        "app/entry.py",
        "app/console/templates/base.html",
        "_lua/ledger/append.lua",
        "_lua/.prepared.cache",
        "_proto",
    ):
        assert any(name.startswith(f"redis_ledger/{needed}") for name in names), needed
    assert len(names) == len(set(names)), "a file is in the wheel twice"


@pytest.mark.parametrize(
    "ours_first", [True, pytest.param(False, marks=pytest.mark.full)], ids=["ours_first", "theirs_first"]
)
def test_serve_runs_beside_a_project_with_an_app_package(wheel: Path, tmp_path: Path, ours_first: bool) -> None:
    environment = Environment(tmp_path / "venv")
    theirs = project(tmp_path, "app", THEIRS)
    for one in (wheel, theirs) if ours_first else (theirs, wheel):
        environment.install(one)

    def whose() -> str:
        asked = [str(environment.python), "-c", "import app.entry; print(app.entry.WHOSE)"]
        return subprocess.check_output(asked, cwd=tmp_path, env=NO_PATHS, text=True).strip()

    assert whose() == "theirs"
    serves_and_stops(environment, tmp_path)
    if ours_first:
        environment.uninstall("their-app")
        serves_and_stops(environment, tmp_path)
    else:
        environment.uninstall("redis-ledger")
        assert whose() == "theirs"


def serves_and_stops(environment: Environment, folder: Path) -> None:
    """Runs `serve` of the environment until it is ready, then stops it.  folder: its current directory."""
    release = Release(folder, environment.python)
    serve = Serve("--data-dir", folder / "data", "--durability", "process", environ=NO_PATHS, release=release)
    try:
        assert httpx.get(f"{serve.urls[0]}/readyz", trust_env=False).status_code == 200
        assert serve.terminate() == 0
    finally:
        serve.clean_up()
