"""The first steps of a broker process.  They come before the imports of the broker, which take most of its start.

bind the listeners ─▶ start the embedded server ─▶ import the broker ─▶ connect
                      it loads its data meanwhile
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from redis_ledger.app.embedded_redis.server import EmbeddedServer
from redis_ledger.app.process.addresses import HostPort, listen
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.kafka_listeners import KafkaAddress
from redis_ledger.app.process.redis_check import EMBEDDED_HAS_NO_REPLICA
from redis_ledger.config import Config
from redis_ledger.store.suitability import Durability


@dataclass(frozen=True)
class Options:
    """Options of a broker process.

    redis_url        None: the embedded server in data_dir
    http_advertised  the published REST address, if it differs from the bound one
    kafka            listeners by name
    """

    data_dir: Path
    http: HostPort
    http_advertised: HostPort | None
    kafka: Mapping[str, KafkaAddress]
    redis_url: str | None
    durability: Durability
    config: Config
    exit_with_stdin: bool = False


class Bound(NamedTuple):
    """A listener.  address: with the actual port."""

    socket: socket.socket
    address: HostPort


class Listeners(NamedTuple):
    http: Bound
    kafka: Mapping[str, Bound]


@contextlib.contextmanager
def listening(options: Options) -> Iterator[Listeners]:
    """Binds all listeners: the cheapest check.  Raises CommandError."""
    with contextlib.ExitStack() as stack:

        def bind(address: HostPort, option: str) -> Bound:
            bound = Bound(*listen(address, option))
            stack.callback(bound.socket.close)
            return bound

        http = bind(options.http, "--http")
        yield Listeners(http, {name: bind(each.bound, "--kafka") for name, each in options.kafka.items()})


@contextlib.contextmanager
def starting_redis(options: Options, environ: Mapping[str, str]) -> Iterator[Future[EmbeddedServer] | None]:
    """Attaches to the embedded server in a thread, and releases it at the end; None with an external Redis.

    SIGTERM raises SystemExit meanwhile, until the event loop handles it, so that the server does not outlive its last
    broker.  Raises CommandError.
    """
    if options.redis_url is not None:
        yield None
        return
    if options.durability == "replicas":
        raise CommandError(EMBEDDED_HAS_NO_REPLICA)
    before = signal.signal(signal.SIGTERM, _exit)
    with ThreadPoolExecutor(1, "embedded server start") as starter:
        attached = starter.submit(EmbeddedServer.attach, options.data_dir, options.durability, environ)
        try:
            yield attached
        finally:
            signal.signal(signal.SIGTERM, _exit_at_once)
            if attached.exception() is None:  # waits: the attachment cannot be interrupted
                attached.result().release()
            signal.signal(signal.SIGTERM, before)


def _exit(number: int, frame: FrameType | None) -> None:
    sys.exit(0)


def _exit_at_once(number: int, frame: FrameType | None) -> None:
    os._exit(1)
