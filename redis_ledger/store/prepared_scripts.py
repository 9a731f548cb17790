"""Prepared scripts: the pruned sources of all scripts and their libraries, kept in a file beside the Lua sources.

    lua/**/*.lua ─┐                                       equal    ─▶ used
    code ─────────┴─▶ digest ──▶ lua/.prepared.cache ─┤
                                                      other, none ─▶ prepared again, and written

Preparing them takes half a second of CPU time, and every broker and every test worker needs them when it starts.  The
file is a cache like `__pycache__`: a process that finds no valid one prepares the scripts itself and writes the file,
so an edit of a Lua file takes effect at the next start, without another step.  Git ignores it: a file under version
control would have to be generated after every edit.  A wheel has it (hatch_build.py), since installed folders are often
read-only; without it, a process that cannot write there prepares the scripts at each start.

The first line is a digest of the Lua sources, of the code that prepares them, and of the rest of the file.  A file that
is stale, truncated or damaged has another digest and is ignored.  Its content is data and never executed as Python;
protection from people who can write to the folder is not a purpose, since they can change the Lua sources as well.
Writers rename a complete file into place, so a reader finds a whole file, and the last writer wins.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from redis_ledger.store.function_library import Library

FILE = ".prepared.cache"
CODE = ("function_library", "hoisting", "prepared_scripts", "pruning", "scripts")  # modules of this package
_MODE = 0o644  # other users may start brokers, too
_log = logging.getLogger("redis_ledger.store")


class Prepared(NamedTuple):
    """sources: pruned, by name of the script.  libraries: by folder of lua/."""

    sources: Mapping[str, bytes]
    libraries: Mapping[str, Library]


def code() -> bytes:
    """Returns the source of the code that prepares scripts; empty if it is not installed as files."""
    try:
        return b"".join(Path(__file__).with_name(f"{name}.py").read_bytes() for name in CODE)
    except OSError:
        return b""


# Read when the code is loaded, so that a process does not label the work of its code with an edit that came later.
_CODE = code()


def cached(
    root: Path, files: Mapping[str, bytes], prepare: Callable[[Mapping[str, bytes]], Prepared], code: bytes = _CODE
) -> Prepared:
    """Returns the prepared scripts from the file in root if it is valid, or else prepares them and writes it.

    files  the Lua sources by name, includes too
    code   source of the code that prepares; if it is empty, the file is not used
    """
    if not code:
        return prepare(files)
    path, key = root / FILE, _key(files, code)
    found = _read(path, key)
    if found is None:
        found = prepare(files)
        try:
            _write(path, key, found)
        except OSError as error:
            _log.debug("prepared scripts are not kept in %s: %s", path, error.strerror)
    return found


def _key(files: Mapping[str, bytes], code: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in (code, *(part for name in sorted(files) for part in (name.encode(), files[name]))):
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


def _digest(key: bytes, body: bytes) -> bytes:
    return hashlib.sha256(key + body).hexdigest().encode()


def _read(path: Path, key: bytes) -> Prepared | None:
    try:
        digest, _, body = path.read_bytes().partition(b"\n")
    except OSError:
        return None
    return _decode(body) if digest == _digest(key, body) else None


def _write(path: Path, key: bytes, prepared: Prepared) -> None:
    """Raises OSError."""
    body = _encode(prepared)
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(_digest(key, body) + b"\n" + body)
            os.fchmod(descriptor, _MODE)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


# JSON has no bytes: each byte is the character of its number (Latin-1).


def _encode(prepared: Prepared) -> bytes:
    sources = {name: source.decode("latin-1") for name, source in prepared.sources.items()}
    libraries = {
        folder: {
            "name": library.name.decode("latin-1"),
            "source": library.source.decode("latin-1"),
            "functions": {script: function.decode("latin-1") for script, function in library.functions.items()},
        }
        for folder, library in prepared.libraries.items()
    }
    return json.dumps({"sources": sources, "libraries": libraries}).encode()


def _decode(body: bytes) -> Prepared:
    content = json.loads(body)
    sources = {name: source.encode("latin-1") for name, source in content["sources"].items()}
    libraries = {
        folder: Library(
            library["name"].encode("latin-1"),
            library["source"].encode("latin-1"),
            {script: function.encode("latin-1") for script, function in library["functions"].items()},
        )
        for folder, library in content["libraries"].items()
    }
    return Prepared(sources, libraries)
