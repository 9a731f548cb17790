"""Options that `serve` and `doctor` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.offload_home import absolute

DataDir = Annotated[Path, typer.Option(envvar="REDIS_LEDGER_DATA_DIR", help="Data directory of the embedded server.")]
Http = Annotated[
    str,
    typer.Option(metavar="HOST:PORT", envvar="REDIS_LEDGER_HTTP", help="REST listener; port 0: any free port."),
]
Kafka = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT|NAME://HOST:PORT,...",
        envvar="REDIS_LEDGER_KAFKA",
        help="Kafka listeners; several need names. off: no Kafka listener.",
    ),
]
KafkaAdvertised = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT|NAME://HOST:PORT,...",
        envvar="REDIS_LEDGER_KAFKA_ADVERTISED",
        help="The addresses to advertise to Kafka clients, if they differ from --kafka; one per named listener.",
    ),
]
Redis = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="REDIS_LEDGER_REDIS_URL",
        help="A Redis or Valkey 7.0 or later (redis://, rediss://, unix://, redis+sentinel://, redis+cluster://); "
        "or REDIS_LEDGER_REDIS_URL_FILE: a file with the URL. Default: an embedded server in the data directory.",
    ),
]
Durability = Annotated[
    Literal["process", "disk", "replicas", "lossy"],
    typer.Option(
        envvar="REDIS_LEDGER_DURABILITY",
        help="What acknowledged writes survive. disk: a power failure (fsync before the response); process: the crash "
        "of any process; replicas: the loss of a Redis server (min_insync_replicas copies before the response); lossy: "
        "Redis may lose acknowledged writes.",
    ),
]
OffloadHome = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER|URI",
        help="Location of offloaded Parquet files (/var/lib/x, s3://bucket/prefix), the same for all brokers and "
        "offload jobs. Default: offload is disabled.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of docs/reference/settings.md, such as auth_required=true; may be repeated.",
    ),
]
AllowAnonymous = Annotated[
    bool,
    typer.Option(
        "--allow-anonymous",
        help="Allow listeners that other machines can reach while authentication is disabled (auth_required).",
    ),
]

DATA_DIR = Path("redis-ledger-data")
HTTP = "127.0.0.1:8080"
KAFKA = "127.0.0.1:9092"


def words(settings: list[str] | None, offload_home: str | None) -> list[str]:
    """NAME=VALUE of all settings, including --offload-home."""
    return [*(settings or []), *([] if offload_home is None else [f"offload_home={absolute(offload_home)}"])]


def overrides(settings: list[str]) -> dict[str, Any]:
    """["name=value"] → {"name": "value"}.  Raises CommandError."""
    pairs = [text.partition("=") for text in settings]
    for name, equals, _ in pairs:
        if not equals or not name:
            raise CommandError(f"--set {name!r} is not NAME=VALUE: for example --set num_partitions=4.")
    return {name: value for name, _, value in pairs}
