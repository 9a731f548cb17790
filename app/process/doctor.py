"""The checks of `redis-ledger doctor`.

A finding is fine, a warning (it works with restrictions) or a problem (`serve` would not start, or data could be lost).
The checks start no server and create no directory; they write and delete one key in Redis and one file in the offload
home.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import platform
import resource
import shutil
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

import httpx

from redis_ledger.app.embedded_redis.binary import find_server, version_text
from redis_ledger.app.embedded_redis.data_dir import CLUSTER_ID, living_brokers
from redis_ledger.app.embedded_redis.data_disk import PROBE_BYTES
from redis_ledger.app.embedded_redis.server import configured_durability, running_pid
from redis_ledger.app.process import offload_home, redis_url, settings
from redis_ledger.app.process.addresses import HostPort, check_not_open, listen
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.kafka_listeners import listeners
from redis_ledger.app.process.redis_check import EMBEDDED_HAS_NO_REPLICA, at_level, checked, copies_required
from redis_ledger.app.process.tls import Tls
from redis_ledger.config import Config
from redis_ledger.store.checks import UnsuitableRedis
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store
from redis_ledger.store.suitability import Durability

Level = Literal["fine", "warning", "problem"]
FREE_BYTES_MIN = 1 << 30
OPEN_FILES_MIN = 4_096
# Environment variables other than settings, without the prefix.
OF_COMMANDS = (
    "REDIS_URL", "REDIS_URL_FILE", "IMPORT_REDIS_URL", "SERVER_BIN", "DATA_DIR", "HTTP", "HTTP_ADVERTISED", "KAFKA",
    "KAFKA_ADVERTISED", "DURABILITY", "LOG_LEVEL", "LOG_FORMAT", "URL", "TOKEN", "TOKEN_FILE", "CERT_FILE", "KEY_FILE",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """subject: what was checked.  cure: the suggested fix; empty if fine."""

    subject: str
    level: Level
    seen: str
    cure: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def _problem(subject: str, refusal: Exception, mark: str = ": ") -> Finding:
    """Splits the message of an error into finding and fix."""
    seen, _, cure = str(refusal).partition(mark)
    return Finding(subject, "problem", seen, cure[:1].upper() + cure[1:])


@dataclass(frozen=True)
class Setup:
    """The options of `serve`.  redis: the option; the environment may override it."""

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
        return at_level(settings.config_from(self.environ, self.overrides), self.durability)


async def examine(setup: Setup) -> AsyncIterator[Finding]:
    """Yields findings: machine, settings, storage, ports."""
    for finding in (*_machine(), *_environment(setup)):
        yield finding
    brokers = Brokers(advertised=setup.kafka_advertised is not None)
    async for finding in _storage(setup, brokers):
        yield finding
    with contextlib.suppress(settings.BadSetting):  # already reported
        if setup.config.offload_home:
            yield Finding("offload home", *await asyncio.to_thread(offload_home.look, setup.config.offload_home))
    async for finding in _ports(
        "http", lambda: [HostPort.parse(setup.http, "--http")], setup, partial(_broker_at, brokers)
    ):
        yield finding
    async for finding in _ports("kafka", lambda: _listeners(setup), setup, partial(_kafka_at, brokers)):
        yield finding


def _machine() -> Iterator[Finding]:
    yield Finding("python", "fine", platform.python_version())
    missing = [name for name in ("uvloop", "httptools", "hiredis") if importlib.util.find_spec(name) is None]
    if missing:
        yield Finding("packages", "problem", f"missing: {', '.join(missing)}", "Reinstall redis-ledger with pip.")
    else:
        yield Finding("packages", "fine", "uvloop, httptools, hiredis")
    _, files = resource.getrlimit(resource.RLIMIT_NOFILE)  # brokers raise the soft limit
    if 0 <= files < OPEN_FILES_MIN:
        yield Finding("open files", "warning", f"limit {files}", f"Raise it: ulimit -Hn {OPEN_FILES_MIN * 16}.")
    else:
        yield Finding("open files", "fine", f"limit {files}")


def _environment(setup: Setup) -> Iterator[Finding]:
    try:
        config = setup.config
    except settings.BadSetting as error:
        yield Finding("settings", "problem", str(error), "Correct or remove it.")
        return
    try:
        if Tls.given(config) is not None:
            yield Finding("tls", "fine", f"{config.tls_certificate} and its key are valid")
    except CommandError as refusal:
        yield _problem("tls", refusal)
    strange = settings.misspelt(setup.environ, *OF_COMMANDS)
    for name, meant in strange.items():
        yield Finding("settings", "warning", f"{name} is unknown", f"Did you mean {meant}?")
    for sentence in settings.without_effect(setup.environ, setup.overrides):
        yield Finding("settings", "warning", sentence.rstrip("."), "Remove it.")
    chosen = [field.name for field in fields(Config) if getattr(config, field.name) != field.default]
    yield Finding("settings", "fine", f"changed: {', '.join(chosen)}" if chosen else "defaults")


class Brokers:
    """The brokers of this set-up's Redis: by name, and the ports that their Kafka listeners advertise."""

    def __init__(self, *, advertised: bool) -> None:
        """advertised: advertised ports may differ from bound ports."""
        self.is_known, self.advertised = False, advertised
        self.names: set[str] = set()
        self.kafka_ports: set[int] = set()

    def learn(self, rows: Mapping[str, Mapping[str, Any]]) -> None:
        self.is_known = True
        for name, row in rows.items():
            self.names.add(name)
            for address in (row.get("kafka", ""), *(row.get("listeners") or {}).values()):
                if (port := str(address).rpartition(":")[2]).isdigit():
                    self.kafka_ports.add(int(port))

    def stranger(self, where: str) -> CommandError:
        return CommandError(f"A broker of another cluster uses {where}: stop it, or choose another port.")


async def _storage(setup: Setup, brokers: Brokers) -> AsyncIterator[Finding]:
    try:
        url = redis_url.given(setup.redis, setup.environ)
    except CommandError as refusal:
        yield _problem("redis", refusal)
        return
    running = None
    if url is None:
        for finding in _data_dir(setup.data_dir):
            yield finding
        running = running_pid(setup.data_dir.expanduser().resolve())
        if running is None:
            yield _binary(setup.environ)
            brokers.learn({})
    async for finding in _redis(setup, url, running, brokers):
        yield finding


def _data_dir(data_dir: Path) -> Iterator[Finding]:
    path = data_dir.expanduser().resolve()
    place = next(parent for parent in (path, *path.parents) if parent.exists())
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        yield Finding("data directory", "problem", f"{place} is not writable", "Use another directory with --data-dir.")
        return
    if path.exists() and os.listdir(path) and not (path / "brokers").is_dir():
        yield Finding("data directory", "problem", f"{path} contains other files", "Use another one: --data-dir.")
        return
    if (path / CLUSTER_ID).exists() and not (path / "appendonlydir").exists():
        cure = f"Restore appendonlydir, or delete {path / CLUSTER_ID} to accept the loss of all data."
        yield Finding("data directory", "problem", f"{path} has lost its data: appendonlydir is missing", cure)
        return
    free = shutil.disk_usage(place).free
    if free < PROBE_BYTES:
        yield Finding("data directory", "problem", f"{path}: no space left on the device", "Free disk space.")
    elif free < FREE_BYTES_MIN:
        yield Finding(
            "data directory",
            "warning",
            f"{path}: {free >> 20} MiB free",
            "Free disk space; a full disk stops all writes.",
        )
    else:
        yield Finding("data directory", "fine", f"{path}: {free >> 30} GiB free")


def _binary(environ: Mapping[str, str]) -> Finding:
    try:
        binary = find_server(environ)
    except CommandError as refusal:
        return _problem("server binary", refusal)
    return Finding("server binary", "fine", f"{binary.path} {version_text(binary.version)}")


async def _redis(setup: Setup, url: str | None, running: int | None, brokers: Brokers) -> AsyncIterator[Finding]:
    durability, path = setup.durability, None
    if url is None:
        if durability == "replicas":
            yield _problem("durability", CommandError(EMBEDDED_HAS_NO_REPLICA))
            return
        if running is None:
            yield Finding("redis", "fine", "the embedded server is not running; serve starts it")
            return
        path = setup.data_dir.expanduser().resolve()
        found = configured_durability(path)
        yield Finding("redis", "fine", f"the embedded server is running (pid {running}), durability {found}")
        if found != durability:
            cure = f"Use --durability {found}, or stop the running brokers."
            # serve restarts a server without brokers, but cannot change one that brokers use.
            level: Level = "problem" if any(living_brokers(path)) else "warning"
            yield Finding("durability", level, f"running with {found}, requested {durability}", cure)
        url, durability = f"unix://{path}/redis.sock", found
        if (path / "socket-path").exists():
            url = f"unix://{(path / 'socket-path').read_text().strip()}"
    try:
        prefix = setup.config.prefix
    except settings.BadSetting:  # already reported
        return
    try:
        store = await redis_url.opened(
            url, prefix=prefix, timeout_ms=3_000, retry_ms=1_000, copies=copies_required(setup.config, durability)
        )
    except CommandError as refusal:
        yield _problem("redis", refusal, ". ")
        return
    try:
        report = await checked(store, durability, path, copies_required(setup.config, durability))
        brokers.learn(await _registered(store))
    except CommandError as refusal:
        yield _problem("redis", refusal)
        return
    except UnsuitableRedis as unsuitable:
        for problem in unsuitable.problems:
            yield Finding("redis", problem.level, problem.seen, problem.cure)
        return
    finally:
        await store.close()
    for node in report.nodes:
        yield Finding("redis", "fine", f"{node.address}: {node.product} {node.product_version}")
    for warning in report.warnings:
        yield Finding("durability", warning.level, warning.seen, warning.cure)
    if durability == "lossy":
        yield Finding(
            "durability", "warning", "lossy", "Acknowledged writes may be lost; use --durability disk or process."
        )
    elif not report.warnings:
        yield Finding("durability", "fine", str(report.durability))


async def _registered(store: Store) -> dict[str, Any]:
    """Registered brokers by name."""
    key = CatalogKeys(store.prefix).addresses
    row = await store.command(b"HGETALL", key, key=key)
    return {name.decode(): json.loads(text) for name, text in zip(row[::2], row[1::2], strict=True)}


def _listeners(setup: Setup) -> list[HostPort]:
    return [each.bound for each in listeners(setup.kafka, setup.kafka_advertised).values()]


async def _ports(
    name: str,
    parse: Callable[[], list[HostPort]],
    setup: Setup,
    found_at: Callable[[HostPort], Awaitable[str | None]],
) -> AsyncIterator[Finding]:
    """found_at: describes the broker of this cluster at an address; None if there is none."""
    try:
        addresses = parse()
    except CommandError as refusal:
        yield _problem(name, refusal)
        return
    for address in addresses:
        try:
            with contextlib.suppress(settings.BadSetting):  # already reported
                if not setup.config.auth_required and not setup.allow_anonymous:
                    check_not_open(address, f"--{name}")
            if (served := await found_at(address)) is not None:
                yield Finding(name, "fine", f"in use by a broker of this cluster ({served})")
                continue
            bound, _ = listen(address, f"--{name}")
        except CommandError as refusal:
            yield _problem(name, refusal)
            continue
        bound.close()
        yield Finding(name, "fine", f"{address} is free")


async def _broker_at(brokers: Brokers, address: HostPort) -> str | None:
    """Raises CommandError for a broker of another cluster."""
    for url in (address.url, address.https_url):
        with contextlib.suppress(httpx.HTTPError, ValueError):
            async with httpx.AsyncClient(timeout=2, trust_env=False, verify=_unchecked()) as http:
                if (await http.get(f"{url}/v1")).json().get("name") != "redis-ledger":
                    continue
                name = (await http.get(f"{url}/readyz")).json().get("broker")
            if brokers.is_known and name is not None and name not in brokers.names:
                raise brokers.stranger(url)
            return url
    return None


async def _kafka_at(brokers: Brokers, address: HostPort) -> str | None:
    """Probes with ApiVersions.  Raises CommandError for a broker of another cluster."""
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
                if brokers.is_known and address.port not in brokers.kafka_ports and not brokers.advertised:
                    raise brokers.stranger(str(address))
                return f"{address}{'' if tls is None else ', by TLS'}"
    return None


def _unchecked() -> ssl.SSLContext:
    """No verification: the address is local and need not be in the certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
