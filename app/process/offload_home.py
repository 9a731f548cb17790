"""The home of history in Parquet (offload_home), as whoever starts a broker finds it.

serve     refuses one that no file could be read from: no pyarrow, no such kind of place
doctor    looks whether it is there, and whether what is written comes back
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Literal, NamedTuple

from redis_ledger.app.process.startup_error import Refusal
from redis_ledger.errors import LedgerError

if TYPE_CHECKING:
    from redis_ledger.offload.object_store import ObjectStore


class Seen(NamedTuple):
    level: Literal["fine", "warning", "problem"]
    seen: str
    cure: str = ""


def absolute(home: str) -> str:
    """A folder that was given relative to where the command runs; a URI stays as it is."""
    return home if not home or "://" in home else os.path.abspath(home)


def opened(uri: str) -> ObjectStore:
    """Raises Refusal where history in Parquet could not be read."""
    try:
        from redis_ledger.offload.object_store import open_home

        return open_home(uri)
    except ImportError as missing:
        raise Refusal(str(missing)) from missing
    except LedgerError as error:
        raise Refusal(error.detail) from error


def look(uri: str) -> Seen:
    """Leaves it as it was: a small file is written and deleted again."""
    try:
        home = opened(uri)
    except Refusal as refusal:
        cure = "Install it." if isinstance(refusal.__cause__, ImportError) else "Correct offload_home."
        return Seen("problem", str(refusal), cure)
    try:
        if not home.exists():
            cure = "Mount it, if there is history already; else the first job makes it."
            return Seen("warning", f"{uri} is not there", cure)
        home.folders()
    except OSError as error:
        return Seen("problem", f"{uri} cannot be read: {error}", "Until it can, readers of history are refused.")
    trial, content = f"_tmp-doctor-{secrets.token_hex(6)}", b"redis-ledger doctor"
    try:
        home.put(trial, content)
        came_back = home.read(trial)
        home.delete(trial)
    except OSError as error:
        cure = "Let this user write there: brokers delete what retention takes. Till then the next offload job does."
        return Seen("warning", f"{uri} can be read, not written: {error}", cure)
    if came_back != content:
        return Seen("problem", f"{uri} does not give back what was written there", "Look at what is mounted there.")
    return Seen("fine", f"{uri} can be read and written")
