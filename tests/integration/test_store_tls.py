"""TLS through a proxy of the tests that terminates it, since the packaged server has no TLS."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import pytest

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.store import Store
from tests.support.proxy import proxy
from tests.support.redis_servers import Server
from tests.support.script_functions import replace_scripts


@pytest.fixture(autouse=True)
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_scripts(monkeypatch)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A self-signed certificate of 127.0.0.1 and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
            "-days", "2", "-subj", "/CN=redis", "-addext", "subjectAltName=IP:127.0.0.1",
            "-keyout", str(key), "-out", str(cert),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return cert, key


def terminating(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


async def test_a_trusted_server_is_spoken_to_over_tls(redis: Server, certificate, prefix):
    async with proxy("127.0.0.1", redis.port, tls=terminating(certificate)) as relay:
        store = await Store.open(f"rediss://127.0.0.1:{relay.port}?ssl_ca_certs={certificate[0]}", prefix=prefix)
        key = f"{prefix}:k".encode()
        payload = b"x" * 3_000_000
        assert await store.multi(key, [(b"SET", key, payload), (b"STRLEN", key)]) == [b"OK", 3_000_000]
        assert await store.command(b"GET", key, key=key) == payload
        heard: list[bytes] = []
        await store.subscribe(key, heard.append, lambda: None)
        assert await store.command(b"SPUBLISH", key, b"m", key=key) == 1
        await store.close()


async def test_an_unknown_certificate_is_refused(redis: Server, certificate):
    async with proxy("127.0.0.1", redis.port, tls=terminating(certificate)) as relay:
        with pytest.raises(
            StoreUnavailable, match=r"certificate is not trusted \(self-signed certificate\).*ssl_ca_certs"
        ):
            await Store.open(f"rediss://127.0.0.1:{relay.port}", retry_ms=2_000)


async def test_a_start_that_gives_up_during_its_first_handshake_names_tls(redis: Server):
    with pytest.raises(StoreUnavailable, match="If it does not speak TLS, write redis://"):
        await Store.open(f"rediss://127.0.0.1:{redis.port}?ssl_cert_reqs=none", retry_ms=50)


async def test_checking_can_be_switched_off_by_name(redis: Server, certificate):
    async with proxy("127.0.0.1", redis.port, tls=terminating(certificate)) as relay:
        store = await Store.open(f"rediss://127.0.0.1:{relay.port}?ssl_cert_reqs=none")
        assert await store.command(b"PING") == b"PONG"
        await store.close()


async def test_a_client_certificate_is_shown(redis: Server, certificate):
    strict = terminating(certificate)
    strict.verify_mode = ssl.CERT_REQUIRED
    strict.load_verify_locations(certificate[0])
    cert, key = certificate
    async with proxy("127.0.0.1", redis.port, tls=strict) as relay:
        url = f"rediss://127.0.0.1:{relay.port}?ssl_ca_certs={cert}"
        with pytest.raises(StoreUnavailable):
            await Store.open(url, retry_ms=200)
        store = await Store.open(f"{url}&ssl_certfile={cert}&ssl_keyfile={key}")
        assert await store.command(b"PING") == b"PONG"
        await store.close()
