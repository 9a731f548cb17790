"""Kafka listeners on the command line: one HOST:PORT, or several named ones in Kafka's notation.

    --kafka 127.0.0.1:9092                                       one, without a name
    --kafka internal://0.0.0.0:9092,external://0.0.0.0:9094      two; clients get the addresses of the listener they use
    --kafka-advertised internal://b-0:9092,external://b-0.example.com:9094
    --set tls_kafka_listeners=external                           TLS on this one only; default: on all or none

Source: Kafka's listeners, advertised.listeners and listener.security.protocol.map (KIP-103).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from redis_ledger.app.process.addresses import HostPort
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.config import Config

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,24}")


class KafkaAddress(NamedTuple):
    """advertised: None for the bound address."""

    bound: HostPort
    advertised: HostPort | None = None


def listeners(kafka: str, advertised: str | None) -> dict[str, KafkaAddress]:
    """Parses --kafka and --kafka-advertised: name → addresses, in order; "" is the name of an unnamed listener.

    Returns an empty dict for `off`.  Raises CommandError.
    """
    bound = {} if kafka == "off" else _named(kafka, "--kafka")
    if advertised is not None and not bound:
        raise CommandError("--kafka-advertised requires a Kafka listener, but --kafka is off: give --kafka an address.")
    given = {} if advertised is None else _named(advertised, "--kafka-advertised")
    if "" in given and len(bound) == 1:
        given = dict.fromkeys(bound, given[""])
    for name in given.keys() - bound.keys():
        raise CommandError(
            f"--kafka-advertised has {name or given[name]}, which is not in --kafka: use the same names in both."
        )
    for address in given.values():
        address.check_reachable("--kafka-advertised")
    return {name: KafkaAddress(address, given.get(name)) for name, address in bound.items()}


def _named(text: str, option: str) -> dict[str, HostPort]:
    found: dict[str, HostPort] = {}
    parts = text.split(",")
    for part in parts:
        name, colon, address = part.strip().rpartition("://")
        if colon and NAME.fullmatch(name) is None:
            raise CommandError(
                f"{option} {part!r}: a listener name is a letter followed by letters, digits, - and _, at most 25 "
                "characters."
            )
        if name in found or (len(parts) > 1 and not name):
            raise CommandError(f"{option} {text}: give each listener a unique name, as in internal://0.0.0.0:9092.")
        found[name] = HostPort.parse(address, option)
    return found


def speaking_tls(config: Config, names: Collection[str]) -> Collection[str]:
    """The Kafka listeners with TLS.  Raises CommandError."""
    chosen = [name.strip() for name in config.tls_kafka_listeners.split(",") if name.strip()]
    if chosen and not config.tls_certificate:
        raise CommandError("tls_kafka_listeners requires tls_certificate and tls_key.")
    for name in chosen:
        if name not in names:
            raise CommandError(f"tls_kafka_listeners has {name}, which is not in --kafka: correct one of them.")
    if not config.tls_certificate:
        return ()
    return chosen or names


def listener_text(name: str, address: HostPort) -> str:
    return f"{name}://{address}" if name else str(address)
