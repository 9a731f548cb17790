"""Brokers with authentication, and a Kafka client for benches: prebuilt requests, and counted responses."""

from __future__ import annotations

import asyncio
import ssl
import struct
import subprocess
import time
from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from bench.load import Client, Outcome, connected, request
from bench.processes import BenchFailed, RunningBroker
from bench.topics import batch
from redis_ledger.kafka.protocol.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from redis_ledger.kafka.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from redis_ledger.kafka.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from tests.support.kafka_codec import request as frame

ADMIN = "bench-" * 8  # the bootstrap token


def asking(home: Path) -> list[str]:
    """Options of `serve` for authentication."""
    token = home / "bootstrap"
    token.write_text(ADMIN)
    return ["--set", "auth_required=on", "--set", f"bootstrap_token_file={token}"]


def speaking_tls(home: Path) -> list[str]:
    """Options of `serve` for TLS, with a self-signed certificate."""
    cert, key = home / "cert.pem", home / "key.pem"
    made = subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=bench", "-keyout", str(key), "-out", str(cert),
        ],
        check=False, capture_output=True,
    )  # fmt: skip
    if made.returncode:
        raise BenchFailed("openssl could not create a certificate.")
    return ["--set", f"tls_certificate={cert}", "--set", f"tls_key={key}"]


def unchecked() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def bearer(token: str) -> str:
    return f"authorization: Bearer {token}\r\n"


async def call(served: RunningBroker, method: str, path: str, body: Any, token: str = ADMIN) -> Any:
    """Sends one request as the administrator; returns the decoded response."""
    async with connected(served, 1) as client:
        answers = await cast("Client", client).each([request(method, path, body, headers=bearer(token))])
    return answers[0]


def produce_frame(records: int, record_bytes: int, topic: str = "t") -> bytes:
    data = [TopicProduceData(topic, b"", [PartitionProduceData(0, memoryview(batch(records, record_bytes)))])]
    return b"".join(frame(0, 9, 7, "bench", ProduceRequest(None, -1, 30_000, data)))


class KafkaLink(asyncio.Protocol):
    """A connection with one request at a time."""

    def __init__(self) -> None:
        self._read = b""
        self._answer: asyncio.Future[bytes] | None = None
        self._next: bytes | None = None
        self._until_s = self._sent_s = 0.0
        self.latencies_ms = array("d")

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._read += data
        while len(self._read) >= 4 and len(self._read) >= 4 + (size := int.from_bytes(self._read[:4], "big")):
            answer, self._read = self._read[4 : 4 + size], self._read[4 + size :]
            self._answered(answer)

    def _answered(self, answer: bytes) -> None:
        now = time.perf_counter()
        if self._next is not None:
            self.latencies_ms.append((now - self._sent_s) * 1000)
            if now < self._until_s:
                self._sent_s = now
                self.transport.write(self._next)
                return
            self._next = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BenchFailed(f"The broker closed a Kafka connection ({error})."))

    async def ask(self, data: bytes) -> bytes:
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(data)
        return await self._answer

    async def log_in(self, token: str) -> None:
        await self.ask(b"".join(frame(17, 1, 1, "bench", SaslHandshakeRequest("PLAIN"))))
        answer = await self.ask(
            b"".join(frame(36, 1, 2, "bench", SaslAuthenticateRequest(f"\0token\0{token}".encode())))
        )
        if struct.unpack_from(">h", answer, 4)[0]:
            raise BenchFailed("The broker rejected the bench's token.")

    def stop(self) -> None:
        """Stops after the next response."""
        self._until_s = 0.0

    async def repeat(self, data: bytes, until_s: float) -> None:
        self._next, self._until_s, self._sent_s = data, until_s, time.perf_counter()
        self.latencies_ms = array("d")
        await self.ask(data)


@asynccontextmanager
async def kafka_links(
    served: RunningBroker, count: int, token: str = "", tls: ssl.SSLContext | None = None
) -> AsyncIterator[list[KafkaLink]]:
    loop = asyncio.get_running_loop()
    made = [(await loop.create_connection(KafkaLink, served.host, served.kafka_port, ssl=tls))[1] for _ in range(count)]
    try:
        for link in made:
            if token:
                await link.log_in(token)
        yield made
    finally:
        for link in made:
            link.transport.abort()


async def closed(links: list[KafkaLink], data: bytes, seconds: float) -> Outcome:
    """Every connection sends its next request after its response."""
    began_s = time.perf_counter()
    await asyncio.gather(*(link.repeat(data, began_s + seconds) for link in links))
    latencies = array("d")
    for link in links:
        latencies.extend(link.latencies_ms)
    return Outcome(len(latencies), 0, time.perf_counter() - began_s, latencies)
