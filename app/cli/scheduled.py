"""`redis-ledger scheduled`: create, list, get, cancel, reschedule, clear, stats, histogram, rebuild."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any

import typer

from redis_ledger.app.cli.consume import readable, to_members
from redis_ledger.app.cli.output import (
    FAILED,
    URL,
    DeliverAfter,
    DeliverAt,
    Json,
    Url,
    confirm,
    connected,
    counted,
    document,
    group,
    moment,
    reporting,
    table,
    timed,
)
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.client.models import Bin, DelayStats, RecordPosition, ScheduledRecord

scheduled = group("Create, list, reschedule and cancel scheduled records.")

VALUE_SHOWN = 40  # characters of a value in a table
BAR = 40  # characters of the longest bar of a histogram
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1))
_OUTCOMES = {"already_delivered": "already delivered", "unknown": "unknown"}

Topic = Annotated[str, typer.Argument(metavar="TOPIC")]
Id = Annotated[str, typer.Argument(metavar="ID", help="For example 0:17.0.")]
Partition = Annotated[int | None, typer.Option(min=0, help="Only this partition.")]
From = Annotated[str | None, typer.Option("--from", metavar="TIME", help="Due at or after: ISO 8601, or ms.")]
To = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Due before: ISO 8601, or ms.")]


@scheduled.command()
def create(
    topic: Topic,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="The record's value.")],
    key: Annotated[str | None, typer.Option()] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="Partition, regardless of the key.")] = None,
    deliver_at: DeliverAt = None,
    deliver_after: DeliverAfter = None,
    repeat: Annotated[
        str | None, typer.Option(metavar="WHEN", help="PT1H, or a cron expression such as '30 7 * * MON'.")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="End of the repetition.")] = None,
    times: Annotated[int | None, typer.Option(min=1, help="Number of deliveries, including the first.")] = None,
    timezone: Annotated[
        str | None, typer.Option(metavar="NAME", help="Time zone of the cron expression; default: UTC.")
    ] = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Schedule one record; for many use `produce --deliver-at`."""
    with reporting(json):
        at_ms, after_ms = timed(deliver_at, deliver_after)
        until_ms = moment(until, "--until")
        if at_ms is None and after_ms is None and repeat is None:
            raise CommandError("Give --deliver-at, --deliver-after or --repeat.")
    with connected(url, json) as client:
        position = client.scheduled.schedule(
            topic, value, key=key, partition=partition, deliver_at=at_ms, deliver_after=after_ms, repeat=repeat,
            until=until_ms, times=times, timezone=timezone,
        )  # fmt: skip
        _tell(position, json)


@scheduled.command("list")
def list_(
    topic: Topic,
    from_: From = None,
    to: To = None,
    key: Annotated[str | None, typer.Option(help="Only records with this key.")] = None,
    partition: Partition = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of records.")] = 100,
    url: Url = URL,
    json: Json = False,
) -> None:
    """List scheduled records by due time."""
    with reporting(json):
        begin, end = moment(from_, "--from"), moment(to, "--to")
    with connected(url, json) as client:
        page = min(limit, 500)
        found = client.scheduled.list(topic, from_=begin, to=end, key=key, partition=partition, page_records=page)
        if json:
            for record in islice(found, limit):
                document(_print_record(record))
            return
        rows = [
            (r.id, _time(r.deliver_at_ms), _ahead(r.deliver_at_ms), readable(r.key), _short(r.value), r.repeat or "")
            for r in islice(found, limit)
        ]
        table(["id", "due", "in", "key", "value", "repeat"], rows)


@scheduled.command()
def get(topic: Topic, id: Id, url: Url = URL, json: Json = False) -> None:
    """Show a scheduled record."""
    with connected(url, json) as client:
        found = client.scheduled.get(topic, id)
        if json:
            document(_print_record(found))
            return
        typer.echo(f"{found.id}  due {_time(found.deliver_at_ms)}  in {_ahead(found.deliver_at_ms)}")
        rows = [("key", readable(found.key))] if found.key is not None else []
        rows += [("value", "(none)" if found.value is None else readable(found.value))]
        rows += [(f"header {name}", readable(held)) for name, held in found.all_headers]
        if found.repeat is not None:
            rows.append(("repeat", _repetition(found)))
        table(["member", "content"], rows)


@scheduled.command()
def cancel(
    topic: Topic,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="For example 0:17.0.")],
    url: Url = URL,
    json: Json = False,
) -> None:
    """Cancel records. Exit code 1: a record is already delivered or unknown."""
    with connected(url, json) as client:
        outcomes = client.scheduled.cancel_many(topic, ids)
        for each in outcomes:
            if json:
                document(each)
            else:
                typer.echo(f"{each.id}: {_OUTCOMES.get(each.outcome, each.outcome)}")
        if any(each.outcome != "cancelled" for each in outcomes):
            raise typer.Exit(FAILED)


@scheduled.command()
def reschedule(
    topic: Topic,
    id: Id,
    deliver_at: DeliverAt = None,
    deliver_after: DeliverAfter = None,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Change the delivery time of a record; its id stays."""
    with reporting(json):
        at_ms, after_ms = timed(deliver_at, deliver_after)
        if at_ms is None and after_ms is None:
            raise CommandError("Give --deliver-at or --deliver-after.")
    with connected(url, json) as client:
        _tell(client.scheduled.reschedule(topic, id, deliver_at=at_ms, deliver_after=after_ms), json)


@scheduled.command()
def clear(
    topic: Topic,
    partition: Partition = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Cancel all scheduled records."""
    what = f"all scheduled records of {topic!r}" + ("" if partition is None else f", partition {partition}")
    confirm(yes, f"Cancelling {what}", f"Cancel {what}?", json)
    with connected(url, json) as client:
        gone = client.scheduled.clear(topic, partition)
        if json:
            document({"cancelled": gone})
        else:
            typer.echo(f"Cancelled {counted(gone, 'record')}.")


@scheduled.command()
def stats(topic: Topic, url: Url = URL, json: Json = False) -> None:
    """Count scheduled records, by partition and in total."""
    with connected(url, json) as client:
        found = client.scheduled.stats(topic)
        if json:
            document(found)
            return
        rows = [_counts(str(each.partition), each) for each in found.partitions]
        columns = ["partition", "records", "first due (UTC)", "last due (UTC)", "overdue", "held"]
        table(columns, [*rows, _counts("total", found.total)])


@scheduled.command()
def histogram(
    topic: Topic,
    from_: From = None,
    to: To = None,
    bins: Annotated[int, typer.Option(min=1, max=1_000, help="Number of bins.")] = 24,
    url: Url = URL,
    json: Json = False,
) -> None:
    """Show a histogram of due times."""
    with reporting(json):
        begin, end = moment(from_, "--from"), moment(to, "--to")
    with connected(url, json) as client:
        found = client.scheduled.histogram(topic, from_=begin, to=end, bins=bins)
        if json:
            for each in found:
                document(each)
        elif any(each.records for each in found):
            for line in render_histogram(found):
                typer.echo(line)
        else:
            typer.echo(f"No scheduled records in {topic}{'' if begin is None and end is None else ' in that range'}.")


@scheduled.command()
def rebuild(topic: Topic, partition: Partition = None, url: Url = URL, json: Json = False) -> None:
    """Rebuild the index of scheduled records from the records."""
    with connected(url, json) as client:
        entries = client.scheduled.rebuild(topic, partition)
        if json:
            document({"entries": entries})
        else:
            typer.echo(f"{topic}: {counted(entries, 'entry')} in the index")


def render_histogram(bins: list[Bin]) -> list[str]:
    """One line per bin; a bin with records has a bar."""
    most = max(each.records for each in bins)
    width = len(f"{most:,}")
    return [
        f"{_time(each.from_ms)}  {each.records:>{width},}  {'█' * -(-each.records * BAR // most)}".rstrip()
        for each in bins
    ]


def _tell(position: RecordPosition, as_json: bool) -> None:
    if position.scheduled is None or position.deliver_at_ms is None:
        where = {"partition": position.partition, "offset": position.offset}
        if as_json:
            document(where)
        else:
            typer.echo(
                "Already due, delivered at: " + ", ".join(f"{name} {number}" for name, number in where.items()) + "."
            )
    elif as_json:
        document({"id": str(position.scheduled), "deliver_at_ms": position.deliver_at_ms})
    else:
        typer.echo(f"{position.scheduled}: due {_time(position.deliver_at_ms)}")


def _print_record(found: ScheduledRecord) -> dict[str, Any]:
    record: dict[str, Any] = {
        "topic": found.topic,
        "id": str(found.id),
        "deliver_at_ms": found.deliver_at_ms,
        "timestamp_ms": found.timestamp_ms,
        **to_members(found.key, found.value, found.all_headers),
    }
    more = {"repeat": found.repeat, "until_ms": found.until_ms, "times_left": found.times_left}
    return {**record, **{name: held for name, held in more.items() if held is not None}}


def _counts(name: str, found: DelayStats) -> tuple[Any, ...]:
    """Times are rounded to minutes to fit a terminal; --json prints milliseconds."""
    first, last = (_time(ms)[:16] if ms >= 0 else "" for ms in (found.first_due_ms, found.last_due_ms))
    return name, found.records, first, last, found.overdue, found.held


def _repetition(found: ScheduledRecord) -> str:
    until = "" if found.until_ms is None else f", until {_time(found.until_ms)}"
    left = "" if found.times_left is None else f", {counted(found.times_left, 'time')} left"
    return f"{found.repeat}{until}{left}"


def _short(value: bytes | None) -> str:
    if value is None:
        return ""
    text = readable(value[: VALUE_SHOWN * 4])
    return text if len(text) <= VALUE_SHOWN else text[: VALUE_SHOWN - 1] + "…"


def _time(ms: int) -> str:
    """Includes milliseconds only if they are not zero."""
    moment = datetime.fromtimestamp(ms // 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return f"{moment}.{ms % 1000:03d}Z" if ms % 1000 else f"{moment}Z"


def _ahead(due_ms: int) -> str:
    """The time until then in at most two units; empty if it has passed."""
    left = due_ms - time.time_ns() // 1_000_000
    parts = []
    for unit, length in _UNITS:
        count, left = divmod(max(left, 0), length)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
