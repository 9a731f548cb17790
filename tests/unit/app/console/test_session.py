"""app/console/session: nothing but what we sealed is taken for a session, and nothing but our forms for ours."""

from __future__ import annotations

import base64

import msgspec
import pytest

from app.console.session import (
    LIFE_S,
    SKEW_S,
    Session,
    Signer,
    is_loopback_name,
    is_same_origin,
)

ADA = Session("User:ada", "user:ada", "proof", 1_000, "00")
SIGNER = Signer(b"secret")


def test_what_was_sealed_is_opened_until_it_is_too_old():
    cookie = SIGNER.seal(ADA)
    assert SIGNER.open(cookie, 1_000) == ADA
    assert SIGNER.open(cookie, 1_000 + LIFE_S - 1) == ADA
    assert SIGNER.open(cookie, 1_000 + LIFE_S) is None
    assert SIGNER.open(cookie, 1_000 - SKEW_S) == ADA, "of a broker whose clock is ahead"
    assert SIGNER.open(cookie, 999 - SKEW_S) is None, "from the future"


def test_a_cookie_of_another_redis_is_none():
    assert Signer(b"other").open(SIGNER.seal(ADA), 1_000) is None


@pytest.mark.parametrize("cookie", ["", ".", "a.b", "x" * 5_000, "é.é"])
def test_what_is_no_cookie_of_ours_is_none(cookie):
    assert SIGNER.open(cookie, 1_000) is None


def test_another_principal_cannot_be_written_into_a_cookie():
    _, _, mark = SIGNER.seal(ADA).partition(".")
    forged = base64.urlsafe_b64encode(msgspec.json.encode(msgspec.structs.replace(ADA, principal="User:root")))
    assert SIGNER.open(f"{forged.decode().rstrip('=')}.{mark}", 1_000) is None


def test_the_proof_of_a_form_is_that_of_one_session():
    other = msgspec.structs.replace(ADA, nonce="01")
    assert SIGNER.is_ours(ADA, SIGNER.csrf(ADA))
    assert not SIGNER.is_ours(ADA, SIGNER.csrf(other))
    assert not SIGNER.is_ours(ADA, "")
    assert SIGNER.csrf(ADA) not in SIGNER.seal(ADA)


def test_the_cookie_is_found_among_others_and_kept_from_scripts():
    made, *attributes = SIGNER.set_cookie("abc.def", is_https=True).split("; ")
    assert {"HttpOnly", "SameSite=Lax", "Secure", "Path=/console"} <= set(attributes)
    assert "Max-Age=0" in SIGNER.set_cookie("", is_https=False)
    assert SIGNER.cookie_of(f"a=1; {made}; b=2") == "abc.def"
    assert SIGNER.cookie_of(None) == ""
    assert SIGNER.cookie_of("a=1") == ""


def test_consoles_of_two_redis_on_one_host_keep_their_cookies_apart():
    made = SIGNER.set_cookie("abc.def", is_https=False).partition(";")[0]
    assert Signer(b"other").cookie_of(made) == ""
    assert Signer(b"secret").cookie_of(made) == "abc.def", "other brokers of the same Redis"


@pytest.mark.parametrize(
    ("headers", "is_ours"),
    [
        ({"host": "a:1"}, True),
        ({"host": "a:1", "origin": "http://a:1"}, True),
        ({"host": "a:1", "origin": "http://b:1"}, False),
        ({"host": "a:1", "origin": "https://a:1"}, True),  # a proxy before us ends TLS
        ({"host": "a:1", "origin": "https://a:2"}, False),
        ({"host": "inside:1", "origin": "https://a", "sec-fetch-site": "same-origin"}, True),
        ({"host": "a:1", "origin": "null"}, False),
        ({"host": "a:1", "sec-fetch-site": "cross-site"}, False),
        ({"host": "a:1", "sec-fetch-site": "same-site", "origin": "http://a:1"}, False),
        ({"host": "a:1", "sec-fetch-site": "same-origin", "origin": "http://a:1"}, True),
    ],
)
def test_where_a_form_came_from(headers, is_ours):
    assert is_same_origin(headers, "http") is is_ours


def test_a_page_without_tls_is_another_site_than_one_with_it():
    assert not is_same_origin({"host": "a:1", "origin": "http://a:1"}, "https")


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        ("localhost:8080", True), ("127.0.0.1", True), ("[::1]:80", True), ("app.localhost", True),
        ("evil.example:8080", False), ("127.evil.example", False), ("", False), ("localhost.evil.example", False),
    ],
)  # fmt: skip
def test_names_of_this_machine(host, is_loopback):
    assert is_loopback_name(host) is is_loopback
