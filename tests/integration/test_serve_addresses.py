"""Addresses that a broker advertises: the bound or the configured ones, never a wildcard."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from redis_ledger.app.process.addresses import HostPort, default_advertised, listen
from tests.integration.test_serve import advertised_address
from tests.support.certificates import Authority
from tests.support.processes import Serve
from tests.support.refusals import refusal, refused

ANYWHERE = ("--allow-anonymous", "--kafka", "0.0.0.0:0")


Starts = Callable[..., Serve]


@pytest.fixture
def serving() -> Iterator[Starts]:
    started: list[Serve] = []

    def start(*arguments: str | Path, http: str = "127.0.0.1:0") -> Serve:
        started.append(Serve(*arguments, http=http))
        return started[-1]

    yield start
    for each in started:
        each.clean_up()


def http_address_shown(serve: Serve) -> str:
    """REST's address on the console's page of brokers."""
    url = re.sub("://(0.0.0.0|127.0.0.1)", "://127.0.0.1", serve.urls[0])
    with httpx.Client(trust_env=False, timeout=20) as http:
        page = http.get(f"{url}/console/brokers")
    (found,) = re.findall(r"<td>(https?://[^<]+)</td>", page.text)
    return str(found)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_wildcard_is_advertised_as_a_reachable_address(host: str) -> None:
    bound, address = listen(HostPort(host, 0), "--http")
    with bound:
        bound.setblocking(True)
        found = default_advertised(bound, address)
        assert found.host not in ("0.0.0.0", "::")
        with socket.create_connection(found, timeout=20):
            bound.accept()[0].close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_address_that_is_no_wildcard_is_advertised_unchanged(host: str) -> None:
    bound, address = listen(HostPort(host, 0), "--http")
    with bound:
        assert default_advertised(bound, address) == address


def test_without_a_way_out_a_wildcard_leads_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    bound, address = listen(HostPort("0.0.0.0", 0), "--http")
    with bound:

        def unreachable(*_: object) -> None:
            raise OSError("Network is unreachable")

        monkeypatch.setattr(socket.socket, "connect", unreachable)
        assert default_advertised(bound, address) == ("127.0.0.1", address.port)


@pytest.mark.full
def test_neither_port_advertises_a_wildcard(serving: Starts, tmp_path: Path) -> None:
    serve = serving("--data-dir", tmp_path / "data", *ANYWHERE, http="0.0.0.0:0")
    port = serve.urls[0].rpartition(":")[2]
    shown = http_address_shown(serve)
    assert shown.startswith("http://")
    assert shown.endswith(f":{port}")
    assert "0.0.0.0" not in shown
    host, advertised_port = advertised_address(serve.field("kafka").replace("0.0.0.0", "127.0.0.1"))
    assert host != "0.0.0.0"
    assert advertised_port == int(serve.field("kafka").rpartition(":")[2])


@pytest.mark.full
def test_lists_of_brokers_show_the_http_address_that_is_advertised(serving: Starts, tmp_path: Path) -> None:
    serve = serving("--data-dir", tmp_path / "data", "--http-advertised", "ledger-0.example:80")
    assert http_address_shown(serve) == "http://ledger-0.example:80"
    # And the line that says ready still says where it listens
    assert serve.urls[0].startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--http-advertised", "ledger.example"), "--http-advertised 'ledger.example' is not HOST:PORT"),
        (("--http-advertised", "0.0.0.0:8080"), "--http-advertised 0.0.0.0:8080 cannot be advertised"),
        (("--kafka-advertised", "[::]:9092"), "--kafka-advertised [::]:9092 cannot be advertised"),
        (("--kafka-advertised", "ledger.example:0"), "--kafka-advertised ledger.example:0 cannot be advertised"),
        (("--http-advertised", "ledger.example:80", "--brokers", "2"), "use --brokers 1"),
    ],
)
def test_unreachable_addresses_are_not_advertised(arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(*arguments)


def kafka_listeners(serve: Serve) -> dict[str, str]:
    """Name → HOST:PORT, of the line that says ready."""
    return dict(part.split("://") for part in serve.field("kafka").split(","))


def test_each_kafka_listener_advertises_its_own_address(serving: Starts, tmp_path: Path) -> None:
    both = ("--kafka", "internal://127.0.0.1:0,external://127.0.0.1:0")
    advertised = ("--kafka-advertised", "external://ledger-0.example:443")
    serve = serving("--data-dir", tmp_path / "data", *both, *advertised)
    at = kafka_listeners(serve)
    assert advertised_address(at["external"]) == ("ledger-0.example", 443)
    assert "{}:{}".format(*advertised_address(at["internal"])) == at["internal"]
    with httpx.Client(trust_env=False, timeout=20) as http:
        page = http.get(f"{serve.urls[0]}/console/brokers").text
    assert f"<td>internal {at['internal']}, external ledger-0.example:443</td>" in page
    assert serve.terminate() == 0


def test_one_listener_speaks_tls_and_the_other_does_not(serving: Starts, tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("broker")
    serve = serving(
        "--data-dir", tmp_path / "data", "--kafka", "internal://127.0.0.1:0,external://127.0.0.1:0",
        "--set", f"tls_certificate={certificate}", "--set", f"tls_key={key}",
        "--set", "tls_kafka_listeners=external",
    )  # fmt: skip
    at = {name: int(address.rpartition(":")[2]) for name, address in kafka_listeners(serve).items()}
    assert advertised_address(kafka_listeners(serve)["internal"]) == ("127.0.0.1", at["internal"])
    context = ssl.create_default_context(cafile=str(authority.ca))
    with socket.create_connection(("127.0.0.1", at["external"]), timeout=20) as link:
        with context.wrap_socket(link, server_hostname="127.0.0.1") as secured:
            assert secured.version() == "TLSv1.3"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--kafka", "a://127.0.0.1:0,b://127.0.0.1:0", "--brokers", "2"), "use --brokers 1"),
        (("--kafka", "a://127.0.0.1:0,b://0.0.0.0:0"), "Other machines can reach --kafka 0.0.0.0:0"),
    ],
)
def test_listeners_that_cannot_be_are_refused(arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(*arguments)


@pytest.mark.full
def test_a_listener_with_tls_and_without_a_certificate_is_refused(serving: Starts) -> None:
    assert "tls_kafka_listeners requires" in refusal(serving("--set", "tls_kafka_listeners=external"))
