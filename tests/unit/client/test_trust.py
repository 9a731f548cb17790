"""redis_ledger/client/trust: unusable client certificates."""

from __future__ import annotations

import ssl

import pytest
from cryptography.hazmat.primitives import serialization

from redis_ledger.client.trust import believed
from redis_ledger.errors import InvalidRequest
from tests.support.certificates import Authority

HTTPS = ["https://127.0.0.1:8080"]


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


def test_a_certificate_may_come_with_its_key_in_one_file_or_in_two(authority, tmp_path):
    certificate, key = authority.issue("ada")
    both = tmp_path / "both.pem"
    both.write_bytes(certificate.read_bytes() + key.read_bytes())
    assert isinstance(believed(HTTPS, cert_file=str(both)), ssl.SSLContext)
    assert isinstance(believed(HTTPS, cert_file=str(certificate), key_file=str(key)), ssl.SSLContext)
    assert believed(["http://127.0.0.1"], cert_file=str(both)) is True, "without TLS nothing is shown"


def test_unusable_key_file_is_reported_without_a_password_prompt(authority, tmp_path):
    certificate, key = map(str, authority.issue("ada"))
    other = str(authority.issue("eve")[1])
    locked = tmp_path / "locked.key"
    loaded = serialization.load_pem_private_key((tmp_path / "ada.key").read_bytes(), None)
    locked.write_bytes(
        loaded.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x")
        )
    )
    for given, said in (
        ({"cert_file": str(tmp_path / "none.pem")}, "No such file"),
        ({"cert_file": certificate, "key_file": other}, "KEY_VALUES_MISMATCH"),
        ({"cert_file": certificate, "key_file": str(locked)}, "the key is encrypted"),
        ({"cert_file": key}, "give PEM files"),
        ({"key_file": key}, "without cert_file"),
    ):
        with pytest.raises(InvalidRequest, match=said):
            believed(HTTPS, **given)


def test_the_environment_may_name_it(authority, monkeypatch):
    certificate, key = map(str, authority.issue("ada"))
    monkeypatch.setenv("REDIS_LEDGER_CERT_FILE", certificate)
    with pytest.raises(InvalidRequest, match="cannot be used"):
        believed(HTTPS)  # without its key
    monkeypatch.setenv("REDIS_LEDGER_KEY_FILE", key)
    assert isinstance(believed(HTTPS), ssl.SSLContext)
