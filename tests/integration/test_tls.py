"""TLS at both ports of a broker process: trust, client certificates, and reload of certificates."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError
from typer.testing import CliRunner

from redis_ledger import AsyncClient, Client
from redis_ledger.app.cli.main import app
from redis_ledger.app.embedded_redis.server import running_pid
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.settings import config_from
from redis_ledger.app.process.tls import Tls
from redis_ledger.errors import InvalidRequest, Unavailable
from tests.support.certificates import Authority
from tests.support.processes import Serve, eventually
from tests.support.refusals import refusal

PATIENCE_S = 20.0


class Place:
    """A folder with the certificate of a broker, and the broker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder)
        self.certificate, self.key = folder / "tls.crt", folder / "tls.key"
        self.install(self.authority.issue("broker"))

    def install(self, pair: tuple[Path, Path]) -> None:
        for source, target in zip(pair, (self.certificate, self.key), strict=True):
            shutil.copy(source, self.folder / "new")
            (self.folder / "new").replace(target)

    def serve(self, *arguments: str, level: str = "warning", environ: dict[str, str] | None = None) -> Serve:
        given = ["--data-dir", str(self.folder / "data"), "--durability", "process", "--log-level", level]
        given += ["--set", f"tls_certificate={self.certificate}", "--set", f"tls_key={self.key}", *arguments]
        return Serve(*given, environ=environ)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def broker(place: Place) -> Iterator[Serve]:
    started = place.serve("--set", f"tls_client_ca={place.authority.ca}")
    yield started
    started.clean_up()


@pytest.fixture(scope="module")
def shared_place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def shared(shared_place: Place) -> Iterator[Serve]:
    """For tests that change neither its certificate nor its log."""
    started = shared_place.serve("--set", f"tls_client_ca={shared_place.authority.ca}")
    yield started
    started.clean_up()


class Log:
    """A broker's output on stderr."""

    def __init__(self, broker: Serve) -> None:
        assert broker.process.stderr is not None
        self._process, self._file = broker.process, broker.process.stderr.fileno()
        os.set_blocking(self._file, False)
        self._read = b""

    @property
    def text(self) -> str:
        """Until now."""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self._file, 65_536):
                self._read += piece
        return self._read.decode()

    def whole(self) -> str:
        """All of it, after a drain."""
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        return self.text


def address(url: str) -> tuple[str, int]:
    host, _, port = url.rpartition("//")[2].rpartition(":")
    return host, int(port)


def served_by(where: tuple[str, int], trusting: ssl.SSLContext) -> int:
    """Serial number of the certificate that a new connection is shown."""
    with socket.create_connection(where, PATIENCE_S) as plain:
        with trusting.wrap_socket(plain, server_hostname=where[0]) as link:
            shown: Any = link.getpeercert()
            return int(shown["serialNumber"], 16)


def is_closed_by(link: socket.socket) -> bool:
    """Whether the peer closes the connection, with or without a reply before."""
    link.settimeout(PATIENCE_S)
    try:
        while link.recv(65_536):
            pass
    except ConnectionError:
        pass
    return True


async def test_both_doors_speak_tls_and_a_record_goes_from_one_to_the_other(shared_place, shared):
    trusting = shared_place.authority.trusting()
    url = shared.urls[0]
    assert url.startswith("https://")
    async with httpx.AsyncClient(base_url=url, verify=trusting, trust_env=False) as http:
        assert (await http.get("/v1")).json()["name"] == "redis-ledger"
        answer = await http.post("/v1/topics/t/records", json={"records": [{"value": 7}]})
        assert answer.status_code == 200, answer.text
    kafka = shared.field("kafka")
    consumer = AIOKafkaConsumer(
        "t", bootstrap_servers=kafka, security_protocol="SSL", ssl_context=trusting, auto_offset_reset="earliest"
    )
    async with consumer:
        assert (await consumer.getone()).value == b"7"
        async with AIOKafkaProducer(
            bootstrap_servers=kafka, security_protocol="SSL", ssl_context=trusting, max_request_size=3_000_000
        ) as producer:
            await producer.send_and_wait("t", b"y" * 2_000_000)  # larger than any buffer on the way
        assert (await consumer.getone()).value == b"y" * 2_000_000


def test_the_sdk_the_command_line_and_doctor_reach_a_broker_by_https(shared_place, shared, monkeypatch):
    url, ca = shared.urls[0], str(shared_place.authority.ca)
    with Client(url, ca_file=ca) as client:
        client.topics.create("listed")
    monkeypatch.setenv("SSL_CERT_FILE", ca)
    listed = CliRunner().invoke(app, ["topics", "list", "--url", url, "--json"])
    assert listed.exit_code == 0, listed.output
    assert "listed" in [json.loads(line)["name"] for line in listed.stdout.splitlines()]
    monkeypatch.delenv("SSL_CERT_FILE")
    untrusted = "SSL_CERT_FILE or ca_file name an authority.*CERTIFICATE_VERIFY_FAILED"
    with Client(url, timeout_ms=60_000) as stranger, pytest.raises(Unavailable, match=untrusted):
        stranger.topics.list()  # fails at once: a retry cannot help
    with pytest.raises(InvalidRequest, match="cannot be read"):
        Client(url, ca_file=str(shared_place.folder / "none"))
    where = ["--http", url.removeprefix("https://"), "--kafka", shared.field("kafka")]
    environ = {
        "REDIS_LEDGER_TLS_CERTIFICATE": str(shared_place.certificate),
        "REDIS_LEDGER_TLS_KEY": str(shared_place.key),
    }
    looked = CliRunner().invoke(
        app, ["doctor", "--json", "--data-dir", str(shared_place.folder / "data"), *where], env=environ
    )
    found = {each["subject"]: (each["level"], each["seen"]) for each in json.loads(looked.stdout)}
    assert found["http"] == ("fine", f"in use by a broker of this cluster ({url})")
    assert found["kafka"] == ("fine", f"in use by a broker of this cluster ({shared.field('kafka')}, by TLS)")
    assert found["tls"][0] == "fine"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_old_protocols_and_weak_ciphers_are_not_spoken(shared_place, shared):
    for where in (address(shared.urls[0]), address(shared.field("kafka"))):
        for change in ("version", "cipher"):
            old = shared_place.authority.trusting()
            if change == "version":
                old.options |= ssl.OP_NO_TLSv1_2 | ssl.OP_NO_TLSv1_3
                old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
                old.set_ciphers("ALL:@SECLEVEL=0")
            else:
                old.maximum_version = ssl.TLSVersion.TLSv1_2
                old.set_ciphers("AES256-SHA256:AES128-SHA")  # no forward secrecy
            with pytest.raises((ssl.SSLError, ConnectionError)):
                served_by(where, old)
    trusting = shared_place.authority.trusting()
    trusting.set_alpn_protocols(["h2", "http/1.1"])
    with socket.create_connection(address(shared.urls[0]), PATIENCE_S) as plain:
        with trusting.wrap_socket(plain, server_hostname="127.0.0.1") as link:
            assert (link.selected_alpn_protocol(), link.compression()) == ("http/1.1", None)


def test_new_certificate_is_loaded_a_broken_one_is_not_and_connections_stay(place, broker):
    log, trusting = Log(broker), place.authority.trusting()
    doors = [address(broker.urls[0]), address(broker.field("kafka"))]
    with httpx.Client(base_url=broker.urls[0], verify=trusting, trust_env=False) as http:
        assert http.get("/livez").status_code == 200
        before = [served_by(door, trusting) for door in doors]
        place.install(place.authority.issue("broker"))
        eventually(lambda: all(served_by(door, trusting) not in before for door in doors))
        after = served_by(doors[0], trusting)

        place.key.write_text("no key")
        broker.process.send_signal(signal.SIGHUP)
        eventually(lambda: "cannot be used" in log.text)
        assert [served_by(door, trusting) for door in doors] == [after, after]

        fresh = place.authority.issue("broker")
        place.install(fresh)
        broker.process.send_signal(signal.SIGHUP)
        eventually(lambda: served_by(doors[0], trusting) != after)
        assert http.get("/livez").status_code == 200  # on the connection of the first certificate
    assert log.whole().count("the changed TLS certificate is invalid") == 1


@pytest.mark.full
def test_wrong_protocol_closes_the_connection_and_is_logged(place, broker):
    log = Log(broker)
    plain_http = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    plain_kafka = struct.pack(">ihhih", 10, 18, 0, 1, -1)
    for where, sent in ((address(broker.urls[0]), plain_http), (address(broker.field("kafka")), plain_kafka)):
        with socket.create_connection(where, PATIENCE_S) as link:
            link.sendall(sent)
            assert is_closed_by(link)
    lines = [line for line in log.whole().splitlines() if "a TLS handshake failed" in line]
    assert lines
    assert "not a TLS handshake" in lines[0]


@pytest.mark.full
def test_tls_at_a_plain_port_is_closed_and_the_log_says_why(tmp_path, place):
    plain = Serve("--data-dir", tmp_path / "plain", "--durability", "process", "--log-level", "warning")
    log = Log(plain)
    try:
        for where in (address(plain.urls[0]), address(plain.field("kafka"))):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                served_by(where, place.authority.trusting())
        log_text = log.whole()
        assert "TLS handshake on a plain-text port" in log_text
        assert "a TLS client connected to a listener without TLS" in log_text
    finally:
        plain.clean_up()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["tls_certificate={0}/tls.crt"], "tls_certificate and tls_key must be set together"),
        (["tls_client_ca={0}/tests-ca.pem"], "tls_client_ca requires"),
        (["tls_certificate={0}/none", "tls_key={0}/tls.key"], "tls_certificate is"),
        (["tls_certificate={0}/tls.crt", "tls_key={0}/other.key"], "cannot be used"),
        (["tls_certificate={0}/tls.crt", "tls_key={0}/tls.key", "tls_client_ca={0}/tls.key"], "tls_client_ca"),
        (["tls_principal=uid"], "use cn or dn"),
    ],
)
def test_unusable_values_are_refused_with_one_sentence(place, settings, said):
    place.authority.issue("other")
    overrides = dict(each.format(place.folder).split("=") for each in settings)
    with pytest.raises(CommandError, match=said) as refused:
        Tls.given(config_from({}, overrides))
    assert "\n" not in str(refused.value)


def test_a_broker_with_an_unusable_certificate_does_not_start(place):
    place.key.write_text("no key")
    assert "cannot be used" in refusal(place.serve(level="error"))
    assert running_pid(place.folder / "data") is None


async def produce_once(kafka: str, context: ssl.SSLContext) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=kafka, security_protocol="SSL", ssl_context=context, request_timeout_ms=2_000
    )
    try:
        await producer.start()
        await producer.send_and_wait("t", b"x")
    finally:
        await producer.stop()


@pytest.mark.parametrize("way", ["cn", pytest.param("dn", marks=pytest.mark.full)])
async def test_a_client_certificate_names_the_caller_at_both_doors(place, way):
    named = {"cn": "User:ops", "dn": "User:CN=ops,O=Example"}[way]
    others = Authority(place.folder, "others")
    settings = ["auth_required=on", f"super_users={named}", f"tls_principal={way}"]
    settings.append(f"tls_client_ca={place.authority.ca}")
    broker = place.serve(*(word for each in settings for word in ("--set", each)))
    try:
        url, kafka, issue = broker.urls[0], broker.field("kafka"), place.authority.issue
        shown = {
            "ops": place.authority.trusting(issue("ops")),
            "ada": place.authority.trusting(issue("ada")),
            "anonymous": place.authority.trusting(),
            "two": place.authority.trusting(issue("two", common_names=("ops", "ada"))),
        }

        async def creates(who: str, topic: str, **headers: str) -> int:
            async with httpx.AsyncClient(base_url=url, verify=shown[who], trust_env=False, headers=headers) as http:
                return (await http.post("/v1/topics", json={"name": topic})).status_code

        assert await creates("ops", "t") == 201
        assert await creates("ada", "u") == 403  # known, and without a rule
        assert await creates("anonymous", "u") == 401
        assert await creates("two", "u") == (401 if way == "cn" else 403)
        assert await creates("ops", "u", authorization="Bearer rl_0_0") == 401  # a token wins, also a wrong one
        certificate, key = map(str, issue("ops"))
        async with AsyncClient(url, ca_file=str(place.authority.ca), cert_file=certificate, key_file=key) as client:
            assert [topic.name for topic in await client.topics.list()] == ["t"]
        environ = {"SSL_CERT_FILE": str(place.authority.ca), "REDIS_LEDGER_CERT_FILE": certificate}
        environ["REDIS_LEDGER_KEY_FILE"] = key
        asked = partial(CliRunner().invoke, app, ["topics", "list", "--url", url, "--json"], env=environ)
        listed = await asyncio.to_thread(asked)
        assert (listed.exit_code, json.loads(listed.stdout)["name"]) == (0, "t"), listed.output
        assert (
            await creates("ops", "u", origin="https://evil.example") == 403
        )  # a browser shows it to any page's request
        foreign = place.authority.trusting(others.issue("ops"))
        with pytest.raises((httpx.TransportError, ssl.SSLError)):
            async with httpx.AsyncClient(base_url=url, verify=foreign, trust_env=False) as http:
                await http.get("/v1")
        await produce_once(kafka, shown["ops"])
        for who in ("anonymous", "ada"):
            with pytest.raises(KafkaError):
                await produce_once(kafka, shown[who])
    finally:
        broker.clean_up()


@pytest.mark.full
def test_several_brokers_of_one_command_speak_tls_and_no_secret_is_an_argument(place):
    with_secret = {"REDIS_LEDGER_BOOTSTRAP_TOKEN_FILE": str(place.folder / "bootstrap")}
    (place.folder / "bootstrap").write_text("a-secret-of-the-test-that-is-long-enough")
    url = "redis+sentinel://user:hush@127.0.0.1:1/main"
    broker = place.serve("--brokers", "2", "--set", "auth_required=on", environ=with_secret)
    try:
        trusting = place.authority.trusting()
        assert [each.partition("://")[0] for each in broker.urls] == ["https", "https"]
        for each in (*broker.urls, *broker.field("kafka").split(",")):
            assert served_by(address(each), trusting)
        found = list(children(broker.process.pid))
        assert len(found) >= 2
        assert not any(b"a-secret" in arguments for arguments in found)
    finally:
        broker.clean_up()
    refused = place.serve("--brokers", "2", environ={"REDIS_LEDGER_REDIS_URL": url})
    seen = 0
    while refused.process.poll() is None:
        found = list(children(refused.process.pid))
        seen += len(found)
        assert not any(b"hush" in arguments for arguments in found)
    refused.clean_up()
    assert seen


def children(pid: int) -> Iterator[bytes]:
    """Arguments of the processes that this one started."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                yield (folder / "cmdline").read_bytes()
