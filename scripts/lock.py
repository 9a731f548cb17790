"""Writes requirements/*.lock from pyproject.toml: exact versions with hashes, for every supported Python and platform.

    .venv/bin/python scripts/lock.py [--upgrade]

Needs `uv` (pip install uv); the result is installed by plain pip.  demo.lock and spark.lock are resolved under
dev.lock, so that what they share with it has one version.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "requirements"
NOTE = "# {purpose}\n# Written by `make lock` from pyproject.toml; do not edit.\n"
LOCKS = {
    "dev": ("Everything: runtime, embedded server, tests and tools.", ["--group", "demo", "--group", "dev"]),
    "demo": (
        "Runtime and embedded server: what `make demo` installs.",
        ["--group", "demo", "--constraint", "requirements/dev.lock"],
    ),
    "spark": (
        "Runtime, embedded server, Spark and its tests: what `make spark` installs beside .venv.",
        ["--extra", "spark", "--group", "demo", "--group", "spark-env", "--constraint", "requirements/dev.lock"],
    ),
}


def main() -> int:
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        print("make lock needs uv: .venv/bin/pip install uv", file=sys.stderr)
        return 1
    for name, (purpose, groups) in LOCKS.items():
        target = OUT / f"{name}.lock"
        command = [uv, "pip", "compile", "pyproject.toml", "--extra", "embedded", *groups]
        command += ["--universal", "--python-version", "3.11", "--generate-hashes", "--quiet", "--no-header"]
        command += ["--no-emit-index-url", "--no-emit-find-links", "--output-file", str(target), *sys.argv[1:]]
        subprocess.run([*command, "--no-annotate"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        target.write_text(NOTE.format(purpose=purpose) + target.read_text())
        print(f"wrote {target.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
