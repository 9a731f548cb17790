"""Checks of the offload home.

serve     fails without pyarrow or with an unsupported URI
doctor    checks that it exists and that files can be written and read
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Literal, NamedTuple

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.errors import LedgerError

if TYPE_CHECKING:
    from redis_ledger.offload.object_store import ObjectStore


class HomeStatus(NamedTuple):
    level: Literal["fine", "warning", "problem"]
    seen: str
    cure: str = ""


def absolute(home: str) -> str:
    """The absolute path of a folder; URIs are returned unchanged."""
    return home if not home or "://" in home else os.path.abspath(home)


def opened(uri: str) -> ObjectStore:
    """Raises CommandError if the home cannot be used."""
    try:
        from redis_ledger.offload.object_store import open_home

        return open_home(uri)
    except ImportError as missing:
        raise CommandError(str(missing)) from missing
    except LedgerError as error:
        raise CommandError(error.detail) from error


def look(uri: str) -> HomeStatus:
    """Checks the home; writes and deletes a small file."""
    try:
        home = opened(uri)
    except CommandError as refusal:
        cure = "Install it." if isinstance(refusal.__cause__, ImportError) else "Correct offload_home."
        return HomeStatus("problem", str(refusal), cure)
    try:
        if not home.exists():
            cure = "Mount it if it has data; otherwise the first job creates it."
            return HomeStatus("warning", f"{uri} does not exist", cure)
        home.folders()
    except OSError as error:
        return HomeStatus(
            "problem", f"{uri} cannot be read: {error}", "Reads of offloaded records fail until it can be read."
        )
    trial, content = f"_tmp-doctor-{secrets.token_hex(6)}", b"redis-ledger doctor"
    try:
        home.put(trial, content)
        came_back = home.read(trial)
        home.delete(trial)
    except OSError as error:
        cure = "Grant write permission: brokers delete expired files. Otherwise the next offload job does."
        return HomeStatus("warning", f"{uri} is not writable: {error}", cure)
    if came_back != content:
        return HomeStatus("problem", f"{uri} returned different data than was written", "Check what is mounted there.")
    return HomeStatus("fine", f"{uri} is readable and writable")
