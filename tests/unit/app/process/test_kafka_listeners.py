"""Kafka listeners on the command line."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.kafka_listeners import listener_text, listeners, speaking_tls
from redis_ledger.config import Config
from tests.support.processes import ROOT

TWO = "internal://0.0.0.0:9092,external://[::]:9094"
WITH_TLS = Config(tls_certificate="/c", tls_key="/k")


def test_one_listener_needs_no_name() -> None:
    assert listeners("127.0.0.1:9092", None) == {"": (("127.0.0.1", 9092), None)}
    assert listeners("127.0.0.1:0", "b-0.example:9092") == {"": (("127.0.0.1", 0), ("b-0.example", 9092))}
    assert listeners("off", None) == {}


def test_named_listeners_keep_their_order_and_may_be_advertised() -> None:
    found = listeners(TWO, "external://b-0.example:443")
    assert list(found.items()) == [
        ("internal", (("0.0.0.0", 9092), None)),
        ("external", (("::", 9094), ("b-0.example", 443))),
    ]
    assert [listener_text(name, each.bound) for name, each in found.items()] == TWO.split(",")


def test_single_named_listener_may_be_advertised_without_its_name() -> None:
    assert listeners("public://0.0.0.0:9092", "b-0.example:9092")["public"].advertised == ("b-0.example", 9092)


@pytest.mark.parametrize(
    ("kafka", "advertised", "says"),
    [
        ("127.0.0.1:9092,127.0.0.1:9094", None, "give each listener a unique name"),
        ("a://127.0.0.1:9092,127.0.0.1:9094", None, "give each listener a unique name"),
        ("a://127.0.0.1:9092,a://127.0.0.1:9094", None, "give each listener a unique name"),
        ("a b://127.0.0.1:9092", None, "a listener name is a letter"),
        ("://127.0.0.1:9092", None, "a listener name is a letter"),
        ("a://9092", None, "is not HOST:PORT"),
        (TWO, "b-0.example:9092", "--kafka-advertised has b-0.example:9092, which is not in --kafka"),
        (TWO, "outside://b-0.example:9092", "--kafka-advertised has outside, which is not in --kafka"),
        (TWO, "external://0.0.0.0:9094", "cannot be advertised"),
        ("127.0.0.1:9092", "external://b-0.example:9092", "--kafka-advertised has external"),
        ("off", "b-0.example:9092", "--kafka is off"),
    ],
)
def test_invalid_listener_is_rejected(kafka: str, advertised: str | None, says: str) -> None:
    with pytest.raises(CommandError, match=says):
        listeners(kafka, advertised)


def test_tls_applies_to_all_or_selected_listeners() -> None:
    names = ("internal", "external")
    assert list(speaking_tls(Config(), names)) == []
    assert list(speaking_tls(WITH_TLS, names)) == ["internal", "external"]
    assert list(speaking_tls(replace(WITH_TLS, tls_kafka_listeners=" external "), names)) == ["external"]
    with pytest.raises(CommandError, match="tls_kafka_listeners has outside"):
        speaking_tls(replace(WITH_TLS, tls_kafka_listeners="outside"), names)
    with pytest.raises(CommandError, match="requires tls_certificate"):
        speaking_tls(Config(tls_kafka_listeners="external"), names)


def test_listener_errors_are_reported_before_the_broker_is_loaded() -> None:
    words = ["serve", "--http", "0.0.0.0:0", "--kafka", "off"]
    program = (
        "import sys\nfrom redis_ledger.app.cli.main import app\n"
        f"sys.argv[1:] = {words}\n"
        "try: app()\nfinally: print('redis_ledger.app.http.application' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (ran.returncode, ran.stdout) == (2, "False\n"), ran.stderr
    assert "Other machines can reach" in ran.stderr
