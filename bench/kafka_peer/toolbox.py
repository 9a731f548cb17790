"""Dependencies of the bench outside this checkout: built once, kept in the user's cache folder.

    broker/    the jars of Apache Kafka                                      pom.xml, profile broker
    tools/     the jars of its client and of the performance tools           pom.xml, profile tools
    classes/   the transactions of the Java client, compiled against tools/  Transactions.java
    venv/      confluent-kafka, which brings librdkafka                      requirements.txt

A part is built again when its source has changed.  This needs java, javac (17 or newer), mvn, and once the network:
Maven Central and PyPI by their ordinary clients.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.processes import ROOT, BenchFailed

HERE = Path(__file__).resolve().parent
POM, DRIVER, REQUIREMENTS = HERE / "pom.xml", HERE / "Transactions.java", HERE / "requirements.txt"
STAMP = ".made-from"
MAKE_S_MAX = 600.0

# The options of Kafka's own start scripts.
JVM = (
    "java", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
)  # fmt: skip
CLIENT_HEAP = ("-Xmx512M",)


@dataclass(frozen=True)
class Toolbox:
    """The folder of the dependencies, and the commands to start each kind of program."""

    home: Path

    def broker(self, main_class: str, *heap: str) -> list[str]:
        return [*JVM, *heap, "-cp", f"{self.home / 'broker'}/*", main_class]

    def tool(self, main_class: str) -> list[str]:
        return [*JVM, *CLIENT_HEAP, "-cp", f"{self.home / 'tools'}/*", main_class]

    def java_driver(self) -> list[str]:
        return [*JVM, *CLIENT_HEAP, "-cp", f"{self.home / 'classes'}:{self.home / 'tools'}/*", "Transactions"]

    def librdkafka_driver(self) -> list[str]:
        return [str(self.home / "venv" / "bin" / "python"), "-m", "bench.kafka_peer.librdkafka"]


def prepared(say: Callable[[str], None]) -> Toolbox:
    """Returns the toolbox after building missing parts.  Raises BenchFailed."""
    if absent := [name for name in ("java", "javac", "mvn") if shutil.which(name) is None]:
        raise BenchFailed(f"{' and '.join(absent)} missing: install a JDK (17 or newer) and Maven.")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "redis-ledger" / "kafka-peer"
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # concurrent runs build it once
        _make(home / "broker", [POM], lambda folder: _jars("broker", folder), say)
        _make(home / "tools", [POM], lambda folder: _jars("tools", folder), say)
        _make(home / "classes", [POM, DRIVER], _compiled, say)
        _make(home / "venv", [REQUIREMENTS], _environment, say)
    return Toolbox(home)


def _make(folder: Path, sources: list[Path], make: Callable[[Path], None], say: Callable[[str], None]) -> None:
    """Writes the stamp last, so that a partial folder is not used."""
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources) + sys.version.encode()).hexdigest()
    stamp = folder / STAMP
    if stamp.exists() and stamp.read_text() == digest:
        return
    say(f"making {folder.name} in the cache folder")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    make(folder)
    stamp.write_text(digest)


def _jars(profile: str, folder: Path) -> None:
    copy = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    _call(["mvn", "-B", "-q", "-f", str(POM), "-P", profile, *copy])


def _compiled(folder: Path) -> None:
    _call(["javac", "-cp", f"{folder.parent / 'tools'}/*", "-d", str(folder), str(DRIVER)])


def _environment(folder: Path) -> None:
    _call([sys.executable, "-m", "venv", str(folder)])
    _call([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "-r", str(REQUIREMENTS)])


def _call(command: list[str]) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=MAKE_S_MAX)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise BenchFailed(f"{command[0]} failed:\n" + "\n".join(lines[-15:]))
