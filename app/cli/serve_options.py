"""The options of `serve`, which `doctor` takes too, for it looks at what `serve` would do with them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from redis_ledger.app.process.offload_home import absolute
from redis_ledger.app.process.startup_error import Refusal

DataDir = Annotated[
    Path, typer.Option(envvar="REDIS_LEDGER_DATA_DIR", help="Where the embedded server keeps its data.")
]
Http = Annotated[
    str,
    typer.Option(metavar="HOST:PORT", envvar="REDIS_LEDGER_HTTP", help="Where to serve REST; port 0 takes a free one."),
]
Kafka = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT|NAME://HOST:PORT,...",
        envvar="REDIS_LEDGER_KAFKA",
        help="Where to serve Kafka clients; several listeners have names. off: nowhere.",
    ),
]
KafkaAdvertised = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT|NAME://HOST:PORT,...",
        envvar="REDIS_LEDGER_KAFKA_ADVERTISED",
        help="The address Kafka clients are told, if they do not reach this broker by that of --kafka; where "
        "listeners have names, one for each.",
    ),
]
Redis = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="REDIS_LEDGER_REDIS_URL",
        help="A Redis or Valkey 7.0 or later (redis://, rediss://, unix://, redis+sentinel://, redis+cluster://); "
        "REDIS_LEDGER_REDIS_URL_FILE names a file with the URL. Without it an embedded server runs in the data "
        "directory.",
    ),
]
Durability = Annotated[
    Literal["process", "disk", "lossy"],
    typer.Option(
        envvar="REDIS_LEDGER_DURABILITY",
        help="What an answer promises: disk: fsynced; process: survives any kill of a process, not of the machine; "
        "lossy: allows a Redis that may lose what it has answered.",
    ),
]
OffloadHome = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER|URI",
        help="Where history in Parquet is (/var/lib/x, s3://bucket/prefix), the same for all brokers and for the "
        "jobs that write it. Without it nothing is offloaded.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of docs/reference/settings.md, as in auth_required=true; may be repeated.",
    ),
]
AllowAnonymous = Annotated[
    bool,
    typer.Option(
        "--allow-anonymous",
        help="Listen where other machines reach it although nobody is asked who they are (auth_required is off).",
    ),
]

DATA_DIR = Path("redis-ledger-data")
HTTP = "127.0.0.1:8080"
KAFKA = "127.0.0.1:9092"


def words(settings: list[str] | None, offload_home: str | None) -> list[str]:
    """NAME=VALUE of all that is set; --offload-home is one of them."""
    return [*(settings or []), *([] if offload_home is None else [f"offload_home={absolute(offload_home)}"])]


def overrides(settings: list[str]) -> dict[str, Any]:
    """["name=value"] → {"name": "value"}.  Raises Refusal."""
    pairs = [text.partition("=") for text in settings]
    for name, equals, _ in pairs:
        if not equals or not name:
            raise Refusal(f"--set {name!r} is not NAME=VALUE: write for instance --set num_partitions=4.")
    return {name: value for name, _, value in pairs}
