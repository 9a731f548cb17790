"""When changed certificates are loaded, look by look: the files are replaced one after another."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from redis_ledger.app.process import tls as module
from redis_ledger.app.process.tls import Tls
from redis_ledger.config import Config
from tests.support.certificates import Authority

Pair = tuple[Path, Path]


class Looks:
    """The interval between two looks, which ends when the test says so."""

    def __init__(self) -> None:
        self._begin, self._over = asyncio.Event(), asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self._over.set()
        await self._begin.wait()
        self._begin.clear()

    async def one(self) -> None:
        """Lets one look be made, and returns when it is over."""
        await self._over.wait()
        self._over.clear()
        self._begin.set()
        await self._over.wait()


class Logged:
    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.reloads = 0

    def warning(self, text: str, reason: str) -> None:
        self.warnings.append(reason)

    def info(self, text: str, certificate: str) -> None:
        self.reloads += 1


class Place:
    """The files that a broker uses, and its TLS."""

    def __init__(self, folder: Path) -> None:
        self.authority, self._changes = Authority(folder), 0
        self.certificate, self.key, self.ca = folder / "tls.crt", folder / "tls.key", folder / "ca.crt"
        self.old, self.new, self.newest = (self.authority.issue(name) for name in ("old", "new", "newest"))
        self.replace(self.certificate, self.old[0])
        self.replace(self.key, self.old[1])
        self.replace(self.ca, self.authority.ca)
        config = Config(tls_certificate=str(self.certificate), tls_key=str(self.key), tls_client_ca=str(self.ca))
        self.tls = Tls(config)

    def replace(self, target: Path, source: Path) -> None:
        """Also if the clock of the file system does not move between two changes."""
        part = target.with_suffix(".part")
        part.write_bytes(source.read_bytes())
        self._changes += 1
        os.utime(part, ns=(self._changes, self._changes))
        part.replace(target)

    def is_served(self, pair: Pair) -> bool:
        """Whether new connections of both listeners get this certificate."""
        wanted = ssl.PEM_cert_to_DER_cert(pair[0].read_text())
        return all(served_by(self.tls.doorway(door), self.authority) == wanted for door in ("http", "kafka"))


def served_by(context: ssl.SSLContext, authority: Authority) -> bytes | None:
    """The certificate that a client gets, in DER."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = authority.trusting().wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    server = context.wrap_bio(to_server, to_client, server_side=True)
    for _ in range(3):
        for end in (client, server):
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
    return client.getpeercert(binary_form=True)


@pytest.fixture
def looks(monkeypatch) -> Looks:
    made = Looks()
    monkeypatch.setattr(module, "asyncio", SimpleNamespace(sleep=made.sleep))
    return made


@pytest.fixture
def logged(monkeypatch) -> Logged:
    made = Logged()
    monkeypatch.setattr(module, "_log", made)
    return made


@pytest.fixture
async def place(tmp_path, looks, logged) -> AsyncIterator[Place]:
    made = Place(tmp_path)
    watching = asyncio.create_task(made.tls.watch())
    yield made
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)


async def test_a_certificate_is_loaded_when_its_key_is_there_too(place, looks, logged):
    # Given a certificate that is replaced, and its key one look later
    place.replace(place.certificate, place.new[0])
    await looks.one()
    assert place.is_served(place.old)
    place.replace(place.key, place.new[1])
    await looks.one()
    assert place.is_served(place.old)
    # When nothing has changed since, then the pair is loaded once, and nothing is logged before
    assert (logged.warnings, logged.reloads) == ([], 0)
    await looks.one()
    assert place.is_served(place.new)
    await looks.one()
    assert (logged.warnings, logged.reloads) == ([], 1)


async def test_a_second_change_is_loaded_as_the_first(place, looks, logged):
    for pair in (place.new, place.newest, place.old):
        place.replace(place.key, pair[1])
        await looks.one()
        place.replace(place.certificate, pair[0])
        for _ in range(3):
            await looks.one()
        assert place.is_served(pair)
    assert (logged.warnings, logged.reloads) == ([], 3)


async def test_a_pair_that_does_not_fit_is_logged_once_and_its_correction_is_loaded(place, looks, logged):
    # Given a certificate without its key
    place.replace(place.certificate, place.new[0])
    for _ in range(4):
        await looks.one()
    assert len(logged.warnings) == 1
    assert place.is_served(place.old)
    # and another one that does not fit either
    place.replace(place.certificate, place.newest[0])
    for _ in range(4):
        await looks.one()
    assert len(logged.warnings) == 2
    assert place.is_served(place.old)
    # When the key comes
    place.replace(place.key, place.newest[1])
    for _ in range(2):
        await looks.one()
    # Then both are used
    assert place.is_served(place.newest)
    assert (len(logged.warnings), logged.reloads) == (2, 1)


async def test_files_that_are_gone_for_a_while_are_loaded_when_they_are_back(place, looks, logged):
    place.key.unlink()
    for _ in range(3):
        await looks.one()
    assert place.is_served(place.old)
    assert len(logged.warnings) == 1
    place.replace(place.key, place.new[1])
    place.replace(place.certificate, place.new[0])
    for _ in range(2):
        await looks.one()
    assert place.is_served(place.new)


async def test_changed_authorities_are_loaded_without_a_change_of_the_certificate(place, looks, logged, tmp_path):
    place.replace(place.ca, Authority(tmp_path, "others").ca)
    for _ in range(2):
        await looks.one()
    trusted = place.tls.doorway("kafka").current().get_ca_certs()
    assert [dict(part for (part,) in each["subject"])["commonName"] for each in trusted] == ["others"]
    assert (logged.warnings, logged.reloads) == ([], 1)
