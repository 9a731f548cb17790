"""app/console/session: nothing but what we sealed is taken for a session, and nothing but our forms for ours."""

from __future__ import annotations

import base64

import msgspec
import pytest

from redis_ledger.app.console.session import LIFE_S, SKEW_S, Session, Signer

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
    assert SIGNER.is_valid_csrf(ADA, SIGNER.csrf(ADA))
    assert not SIGNER.is_valid_csrf(ADA, SIGNER.csrf(other))
    assert not SIGNER.is_valid_csrf(ADA, "")
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
