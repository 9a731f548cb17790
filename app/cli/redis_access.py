"""Access to Redis for commands that need no broker and no ACL, for example before the first broker runs.

Access to Redis implies full control.  The audit log records these actions with the principal local:<user>.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from redis_ledger.app.cli.serve_options import overrides
from redis_ledger.auth.acl import Caller
from redis_ledger.telemetry import logs

if TYPE_CHECKING:
    from redis_ledger.app.embedded_redis.server import EmbeddedServer
    from redis_ledger.broker.security.audit import Audit
    from redis_ledger.broker.security.quotas import Quotas
    from redis_ledger.broker.security.scram_credentials import ScramCredentials
    from redis_ledger.broker.security.service import Security
    from redis_ledger.config import Config
    from redis_ledger.store.store import Store
    from redis_ledger.store.suitability import Durability

DataDir = Annotated[
    Path,
    typer.Option(
        envvar="REDIS_LEDGER_DATA_DIR", help="Data directory of the embedded server; it is started if necessary."
    ),
]
Redis = Annotated[
    str | None,
    typer.Option(metavar="URL", envvar="REDIS_LEDGER_REDIS_URL", help="The Redis of the brokers, as for serve."),
]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the brokers, such as prefix.")
]
T = TypeVar("T")


class RedisAccess(NamedTuple):
    """Access to the state that the commands administer."""

    users: ScramCredentials
    security: Security
    audit: Audit
    quotas: Quotas

    async def note(self, act: str, target: str, **facts: Any) -> None:
        await self.audit.note(_caller(), act, target, **facts)


def run(act: Callable[[RedisAccess], Awaitable[T]], data_dir: Path, redis: str | None, settings: list[str] | None) -> T:
    """Raises CommandError and the errors of `act`."""
    logs.configure("error")

    async def work() -> T:
        async with _desk(data_dir, redis or None, settings or []) as found:
            return await act(found)

    return asyncio.run(work())


@contextlib.asynccontextmanager
async def opened_store(
    data_dir: Path, redis: str | None, settings: list[str], *, awaits_replicas: bool = False
) -> AsyncIterator[tuple[Store, Config]]:
    """The store of the brokers, and the settings of this process.  Raises CommandError.

    awaits_replicas: at durability `replicas`, wait for them as brokers do
    """
    from redis_ledger.app.process import redis_url
    from redis_ledger.app.process import settings as environment
    from redis_ledger.app.process.redis_check import at_level, copies_required

    async with contextlib.AsyncExitStack() as stack:
        config = environment.config_from(os.environ, overrides(settings))
        url = redis_url.given(redis, os.environ)
        level: Durability = "replicas" if awaits_replicas and _has_replicas(config) else "process"
        if url is None:
            held = await asyncio.to_thread(_attach, data_dir)
            stack.push_async_callback(asyncio.to_thread, held.release)
            url, level = held.url, "process"
        store = await redis_url.opened(
            url, prefix=config.prefix, timeout_ms=config.redis_timeout_ms, retry_ms=1_000,
            copies=copies_required(at_level(config, level), level),
        )  # fmt: skip
        stack.push_async_callback(store.close)
        yield store, config


@contextlib.asynccontextmanager
async def _desk(data_dir: Path, redis: str | None, settings: list[str]) -> AsyncIterator[RedisAccess]:
    """Raises CommandError."""
    from redis_ledger.broker.security.audit import Audit
    from redis_ledger.broker.security.quotas import Quotas
    from redis_ledger.broker.security.scram_credentials import ScramCredentials
    from redis_ledger.broker.security.service import Security
    from redis_ledger.clock import RedisClock
    from redis_ledger.store.redis_time import read_time

    async with opened_store(data_dir, redis, settings, awaits_replicas=True) as (store, config):
        yield RedisAccess(
            ScramCredentials(store),
            Security(store, config, await read_time(store, RedisClock())),
            Audit(store, is_kept=True),
            Quotas(store, config),
        )


def _has_replicas(config: Config) -> bool:
    """Whether the settings of this process are those of brokers at durability `replicas`."""
    return config.min_insync_replicas > 1 or os.environ.get("REDIS_LEDGER_DURABILITY") == "replicas"


def principal_of(text: str) -> str:
    """Adds the prefix User: if it is missing."""
    return text if text.startswith("User:") else f"User:{text}"


def _attach(data_dir: Path) -> EmbeddedServer:
    """Keeps the configured durability of an existing data directory."""
    from redis_ledger.app.embedded_redis.server import EmbeddedServer, configured_durability

    place = data_dir.expanduser()
    return EmbeddedServer.attach(place, configured_durability(place) if (place / "redis.conf").exists() else "disk")


def _caller() -> Caller:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name, as in containers
        user = str(os.getuid())
    return Caller(f"local:{user}", socket.gethostname())
