"""The folder of a backup: for each primary the data directory of a Redis server, and what they are parts of.

    folder/                   0700
      backup.json             written last: a folder without it is incomplete
      node-0/appendonlydir/   appendonly.aof.manifest, the snapshot (.base.rdb), the writes after it (.incr.aof)
      node-1/...

Redis reads such a directory at its start, with `appendonly yes`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

FORMAT = 1
INDEX = "backup.json"
BASE, INCREMENT = "appendonly.aof.1.base.rdb", "appendonly.aof.1.incr.aof"
MANIFEST = f"file {BASE} seq 1 type b\nfile {INCREMENT} seq 1 type i\n"


class BackupError(Exception):
    """A backup could not be taken or restored. The message is one sentence for operators."""


class NodeBackup(msgspec.Struct, frozen=True):
    """One primary. offset: of the last write in the backup, in the primary's replication; digests: SHA-256 by file."""

    name: str
    replication_id: str
    offset: int
    digests: dict[str, str]


class Backup(msgspec.Struct, frozen=True):
    """taken_ms: when all nodes were in this state; paused_ms: how long their writes waited; prefix, db: of the keys."""

    format: int
    taken_ms: int
    prefix: str
    db: int
    paused_ms: float
    nodes: list[NodeBackup]


def create(folder: Path, nodes: int) -> list[Path]:
    """The directories of the append-only files of each node. Raises BackupError."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.listdir(folder):
            raise BackupError(f"{folder} is not empty: name a new folder.")
        folder.chmod(0o700)
        places = [append_only(folder, number) for number in range(nodes)]
        for place in places:
            place.mkdir(mode=0o700, parents=True)
            (place / "appendonly.aof.manifest").write_text(MANIFEST)
    except OSError as error:
        raise BackupError(f"{folder} cannot be written: {error.strerror}.") from error
    return places


def append_only(folder: Path, number: int) -> Path:
    return folder / f"node-{number}" / "appendonlydir"


def opened(path: Path) -> BinaryIO:
    """A new file, for writing."""
    return open(path, "wb")


def digests(place: Path) -> dict[str, str]:
    found = dict[str, str]()
    for name in (BASE, INCREMENT):
        with open(place / name, "rb") as file:
            os.fsync(file.fileno())
            found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def write_index(folder: Path, backup: Backup) -> None:
    fresh = folder / f"{INDEX}.new"
    with open(fresh, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(backup)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(folder / INDEX)


def read_index(folder: Path) -> Backup:
    """Raises BackupError."""
    try:
        backup = msgspec.json.decode((folder / INDEX).read_bytes(), type=Backup)
    except FileNotFoundError:
        raise BackupError(f"{folder} has no {INDEX}: it is no backup, or one that was not completed.") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise BackupError(f"{folder / INDEX} cannot be read: {error}.") from error
    if backup.format != FORMAT:
        raise BackupError(f"{folder} has format {backup.format}, and this redis-ledger reads {FORMAT}.")
    return backup


def damaged(folder: Path, backup: Backup) -> Iterator[Path]:
    """The files that differ from those that were written. Reads all of them."""
    for number, node in enumerate(backup.nodes):
        place = append_only(folder, number)
        for name, digest in node.digests.items():
            try:
                with open(place / name, "rb") as file:
                    if hashlib.file_digest(file, "sha256").hexdigest() == digest:
                        continue
            except OSError:
                pass
            yield place / name
