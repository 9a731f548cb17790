"""`redis-ledger backup` and `redis-ledger restore`: all data in Redis, as one state, in a folder."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redis_ledger.app.cli import serve_options
from redis_ledger.app.cli.output import counted, document, reporting
from redis_ledger.app.cli.redis_access import DataDir, Redis, Set, opened_store
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.telemetry import logs
from redis_ledger.terminal import one_line

if TYPE_CHECKING:
    from redis_ledger.backup.layout import Backup

PAUSE_MS_MAX = 1_000

JsonReport = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the backup.")]


def backup(
    folder: Folder,
    pause_ms_max: Annotated[
        int, typer.Option(min=10, max=60_000, help="Longest time for which writes wait at each attempt to cut.")
    ] = PAUSE_MS_MAX,
    data_dir: DataDir = serve_options.DATA_DIR,
    redis: Redis = None,
    set_: Set = None,
    json_: JsonReport = False,
) -> None:
    """Write all data of a running Redis, as one state, to a folder.

    Brokers may go on. Their writes wait for some milliseconds at the end.
    """
    logs.configure("error")
    with reporting(json_), _as_command_error():
        found = asyncio.run(_backup(folder, pause_ms_max, data_dir, redis, set_ or []))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if json_:
        document({"nodes": len(found.nodes), "bytes": size, "taken_ms": found.taken_ms, "paused_ms": found.paused_ms})
        return
    typer.echo(
        f"Backup of {counted(len(found.nodes), 'node')} in {folder}: {size / 1e6:,.1f} MB. "
        f"Writes waited for {found.paused_ms:,.0f} ms."
    )


def restore(
    folder: Folder,
    data_dir: DataDir = serve_options.DATA_DIR,
    redis: Redis = None,
    set_: Set = None,
    json_: JsonReport = False,
) -> None:
    """Write a backup to an empty Redis, of any number of nodes.

    Start brokers when it is done.
    """
    logs.configure("error")
    with reporting(json_), _as_command_error():
        keys, size = asyncio.run(_restore(folder, data_dir, redis, set_ or []))
    if json_:
        document({"keys": keys, "bytes": size})
        return
    typer.echo(
        f"Restored {counted(keys, 'key')}, {size / 1e6:,.1f} MB. "
        "Run `redis-ledger fsck --full` before you start brokers."
    )


async def _backup(folder: Path, pause_ms_max: int, data_dir: Path, redis: str | None, settings: list[str]) -> Backup:
    from redis_ledger.backup.taking import take
    from redis_ledger.clock import SystemClock

    async with opened_store(data_dir, redis, settings) as (store, _):
        return await take(store, folder, SystemClock(), pause_ms_max=pause_ms_max, say=_say)


async def _restore(folder: Path, data_dir: Path, redis: str | None, settings: list[str]) -> tuple[int, int]:
    """Returns the number of keys and of bytes."""
    from redis_ledger.app.embedded_redis.backup_server import backup_server
    from redis_ledger.backup import layout
    from redis_ledger.backup.restoring import Restoring, check_empty
    from redis_ledger.store.address import Address

    found = await asyncio.to_thread(layout.read_index, folder)
    if damaged := await asyncio.to_thread(lambda: list(layout.damaged(folder, found))):
        raise CommandError(f"{damaged[0]} is damaged: it differs from what the backup wrote. Use another backup.")
    prefix = f"prefix={found.prefix}"
    async with opened_store(data_dir, redis, [prefix, *settings], awaits_replicas=True) as (store, _):
        store.admission.serve_any()
        if store.prefix != found.prefix:
            raise CommandError(f"The backup has the prefix {found.prefix!r}, and --set says {store.prefix!r}.")
        await check_empty(store)
        restoring = Restoring(store, found.prefix)
        for number, node in enumerate(found.nodes):
            _say(f"restoring {node.name}")
            server = backup_server(layout.append_only(folder, number))
            socket = await asyncio.to_thread(server.__enter__)
            try:
                await restoring.copy(Address(path=str(socket), db=found.db))
            finally:
                await asyncio.to_thread(server.__exit__, None, None, None)
        await restoring.finish()
        return restoring.keys, restoring.bytes


@contextlib.contextmanager
def _as_command_error() -> Iterator[None]:
    from redis_ledger.backup.layout import BackupError

    try:
        yield
    except BackupError as error:
        raise CommandError(str(error)) from error


def _say(sentence: str, **facts: Any) -> None:
    if sys.stderr.isatty():
        typer.echo(one_line(sentence), err=True)
