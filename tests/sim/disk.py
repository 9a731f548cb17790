"""The disk of a Redis server that may be full or slow: a library in C, preloaded into the server, asks a file.

    disk = Disk(folder)
    Server(folder, environ=disk.environ, ...)
    disk.is_full = True           write() to a file fails with ENOSPC
    disk.sync_ms = 100            fsync() and fdatasync() take so much longer

Needs a C compiler, and a server that is linked dynamically; `left_out` says why there is none.
"""

from __future__ import annotations

import functools
import mmap
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

SOURCE = Path(__file__).with_name("slow_disk.c")
NUMBER = struct.Struct("<q")
NUMBERS = 3
NO_COMPILER = "there is no C compiler (cc): disks are neither full nor slow"


@functools.cache
def library() -> Path | None:
    """Builds it once; None without a compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    built = Path(tempfile.gettempdir()) / f"redis-ledger-sim-disk-{os.getuid()}-{SOURCE.stat().st_mtime_ns}.so"
    if not built.exists():
        fresh = built.with_suffix(f".{os.getpid()}")
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(fresh), str(SOURCE)]
        subprocess.run(command, check=True, capture_output=True)
        fresh.rename(built)
    return built


class Disk:
    def __init__(self, folder: Path) -> None:
        self._path = folder / "disk"
        self._path.write_bytes(bytes(NUMBER.size * NUMBERS))
        with self._path.open("r+b") as file:
            self._numbers = mmap.mmap(file.fileno(), NUMBER.size * NUMBERS)

    @property
    def environ(self) -> Mapping[str, str]:
        built = library()
        return {"LD_PRELOAD": str(built), "REDIS_LEDGER_SIM_DISK": str(self._path)} if built else {}

    @property
    def is_ours(self) -> bool:
        """Whether the server has loaded the library."""
        return bool(self._get(0))

    @property
    def is_full(self) -> bool:
        return bool(self._get(1))

    @is_full.setter
    def is_full(self, value: bool) -> None:
        self._put(1, int(value))

    @property
    def sync_ms(self) -> int:
        return self._get(2)

    @sync_ms.setter
    def sync_ms(self, value: int) -> None:
        self._put(2, value)

    def _get(self, at: int) -> int:
        number: int = NUMBER.unpack_from(self._numbers, at * NUMBER.size)[0]
        return number

    def _put(self, at: int, value: int) -> None:
        NUMBER.pack_into(self._numbers, at * NUMBER.size, value)
