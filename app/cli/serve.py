"""`redis-ledger serve`: run a broker, or several, until SIGTERM."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from redis_ledger.app.cli import serve_options
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.offload_home import opened
from redis_ledger.errors import LedgerError
from redis_ledger.store.suitability import Durability
from redis_ledger.telemetry import logs


def serve(
    data_dir: serve_options.DataDir = serve_options.DATA_DIR,
    http: serve_options.Http = serve_options.HTTP,
    http_advertised: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            envvar="REDIS_LEDGER_HTTP_ADVERTISED",
            help="The REST address to publish to other brokers and the console, if it differs from --http.",
        ),
    ] = None,
    kafka: serve_options.Kafka = serve_options.KAFKA,
    kafka_advertised: serve_options.KafkaAdvertised = None,
    redis: serve_options.Redis = None,
    brokers: Annotated[int, typer.Option(min=1, max=64, help="Broker processes, on consecutive ports.")] = 1,
    durability: serve_options.Durability = "disk",
    offload_home: serve_options.OffloadHome = None,
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], typer.Option(envvar="REDIS_LEDGER_LOG_LEVEL")
    ] = "info",
    log_format: Annotated[
        Literal["json", "text"],
        typer.Option(envvar="REDIS_LEDGER_LOG_FORMAT", help="json: one object per line."),
    ] = "json",
    set_: serve_options.Set = None,
    allow_anonymous: serve_options.AllowAnonymous = False,
    exit_with_stdin: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Run a broker.

    Prints "ready http=... kafka=... redis=..." when it accepts requests.  SIGTERM drains the broker (exit code 0).  If
    the broker cannot start, it prints the reason (exit code 2).
    """
    logs.configure(log_level, shape=log_format, whole_process=True)
    try:
        given = serve_options.words(set_, offload_home)
        _run(data_dir, http, http_advertised, kafka, kafka_advertised, redis, brokers, durability, given,
             exit_with_stdin, allow_anonymous, ["--log-level", log_level, "--log-format", log_format])  # fmt: skip
    except CommandError as refusal:
        typer.echo(f"redis-ledger: {refusal}", err=True)
        sys.exit(refusal.exit_code)
    except LedgerError as error:
        typer.echo(f"redis-ledger: The broker cannot start: {error.detail}", err=True)
        sys.exit(CommandError.exit_code)


def _run(
    data_dir: Path,
    http: str,
    http_advertised: str | None,
    kafka: str,
    kafka_advertised: str | None,
    redis: str | None,
    brokers: int,
    durability: Durability,
    settings: list[str],
    exit_with_stdin: bool,
    allow_anonymous: bool,
    logged: list[str],
) -> None:
    from redis_ledger.app.process import redis_url, startup
    from redis_ledger.app.process import settings as environment
    from redis_ledger.app.process.addresses import HostPort, check_not_open
    from redis_ledger.app.process.kafka_listeners import listeners
    from redis_ledger.app.process.redis_check import at_level

    address = HostPort.parse(http, "--http")
    kafka_addresses = listeners(kafka, kafka_advertised)
    if brokers > 1 and (http_advertised is not None or kafka_advertised is not None or any(kafka_addresses)):
        raise CommandError(
            "--http-advertised, --kafka-advertised and named Kafka listeners apply to one broker: use --brokers 1."
        )
    reached = None
    if http_advertised is not None:
        reached = HostPort.parse(http_advertised, "--http-advertised").check_reachable("--http-advertised")
    config = at_level(environment.config_from(os.environ, serve_options.overrides(settings)), durability)
    if not config.auth_required and not allow_anonymous:
        check_not_open(address, "--http")
        for each in kafka_addresses.values():
            check_not_open(each.bound, "--kafka")
    if config.offload_home:
        opened(config.offload_home)  # raises CommandError
    for sentence in environment.without_effect(os.environ, serve_options.overrides(settings)):
        logs.get().warning("a setting has no effect", reason=sentence)
    url = redis_url.given(redis, os.environ)
    # Child processes read the file themselves, so that the URL stays out of their environment.
    handed_on = None if redis_url.is_from_file(redis, os.environ) else url

    options = startup.Options(data_dir, address, reached, kafka_addresses, url, durability, config, exit_with_stdin)
    arguments = ["--data-dir", str(data_dir), "--durability", durability, *logged]
    arguments += ["--allow-anonymous"] if allow_anonymous else []
    arguments += [word for each in settings for word in ("--set", each)]
    with contextlib.ExitStack() as stack:
        bound = stack.enter_context(startup.listening(options)) if brokers == 1 else None
        starting = stack.enter_context(startup.starting_redis(options, os.environ))

        # These imports take most of the start-up time, while the embedded server loads its data.
        with _without_gc():
            import uvloop

            from redis_ledger.app.process import broker_process, supervisor

        async def several() -> None:
            async with contextlib.AsyncExitStack() as held:
                # The parent holds a reference too, so that the embedded server survives the last child.
                await broker_process.attach(held, starting, broker_process.ServerProblem())
                first = kafka_addresses[""].bound if kafka_addresses else None
                await supervisor.supervise(address, first, brokers, arguments, handed_on, broker_process.say_ready)

        async def one() -> None:
            assert bound is not None
            await broker_process.serve(options, bound, starting)

        uvloop.run(broker_process.run_until_stopped(one if brokers == 1 else several, exit_with_stdin))


@contextlib.contextmanager
def _without_gc() -> Iterator[None]:
    """For imports: modules stay until the process ends, and searching them for garbage 150 times while they are loaded
    takes a sixth of the start-up time."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
