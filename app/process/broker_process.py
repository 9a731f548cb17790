"""One broker process from start to drain.

    start   listeners, embedded server (startup.py)  →  store  →  check of Redis  →  broker  →  HTTP  →  the ready line
    drain   no new connections  →  running requests end  →  broker  →  store  →  embedded server, if it is the last

The steps are undone in reverse order on failure and on SIGTERM; the HTTP and Kafka listeners drain concurrently.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from redis_ledger.app.embedded_redis.data_dir import remember_cluster
from redis_ledger.app.embedded_redis.file_rewrite import FileRewrite
from redis_ledger.app.embedded_redis.server import EmbeddedServer
from redis_ledger.app.http.application import create_app
from redis_ledger.app.http.connection_limits import Limits
from redis_ledger.app.http.routers.test_hooks import Hooks
from redis_ledger.app.http.server import HttpServer
from redis_ledger.app.process import malloc, redis_url
from redis_ledger.app.process.addresses import default_advertised, without_secrets
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.kafka_listeners import listener_text, speaking_tls
from redis_ledger.app.process.open_files import with_enough_files
from redis_ledger.app.process.redis_check import checked, copies_required
from redis_ledger.app.process.startup import Listeners, Options
from redis_ledger.app.process.tls import Tls
from redis_ledger.broker.broker import Broker
from redis_ledger.clock import RedisClock, ShiftedClock
from redis_ledger.kafka.listener import Listener
from redis_ledger.kafka.server import KafkaServer
from redis_ledger.store.checks import Report, UnsuitableRedis
from redis_ledger.store.faults import FaultyStore
from redis_ledger.store.store import Store
from redis_ledger.telemetry import logs, tracing

DRAIN_S_MAX = 20
CLAIM_S = 1.0
HOOKS_ARE_ON = "test_hooks is on: a request can crash this broker and move its clock; never use it in production"

_log = logs.get()


def say_ready(line: str) -> None:
    print(line, flush=True)


class ServerProblem:
    """The problem of the embedded server that blocks writes; empty if there is none."""

    def __init__(self) -> None:
        self.sentence = ""
        self._listeners: list[Callable[[str], None]] = []

    def report(self, sentence: str) -> None:
        self.sentence = sentence
        for listener in self._listeners:
            listener(sentence)

    def subscribe(self, listener: Callable[[str], None]) -> None:
        self._listeners.append(listener)
        listener(self.sentence)


async def attach(
    stack: AsyncExitStack, starting: Future[EmbeddedServer] | None, problem: ServerProblem
) -> EmbeddedServer | None:
    """The embedded server, watched until the stack ends; None with an external Redis."""
    if starting is None:
        return None
    embedded = await asyncio.shield(asyncio.wrap_future(starting))
    watcher = asyncio.create_task(embedded.watch(problem.report), name="embedded server watcher")
    stack.push_async_callback(_cancel, watcher)
    rewriter = asyncio.create_task(FileRewrite(lambda: embedded.socket).run(), name="append-only file rewriter")
    stack.push_async_callback(_cancel, rewriter)
    return embedded


async def _checked(store: Store, options: Options, embedded: EmbeddedServer | None) -> Report:
    """Raises UnsuitableRedis, CommandError."""
    data_dir = None if embedded is None else embedded.data_dir
    copies = copies_required(options.config, options.durability)
    report = await checked(store, options.durability, data_dir, copies)
    if embedded is None and not store.admission.cluster_id:
        # Gives a running broker time to detect that this Redis was emptied.
        await asyncio.sleep(CLAIM_S)
        report = await checked(store, options.durability, data_dir, copies)
    return report


async def serve(options: Options, listeners: Listeners, starting: Future[EmbeddedServer] | None) -> None:
    """Runs until cancelled, then drains.  Raises CommandError if it cannot start."""
    malloc.return_large_blocks()
    options = replace(options, config=with_enough_files(options.config))
    (bound, http), kafka = listeners
    async with AsyncExitStack() as stack:
        tls = Tls.given(options.config)
        with_tls = speaking_tls(options.config, kafka)
        http_advertised = options.http_advertised or default_advertised(bound, http)
        http_url, reached = (each.url if tls is None else each.https_url for each in (http, http_advertised))
        named_by = None if tls is None else tls.named_by
        problem = ServerProblem()
        embedded = await attach(stack, starting, problem)
        url = options.redis_url if embedded is None else embedded.url
        assert url is not None
        store = await redis_url.opened(
            url, prefix=options.config.prefix, timeout_ms=options.config.redis_timeout_ms,
            retry_ms=options.config.redis_retry_ms, copies=copies_required(options.config, options.durability),
            kind=FaultyStore if options.config.test_hooks else Store,
        )  # fmt: skip
        stack.push_async_callback(store.close)
        try:
            report = await _checked(store, options, embedded)
        except UnsuitableRedis as unsuitable:
            raise CommandError(problem.sentence or str(unsuitable)) from unsuitable
        problem.subscribe(store.admission.bar)
        for warning in report.warnings:
            _log.warning(
                "Redis may not provide the requested durability", reason=str(warning), durability=report.durability
            )
        if options.config.otel_enabled:
            try:
                tracing.enable(broker=reached)
            except ImportError as missing:
                raise CommandError(str(missing)) from missing
            stack.push_async_callback(asyncio.to_thread, tracing.disable)
        redis_clock, shifted, hooks = RedisClock(options.config.clock_skew_ms_max), None, None
        if isinstance(store, FaultyStore):
            shifted = ShiftedClock(redis_clock)
            hooks = Hooks(store.faults, shifted)
            _log.warning(HOOKS_ARE_ON)
        broker = await Broker.open(store, options.config, clock=shifted, redis_clock=redis_clock, http_address=reached)
        stack.push_async_callback(broker.close)
        if embedded is not None:
            try:
                remember_cluster(embedded.data_dir, options.config.prefix, broker.live_brokers.cluster_id)
            except OSError as error:
                raise CommandError(
                    f"The data directory cannot be written ({error.strerror}): free space there."
                ) from error
        broker.readiness["durability"] = report.durability
        if hooks is not None:
            broker.readiness["test_hooks"] = True
        if options.durability == "replicas":
            broker.readiness["min_insync_replicas"] = options.config.min_insync_replicas
        if tls is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, tls.read_again)
            stack.push_async_callback(_cancel, asyncio.create_task(tls.watch(), name="certificate watcher"))
        server = HttpServer(
            create_app(broker, hooks),
            *http,
            drain_s=DRAIN_S_MAX,
            listening=bound,
            limits=Limits.of(
                options.config,
                broker.client_memory,
                named_by,
                broker.decoded_memory,
                broker.event_loop_lag.is_doubtful,
            ),
            tls=None if tls is None else tls.doorway("http"),
        )
        stops: list[Callable[[], Awaitable[None]]] = []
        stack.push_async_callback(_drain, stops)
        await server.start()
        stops.append(server.stop)
        if kafka:
            doors = []
            for name, (door, address) in kafka.items():
                advertised = options.kafka[name].advertised or default_advertised(door, address)
                doorway = tls.doorway("kafka") if tls is not None and name in with_tls else None
                doors.append(Listener(door, name, str(advertised), doorway))
            kafka_server = KafkaServer(broker, doors, named_by)
            await kafka_server.start()
            stops.append(partial(kafka_server.stop, DRAIN_S_MAX))
        kafka_shown = ",".join(listener_text(name, address) for name, (_, address) in kafka.items()) or "off"
        _keep_startup_out_of_gc()
        say_ready(f"ready http={http_url} kafka={kafka_shown} redis={without_secrets(url)}")
        await server.wait()
        raise CommandError("The HTTP server stopped; see the log.")


async def run_until_stopped(work: Callable[[], Coroutine[Any, Any, None]], exit_with_stdin: bool) -> None:
    """Runs the work; SIGTERM, SIGINT and optionally the end of stdin cancel it, which drains the broker.

    A second signal ends the process at once.  The end of stdin does not count as a signal: a parent that terminates
    this process also closes its stdin.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(work(), name="serve")
    stopping = signalled = False

    def stop(reason: str) -> None:
        nonlocal stopping
        if not stopping:
            stopping = True
            _log.info("stopping", reason=reason)
            task.cancel()

    def on_signal(name: str) -> None:
        nonlocal signalled
        if signalled:
            _log.warning("second signal, exiting without draining")
            os._exit(1)
        signalled = True
        stop(name)

    def stdin_has_news() -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            loop.remove_reader(sys.stdin.fileno())
            stop("end of stdin")

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, on_signal, signal.Signals(number).name)
    if exit_with_stdin:
        loop.add_reader(sys.stdin.fileno(), stdin_has_news)
    try:
        await task
    except asyncio.CancelledError:
        if not stopping:
            raise


async def _drain(stops: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Waits for all; raises the first error."""
    for outcome in await asyncio.gather(*(stop() for stop in stops), return_exceptions=True):
        if outcome is not None:
            raise outcome


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait([task])


def _keep_startup_out_of_gc() -> None:
    """Excludes modules, routes and schemas, which live as long as the process, from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
