"""Disk problems of the embedded server: why it died, and whether it can write again.

With `appendfsync always` a server exits if it cannot write its append-only file, because it could not keep what it
acknowledges.  The reason is in its log, unless the log is on the same full disk; so a test file is written as well.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

LOG_BYTES_MAX = 8_192
PROBE_BYTES = 1 << 20
_REASON = re.compile(
    r"No space left on device|Disk quota exceeded|Read-only file system|Input/output error|File too large"
)
_CURES = {
    "No space left on device": "free space there",
    "Disk quota exceeded": "free space there, or raise the quota",
    "Read-only file system": "make it writable again",
    "File too large": "raise the limit of file sizes (ulimit -f)",
}


def trouble(data_dir: Path, log_from: int) -> str:
    """Returns the problem of the disk as a sentence; "" if there is none.  log_from: offset in the server's log."""
    reason = _logged(data_dir, log_from) or unwritable(data_dir)
    if not reason:
        return ""
    cure = _CURES.get(reason, "check the disk")
    return (
        f"The embedded server cannot write to {data_dir}: {reason}. Writes are refused; {cure}, and they go on by "
        "themselves."
    )


def _logged(data_dir: Path, log_from: int) -> str:
    try:
        with open(data_dir / "redis.log", "rb") as log:
            log.seek(max(log_from, log.seek(0, os.SEEK_END) - LOG_BYTES_MAX))
            found = _REASON.findall(log.read().decode(errors="replace"))
    except OSError:
        return ""
    return found[-1] if found else ""


def log_size(data_dir: Path) -> int:
    try:
        return (data_dir / "redis.log").stat().st_size
    except OSError:
        return 0


def unwritable(data_dir: Path) -> str:
    """Returns why a file of PROBE_BYTES cannot be written there; "" if it can.  Deletes the file."""
    path = data_dir / f"probe-{os.getpid()}"
    try:
        with open(path, "wb") as probe:
            probe.write(b"\0" * PROBE_BYTES)
            probe.flush()
            os.fsync(probe.fileno())
    except OSError as error:
        return error.strerror or str(error)
    finally:
        path.unlink(missing_ok=True)
    return ""


def replace(path: Path, text: str) -> None:
    """Writes the file atomically: a truncated configuration would start a server without persistence.

    Raises OSError.
    """
    new = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with open(os.open(new, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
