"""What is wrong with this set-up, and what to do about it.

Every finding is one of three: fine, a warning (it works, but), a problem (`serve` will refuse, or lose data).  Looking
changes nothing, but for one key that is written to Redis and deleted again, and one file in the home of history in
Parquet: no server is started, no directory made.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import platform
import resource
import shutil
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import httpx

from app import cold_home, redis_url, server_binary, settings
from app.embedded import Durability, configured_durability, running_pid
from app.listen import HostPort, check_not_open, listen, without_secrets
from app.listeners import listeners
from app.refusal import Refusal
from app.tls import Tls
from redis_ledger.config import Config
from redis_ledger.errors import LedgerError
from redis_ledger.store.checks import UnsuitableRedis, check
from redis_ledger.store.store import Store

Level = Literal["fine", "warning", "problem"]
FREE_BYTES_MIN = 1 << 30
OPEN_FILES_MIN = 4_096
MEMORY_SHARE_MAX = 0.8
# Variables that commands read besides the settings, without their prefix.
OF_COMMANDS = (
    "REDIS_URL", "REDIS_URL_FILE", "IMPORT_REDIS_URL", "SERVER_BIN", "DATA_DIR", "HTTP", "HTTP_ADVERTISED", "KAFKA",
    "KAFKA_ADVERTISED", "DURABILITY", "LOG_LEVEL", "LOG_FORMAT", "URL", "TOKEN", "TOKEN_FILE", "CERT_FILE", "KEY_FILE",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """subject: what was looked at.  cure: what to do; empty when all is fine."""

    subject: str
    level: Level
    seen: str
    cure: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _problem(subject: str, refusal: Exception, mark: str = ": ") -> Finding:
    """What would be refused, in the two halves of its sentence."""
    seen, _, cure = str(refusal).partition(mark)
    return Finding(subject, "problem", seen, cure[:1].upper() + cure[1:])


@dataclass(frozen=True)
class Setup:
    """What `serve` would be started with.  redis: its option; the environment may name another Redis."""

    data_dir: Path
    http: str
    kafka: str
    kafka_advertised: str | None
    redis: str | None
    durability: Durability
    allow_anonymous: bool
    environ: Mapping[str, str]
    overrides: Mapping[str, Any]

    @cached_property
    def config(self) -> Config:
        """Raises BadSetting."""
        return settings.config_from(self.environ, self.overrides)


async def examine(setup: Setup) -> AsyncIterator[Finding]:
    """Findings as they are made, from the ground up."""
    for finding in (*_machine(), *_environment(setup)):
        yield finding
    async for finding in _storage(setup):
        yield finding
    with contextlib.suppress(settings.BadSetting):  # it has been told
        if setup.config.cold_home:
            yield Finding("cold home", *await asyncio.to_thread(cold_home.look, setup.config.cold_home))
    async for finding in _ports("http", lambda: [HostPort.parse(setup.http, "--http")], setup, _broker_at):
        yield finding
    async for finding in _ports("kafka", lambda: _listeners(setup), setup, _kafka_at):
        yield finding


def _machine() -> Iterator[Finding]:
    yield Finding("python", "fine", platform.python_version())
    missing = [name for name in ("uvloop", "httptools", "hiredis") if importlib.util.find_spec(name) is None]
    if missing:
        yield Finding("packages", "problem", f"missing: {', '.join(missing)}", "Install redis-ledger again with pip.")
    else:
        yield Finding("packages", "fine", "uvloop, httptools, hiredis")
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= files < OPEN_FILES_MIN:
        yield Finding("open files", "warning", f"limit {files}", f"Raise it: ulimit -n {OPEN_FILES_MIN * 16}.")
    else:
        yield Finding("open files", "fine", f"limit {files}")


def _environment(setup: Setup) -> Iterator[Finding]:
    try:
        config = setup.config
    except settings.BadSetting as error:
        yield Finding("settings", "problem", str(error), "Correct it, or leave it out.")
        return
    try:
        if Tls.given(config) is not None:
            yield Finding("tls", "fine", f"{config.tls_certificate} and its key can be used")
    except Refusal as refusal:
        yield _problem("tls", refusal)
    strange = settings.misspelt(setup.environ, *OF_COMMANDS)
    for name, meant in strange.items():
        yield Finding("settings", "warning", f"{name} is not known", f"If you mean {meant}, rename it.")
    for sentence in settings.without_effect(setup.environ, setup.overrides):
        yield Finding("settings", "warning", sentence.rstrip("."), "Leave it out.")
    chosen = [field.name for field in fields(Config) if getattr(config, field.name) != field.default]
    yield Finding("settings", "fine", f"chosen: {', '.join(chosen)}" if chosen else "all have their defaults")


async def _storage(setup: Setup) -> AsyncIterator[Finding]:
    try:
        url = redis_url.given(setup.redis, setup.environ)
    except Refusal as refusal:
        yield _problem("redis", refusal)
        return
    running = None
    if url is None:
        for finding in _data_dir(setup.data_dir):
            yield finding
        running = running_pid(setup.data_dir.expanduser().resolve())
        if running is None:
            yield _binary(setup.environ)
    async for finding in _redis(setup, url, running):
        yield finding


def _data_dir(data_dir: Path) -> Iterator[Finding]:
    path = data_dir.expanduser().resolve()
    place = next(parent for parent in (path, *path.parents) if parent.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        yield Finding("data directory", "problem", f"{place} is not writable", "Name another one with --data-dir.")
        return
    if path.exists() and os.listdir(path) and not (path / "brokers").is_dir():
        yield Finding("data directory", "problem", f"{path} belongs to something else", "Name another with --data-dir.")
        return
    free = shutil.disk_usage(place).free
    if free < FREE_BYTES_MIN:
        yield Finding(
            "data directory", "warning", f"{path}: {free >> 20} MiB free", "Free space: a full disk stops all writes."
        )
    else:
        yield Finding("data directory", "fine", f"{path}: {free >> 30} GiB free")


def _binary(environ: Mapping[str, str]) -> Finding:
    try:
        binary = server_binary.find(environ)
    except Refusal as refusal:
        return _problem("server binary", refusal)
    return Finding("server binary", "fine", f"{binary.path} {server_binary.dotted(binary.version)}")


async def _redis(setup: Setup, url: str | None, running: int | None) -> AsyncIterator[Finding]:
    durability = setup.durability
    if url is None:
        if running is None:
            yield Finding("redis", "fine", "no embedded server runs now; serve starts one")
            return
        path = setup.data_dir.expanduser().resolve()
        found = configured_durability(path)
        yield Finding("redis", "fine", f"an embedded server runs (process {running}), durability {found}")
        if found != durability:
            cure = f"Start further brokers with --durability {found}, or stop those that run."
            yield Finding("durability", "warning", f"it runs with {found}, you ask for {durability}", cure)
        url, durability = f"unix://{path}/redis.sock", found
        if (path / "socket-path").exists():
            url = f"unix://{(path / 'socket-path').read_text().strip()}"
    shown = without_secrets(url)
    try:
        store = await Store.open(url, timeout_ms=3_000, retry_ms=1_000)
    except ValueError as error:
        yield Finding("redis", "problem", str(error), "Correct --redis or REDIS_LEDGER_REDIS_URL.")
        return
    except LedgerError as error:
        yield Finding("redis", "problem", f"{shown}: {error.detail}", "Start it, or correct --redis.")
        return
    try:
        report = await check(store, durability)
    except UnsuitableRedis as unsuitable:
        yield _problem("redis", unsuitable, "; ")
        return
    except LedgerError as error:
        yield Finding("redis", "problem", f"{shown}: {error.detail}", "Look at the server's log.")
        return
    finally:
        await store.close()
    for node in report.nodes:
        yield Finding("redis", "fine", f"{node.address}: {node.product} {node.product_version}")
        used, most = node.used_memory_bytes or 0, node.maxmemory_bytes or 0
        if most and used > MEMORY_SHARE_MAX * most:
            seen = f"{node.address} uses {used >> 20} of {most >> 20} MiB"
            yield Finding("memory", "warning", seen, "Raise maxmemory, or shorten retention: when full, writes fail.")
    for warning in report.warnings:
        yield Finding("durability", "warning", warning, "Let this user run CONFIG GET, or check it by hand.")
    if durability == "lossy":
        yield Finding(
            "durability", "warning", "lossy", "Answered writes may be lost; use --durability disk or process."
        )
    elif not report.warnings:
        yield Finding("durability", "fine", str(report.durability))


def _listeners(setup: Setup) -> list[HostPort]:
    return [each.bound for each in listeners(setup.kafka, setup.kafka_advertised).values()]


async def _ports(
    name: str,
    parse: Callable[[], list[HostPort]],
    setup: Setup,
    found_at: Callable[[HostPort], Awaitable[str | None]],
) -> AsyncIterator[Finding]:
    """found_at: how a broker that serves there is shown, or None."""
    try:
        addresses = parse()
    except Refusal as refusal:
        yield _problem(name, refusal)
        return
    for address in addresses:
        try:
            with contextlib.suppress(settings.BadSetting):  # it has been told
                if not setup.config.auth_required and not setup.allow_anonymous:
                    check_not_open(address, f"--{name}")
            if (served := await found_at(address)) is not None:
                yield Finding(name, "fine", f"a broker serves at {served}")
                continue
            bound, _ = listen(address, f"--{name}")
        except Refusal as refusal:
            yield _problem(name, refusal)
            continue
        bound.close()
        yield Finding(name, "fine", f"{address} is free")


async def _broker_at(address: HostPort) -> str | None:
    for url in (address.url, address.https_url):
        with contextlib.suppress(httpx.HTTPError, ValueError):
            async with httpx.AsyncClient(timeout=2, trust_env=False, verify=_unchecked()) as http:
                answer = await http.get(f"{url}/v1")
            if answer.status_code == 200 and answer.json().get("name") == "redis-ledger":
                return url
    return None


async def _kafka_at(address: HostPort) -> str | None:
    """What listens there answers ApiVersions as a Kafka broker does."""
    asked = struct.pack(">ihhih", 10, 18, 0, 1, -1)
    for tls in (None, _unchecked()):
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
            async with asyncio.timeout(2):
                reader, writer = await asyncio.open_connection(address.host, address.port, ssl=tls)
                try:
                    writer.write(asked)
                    size, number, error = struct.unpack(">iih", await reader.readexactly(10))
                finally:
                    writer.transport.abort()
            if size > 6 and (number, error) == (1, 0):
                return f"{address}{'' if tls is None else ', by TLS'}"
    return None


def _unchecked() -> ssl.SSLContext:
    """Our own machine is asked, and by an address that no certificate need name."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
