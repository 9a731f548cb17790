"""Source or target of a mirror: an address, and a file with properties of librdkafka and the Java client.

kafka://host:9092,other:9092
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-256
sasl.username=mirror
sasl.password=...                 only in the file, which other users must not be able to read
ssl.ca.location=/etc/ca.pem       ssl.certificate.location, ssl.key.location: a client certificate
"""

from __future__ import annotations

import contextlib
import logging
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError

from redis_ledger.app.process.command_error import CommandError

SCHEME = "kafka://"
KNOWN = (
    "security.protocol", "sasl.mechanism", "sasl.username", "sasl.password", "ssl.ca.location",
    "ssl.certificate.location", "ssl.key.location",
)  # fmt: skip
PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
T = TypeVar("T", AIOKafkaConsumer, AIOKafkaProducer)


def connection(address: str, option: str, properties: Path | None) -> dict[str, Any]:
    """Connection arguments for clients of aiokafka.  Raises CommandError."""
    hosts = address.removeprefix(SCHEME)
    if not hosts or "://" in hosts or "/" in hosts or not all(":" in each for each in hosts.split(",")):
        raise CommandError(f"{option} {address!r} is not kafka://HOST:PORT, for example kafka://kafka.example:9092.")
    given = {} if properties is None else read(properties)
    protocol = given.get("security.protocol", "PLAINTEXT")
    if protocol not in PROTOCOLS:
        raise CommandError(f"security.protocol={protocol} is unknown; use one of {', '.join(PROTOCOLS)}.")
    found: dict[str, Any] = {"bootstrap_servers": hosts, "security_protocol": protocol}
    if "SASL" in protocol:
        mechanism = given.get("sasl.mechanism", "PLAIN")
        if mechanism not in MECHANISMS:
            raise CommandError(f"sasl.mechanism={mechanism} is unknown; use one of {', '.join(MECHANISMS)}.")
        for name in ("sasl.username", "sasl.password"):
            if name not in given:
                raise CommandError(f"{properties} has no {name}, which {protocol} requires.")
        found |= {
            "sasl_mechanism": mechanism,
            "sasl_plain_username": given["sasl.username"],
            "sasl_plain_password": given["sasl.password"],
        }
    if protocol.endswith("SSL"):
        found["ssl_context"] = _context(given)
    return found


def read(path: Path) -> dict[str, str]:
    """Raises CommandError for an unknown property."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read ({type(error).__name__}).") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text or text.startswith(("#", "!")):
            continue
        name, equals, value = text.partition("=")
        if not equals or name.strip() not in KNOWN:
            raise CommandError(f"{path}, line {number}: {name.strip()[:40]!r} is not one of {', '.join(KNOWN)}.")
        found[name.strip()] = value.strip()
    return found


@contextlib.asynccontextmanager
async def started(client: T, option: str) -> AsyncIterator[T]:
    """Starts and stops a consumer or producer of aiokafka.

    option: the option with the address.  Raises CommandError if it cannot connect or log in.
    """
    with _failures() as failures:
        try:
            await client.start()
        except KafkaConnectionError as error:
            await client.stop()  # otherwise it logs that it was not stopped
            why = str(failures[-1] if failures else error).rstrip(".") or "no response in time"
            raise CommandError(f"{option} cannot be used: {why}. Correct {option} or its properties file.") from None
    try:
        yield client
    finally:
        await client.stop()


@contextlib.contextmanager
def _failures() -> Iterator[list[object]]:
    """Collects why aiokafka could not connect, which it only logs."""
    found: list[object] = []
    heard = logging.Handler(logging.WARNING)
    heard.emit = lambda record: found.extend(record.args[-1:] if isinstance(record.args, tuple) else ())  # type: ignore[method-assign]
    aiokafka = logging.getLogger("aiokafka")
    aiokafka.addHandler(heard)
    try:
        yield found
    finally:
        aiokafka.removeHandler(heard)


def _context(given: dict[str, str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=given.get("ssl.ca.location"))
        if "ssl.certificate.location" in given:
            context.load_cert_chain(given["ssl.certificate.location"], given.get("ssl.key.location"))
    except (OSError, ssl.SSLError) as error:
        raise CommandError(f"The certificates cannot be used: {error.strerror or error}.") from None
    return context
