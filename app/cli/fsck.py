"""`redis-ledger fsck`: compares the indexes in Redis with the logs, and repairs them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from redis_ledger.app.cli import serve_options
from redis_ledger.app.cli.output import counted, document, reporting
from redis_ledger.app.cli.redis_access import DataDir, Redis, Set, opened_store
from redis_ledger.telemetry import logs
from redis_ledger.terminal import one_line

if TYPE_CHECKING:
    from redis_ledger.fsck.finding import Finding
    from redis_ledger.fsck.service import Report

FOUND, COULD_NOT = 1, 2


def fsck(
    topic: Annotated[str | None, typer.Argument(metavar="TOPIC", help="Only this topic.")] = None,
    repair: Annotated[bool, typer.Option("--repair", help="Rebuild what can be rebuilt.")] = False,
    delete: Annotated[
        list[str] | None,
        typer.Option("--delete", metavar="KEY", help="Delete this key, which the report names; can be repeated."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Read logs and payload from the beginning, not from snapshots.")
    ] = False,
    data_dir: DataDir = serve_options.DATA_DIR,
    redis: Redis = None,
    set_: Set = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Compare the indexes in Redis with the logs, and repair them.

    Reads the log of a partition with transactions from its snapshot on, unless --full is given; else everything that is
    stored. Brokers may go on meanwhile.

    Exit code 0: no difference, or all of them are repaired. 1: differences are left. 2: the check could not be done.
    """
    logs.configure("error")
    with _as_could_not(), reporting(json_):
        report = asyncio.run(_run(topic, repair, full, delete or [], data_dir, redis, set_ or [], _progress(json_)))
    if json_:
        document(to_body(report))
    else:
        _print(report, repair)
    sys.exit(FOUND if report.left else 0)


async def _run(
    topic: str | None,
    repair: bool,
    full: bool,
    delete: Sequence[str],
    data_dir: Path,
    redis: str | None,
    settings: list[str],
    on_subject: Callable[[str, int, int], None],
) -> Report:
    from redis_ledger.clock import RedisClock
    from redis_ledger.fsck.service import Fsck
    from redis_ledger.store.redis_time import read_time

    async with opened_store(data_dir, redis, settings) as (store, config):
        fsck = Fsck(store, config, await read_time(store, RedisClock()), on_subject)
        return await fsck.run(topic, repair=repair, delete=delete, full=full)


@contextlib.contextmanager
def _as_could_not() -> Any:
    """Every error means that the check could not be done."""
    try:
        yield
    except typer.Exit as error:
        raise typer.Exit(COULD_NOT if error.exit_code == FOUND else error.exit_code) from None


def _progress(is_json: bool) -> Callable[[str, int, int], None]:
    if is_json or not sys.stderr.isatty() or "NO_PROGRESS" in os.environ:
        return lambda name, number, count: None

    def show(name: str, number: int, count: int) -> None:
        sys.stderr.write(f"\r\x1b[K{number}/{count} {one_line(name)}")
        if number == count:
            sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()

    return show


def sentences(finding: Finding) -> str:
    """What differs, where, and what it means."""
    from redis_ledger.fsck.kinds import KINDS

    return f"{finding.where}: {finding.detail} {KINDS[finding.kind].meaning}"


def _print(report: Report, has_repaired: bool) -> None:
    from redis_ledger.fsck.kinds import KINDS

    _list("Repaired:", report.repaired)
    for finding in report.left:
        advice = KINDS[finding.kind].repair
        if finding.repair is None or not advice:
            rest = "It cannot be rebuilt."
        elif has_repaired:
            rest = "It could not be repaired now; try again."
        else:
            rest = f"--repair {advice}."
        typer.echo(one_line(f"{sentences(finding)} {rest}"))
        typer.echo(f"    key {one_line(finding.key)}")
    for use in report.snapshots:
        if use.reason:
            typer.echo(one_line(f"{use.where}: The whole log was read; the snapshot is not used: {use.reason}."))
    summary = "No difference." if not report.left else f"{counted(len(report.left), 'difference')}."
    if report.repaired:
        summary = f"{counted(len(report.repaired), 'difference')} repaired; {len(report.left)} left."
    typer.echo(
        f"{summary} Checked {counted(report.subjects, 'part')}, {report.bytes / 1e6:,.1f} MB in "
        f"{report.seconds:.1f} s: {report.mb_per_s:,.1f} MB/s."
    )
    used = sum(use.position >= 0 for use in report.snapshots)
    if used:
        typer.echo(f"The log of {counted(used, 'partition')} was read from a snapshot on; --full reads all of it.")


def _list(title: str, findings: Sequence[Finding]) -> None:
    if findings:
        typer.echo(title)
    for finding in findings:
        typer.echo(one_line(f"    {finding.where}: {finding.detail}"))


def to_body(report: Report) -> dict[str, Any]:
    """The report as JSON: docs/howto/operate.md."""

    def body(finding: Finding, state: str) -> dict[str, Any]:
        return {
            "kind": finding.kind, "where": finding.where, "key": finding.key, "item": finding.item,
            "detail": finding.detail, "repairable": finding.repair is not None, "state": state,
        }  # fmt: skip

    findings = [body(finding, "repaired") for finding in report.repaired]
    findings += [body(finding, "left") for finding in report.left]
    return {
        "clean": not report.left, "findings": findings, "snapshots": [use._asdict() for use in report.snapshots],
        "parts": report.subjects, "bytes": report.bytes, "seconds": round(report.seconds, 3),
        "mb_per_s": round(report.mb_per_s, 1),
    }  # fmt: skip
