"""app/tools/mirror/endpoint: addresses and files of properties, and what is said of wrong ones."""

from __future__ import annotations

import pytest

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.tools.mirror.endpoint import connection


def properties(tmp_path, text):
    path = tmp_path / "mirror.properties"
    path.write_text(text)
    return path


def test_kafka_without_authentication_needs_only_an_address():
    found = connection("kafka://a:9092,b:9093", "--from", None)
    assert found == {"bootstrap_servers": "a:9092,b:9093", "security_protocol": "PLAINTEXT"}


def test_credentials_are_read_from_a_file(tmp_path):
    path = properties(
        tmp_path,
        "# a comment\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism = SCRAM-SHA-256\n"
        "sasl.username=ada\nsasl.password=a=b\n",
    )
    found = connection("kafka://a:9092", "--from", path)
    assert (found["sasl_mechanism"], found["sasl_plain_username"]) == ("SCRAM-SHA-256", "ada")
    assert found["sasl_plain_password"] == "a=b"
    assert "ssl_context" not in found


def test_tls_context_verifies_the_server(tmp_path):
    found = connection("kafka://a:9092", "--from", properties(tmp_path, "security.protocol=SSL\n"))
    assert found["ssl_context"].check_hostname


@pytest.mark.parametrize(
    ("address", "text", "said"),
    [
        ("http://a:9092", "", "--from"),
        ("kafka://a", "", "kafka://HOST:PORT"),
        ("kafka://", "", "kafka://HOST:PORT"),
        ("kafka://a:1", "security.protocol=TLS\n", "use one of"),
        ("kafka://a:1", "security.protocol=SASL_SSL\nsasl.mechanism=GSSAPI\n", "use one of"),
        ("kafka://a:1", "security.protocol=SASL_PLAINTEXT\nsasl.username=a\n", "no sasl.password"),
        ("kafka://a:1", "sasl.pasword=hidden\n", "line 1"),
        ("kafka://a:1", "security.protocol=SSL\nssl.ca.location=/nowhere/ca.pem\n", "certificates"),
    ],
)
def test_errors_contain_no_secret(tmp_path, address, text, said):
    with pytest.raises(CommandError) as refusal:
        connection(address, "--from", properties(tmp_path, text))
    assert said in str(refusal.value)
    assert "hidden" not in str(refusal.value)
