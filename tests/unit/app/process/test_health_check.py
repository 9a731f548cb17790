"""`redis-ledger health`: what it asks, what it says, and that it is quick to load."""

from __future__ import annotations

import contextlib
import datetime
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from typer.testing import CliRunner

from redis_ledger.app.cli.main import app
from redis_ledger.app.process.health_check import Health, look
from tests.tidy.tree import ROOT

READY = b'HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n{"ready": true}\n'
DRAINING = b'HTTP/1.1 503 Service Unavailable\r\n\r\n{"detail": "This broker is about to stop."}'


@contextlib.contextmanager
def answering(answer: bytes | None, tls: ssl.SSLContext | None = None) -> Iterator[tuple[str, list[bytes]]]:
    """A server on HOST:PORT with one answer for all (None: none, ever), and the requests it has got."""
    asked: list[bytes] = []
    held: list[socket.socket] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                plain, _ = listening.accept()
            except OSError:
                return
            if answer is None:
                held.append(plain)
                continue
            with plain:
                # A stranger's first words are no reason to stop: as a broker, it goes on to the next.
                with contextlib.suppress(OSError):
                    connection = plain if tls is None else tls.wrap_socket(plain, server_side=True)
                    with connection:
                        asked.append(connection.recv(4096))
                        connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    host, port = listening.getsockname()
    try:
        yield f"{host}:{port}", asked
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(10)
        for each in held:
            each.close()


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> ssl.SSLContext:
    """The server side, with a self-signed certificate for another name."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "ledger.example")])
    now = datetime.datetime.now(datetime.UTC)
    built = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    built = built.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    place: Path = tmp_path_factory.mktemp("tls")
    pem = serialization.Encoding.PEM
    (place / "tls.crt").write_bytes(built.sign(key, hashes.SHA256()).public_bytes(pem))
    (place / "tls.key").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "tls.crt", place / "tls.key")
    return context


def test_ready_broker_gets_one_request():
    with answering(READY) as (address, asked):
        assert look(address, {}) == Health(True, f"ready: http://{address}")
    assert [request.split(b"\r\n")[0] for request in asked] == [b"GET /readyz HTTP/1.1"]


def test_unready_broker_returns_its_reason():
    with answering(DRAINING) as (address, _):
        assert look(address, {}) == Health(False, "not ready: This broker is about to stop.")
    with answering(b"HTTP/1.1 500 Oh\r\n\r\n<html>") as (address, _):
        assert look(address, {}) == Health(False, "not ready: /readyz returned 500.")


def test_tls_is_detected_and_tried_first_with_a_certificate(tls):
    with answering(READY, tls) as (address, asked):
        assert look(address, {}) == Health(True, f"ready: https://{address}")
        assert look(f"https://{address}/", {}).is_ready
        certificate = {"REDIS_LEDGER_TLS_CERTIFICATE": "tls.crt", "REDIS_LEDGER_HTTP": address}
        assert look(None, certificate) == Health(True, f"ready: https://{address}")
        assert len(asked) == 3
        # Who asks for plain HTTP by name gets no other.
        assert not look(f"http://{address}", {}).is_ready
    with answering(READY) as (address, asked):
        assert look(None, certificate | {"REDIS_LEDGER_HTTP": address}).sentence == f"ready: http://{address}"


def test_other_server_is_not_ready():
    with answering(b"-ERR unknown command\r\n") as (address, _):
        assert look(address, {}) == Health(False, f"not ready: {address} responds neither to HTTP nor to HTTPS.")


def test_refused_connection_and_timeout_are_distinguished():
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    assert f"no broker at http://127.0.0.1:{port} (Connection refused)" in look(f"127.0.0.1:{port}", {}).sentence
    with answering(None) as (address, _):
        assert look(address, {}, timeout_ms=50).sentence.endswith("within 50 ms.")


@pytest.mark.parametrize("host", ["0.0.0.0", "localhost", "127.0.0.1"])
def test_wildcard_address_is_checked_on_loopback(host):
    with answering(READY) as (address, _):
        port = address.rpartition(":")[2]
        assert look(f"{host}:{port}", {}).is_ready
        assert look(None, {"REDIS_LEDGER_HTTP": f"{host}:{port}"}).is_ready


@pytest.mark.parametrize("address", ["8080x", "127.0.0.1:0", "127.0.0.1", "ftp://127.0.0.1:80", "h:70000"])
def test_address_without_a_port_is_rejected_with_an_example(address):
    assert look(address, {}) == Health(
        False, f"{address!r} has no port: use --http 127.0.0.1:8080 with the port of serve."
    )


def test_health_command_has_output_and_exit_code():
    with answering(READY) as (address, _):
        ready = CliRunner().invoke(app, ["health", "--http", address])
    assert (ready.exit_code, ready.stdout, ready.stderr) == (0, f"ready: http://{address}\n", "")
    gone = CliRunner().invoke(app, ["health", "--http", address, "--timeout-ms", "500"])
    assert (gone.exit_code, gone.stdout) == (1, "")
    assert gone.stderr.startswith("redis-ledger: not ready: ")
    assert gone.stderr.count("\n") == 1


def test_health_without_options_does_not_load_the_parser():
    probe = (
        "import sys; sys.argv = ['redis-ledger', 'health']\nfrom redis_ledger.app.entry import main\n"
        "try: main()\nexcept SystemExit as ended: print(ended.code)\n"
        "heavy = ('typer', 'click', 'ssl', 'asyncio', 'httpx', 'json', 'redis_ledger.client', 'redis_ledger.app.cli')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    with answering(READY) as (address, _):
        ran = subprocess.run(
            [sys.executable, "-c", probe],
            cwd=ROOT,
            env={"REDIS_LEDGER_HTTP": address},
            capture_output=True,
            text=True,
            check=True,
        )
    assert ran.stdout.splitlines() == [f"ready: http://{address}", "0", "[]"]


def test_other_commands_use_the_parser():
    code = (
        "import sys; sys.argv = ['redis-ledger', 'health', '--help']; from redis_ledger.app.entry import main; main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Usage: redis-ledger health" in ran.stdout
