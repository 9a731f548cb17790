"""Calls of scripts by tests, and scripts of a test in a library of their own, as the store has those of lua/."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from redis.exceptions import NoScriptError, ResponseError

from redis_ledger.store.function_library import Library, build
from redis_ledger.store.scripts import Script


def functions(**sources: bytes) -> tuple[Script, ...]:
    """name → source of a script test/<name>, in the order given."""
    scripts = {f"test/{name}": source for name, source in sources.items()}
    library = build("test", scripts)
    return tuple(Script(name, source, library.functions[name]) for name, source in scripts.items())


def replace_scripts(monkeypatch: pytest.MonkeyPatch, *scripts: Script) -> None:
    """The store knows these scripts instead of those in lua/."""
    libraries: tuple[Library, ...] = ()
    if scripts:
        libraries = (build("test", {script.name: script.source for script in scripts}),)
    monkeypatch.setattr(Script, "all", lambda: scripts)
    monkeypatch.setattr(Script, "libraries", lambda: libraries)


def call_of(client: Any, script: Script, keys: Sequence[bytes], args: Sequence[Any]) -> tuple[Any, ...]:
    """The command that calls a loaded script: by EVALSHA if the client has `calls_by_sha`.  It has no deadline."""
    if script.is_timed:
        args = (*args, b"")
    if script.function and not getattr(client, "calls_by_sha", False):
        return ("FCALL", script.function, len(keys), *keys, *args)
    return ("EVALSHA", script.sha, len(keys), *keys, *args)


def run_script(client: Any, script: Script, keys: Sequence[bytes], args: Sequence[Any]) -> Any:
    """Loads it first if the server lacks it."""
    try:
        return client.execute_command(*call_of(client, script, keys, args))
    except ResponseError as error:
        if not isinstance(error, NoScriptError) and "Function not found" not in str(error):
            raise
        load(client, script)
        return client.execute_command(*call_of(client, script, keys, args))


def load_once(client: Any, script: Script) -> None:
    """So that a MULTI may call it.  Cost: one round trip if the server has it."""
    libraries = client.execute_command("FUNCTION", "LIST", "LIBRARYNAME", "redis_ledger_*")
    if script.function not in str(libraries).encode() or getattr(client, "calls_by_sha", False):
        load(client, script)


def load(client: Any, script: Script) -> None:
    client.script_load(script.source)
    for library in Script.libraries():
        if script.function in library.functions.values():
            client.function_load(library.source, replace=True)
