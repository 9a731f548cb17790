"""The wheel of this checkout, and environments to install wheels into.  Nothing comes from the network."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from tests.support.processes import ROOT


def build(folder: Path) -> Path:
    """Builds the wheel into folder."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", str(folder)]
    subprocess.run([*command, str(ROOT)], check=True, cwd=folder)
    (wheel,) = folder.glob("redis_ledger-*.whl")
    return wheel


def project(folder: Path, package: str, source: str) -> Path:
    """A wheel of another project, with one package whose __init__.py and entry.py hold source."""
    wheel = folder / f"their_{package}-1.0-py3-none-any.whl"
    info = f"their_{package}-1.0.dist-info"
    files = {
        f"{package}/__init__.py": source,
        f"{package}/entry.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: their-{package}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return wheel


class Environment:
    """A virtual environment that borrows the packages of this one, but not this checkout."""

    def __init__(self, home: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
        self.bin = home / "bin"
        self.python = self.bin / "python"
        asked = [str(self.python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        self.packages = Path(subprocess.check_output(asked, text=True).strip())
        # A .pth file only adds the folder: the .pth file there that names this checkout is not read.
        (self.packages / "borrowed.pth").write_text(sysconfig.get_path("purelib"))

    def install(self, *wheels: Path) -> None:
        self._pip("install", "--no-deps", "--no-index", *map(str, wheels))

    def uninstall(self, name: str) -> None:
        self._pip("uninstall", "--yes", name)

    def _pip(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "pip", "--quiet", "--python", str(self.python), *arguments]
        subprocess.run(command, check=True, cwd=self.bin)
