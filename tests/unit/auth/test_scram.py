"""SCRAM against the vectors of its RFCs, an independent client, and hostile messages."""

from __future__ import annotations

from base64 import b64decode, b64encode

import pytest
from aiokafka.conn import ScramAuthenticator
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.auth.scram import HASHES, Exchange, Verifier, is_password, salt_password, verifier_of
from redis_ledger.errors import AuthenticationFailed

# RFC 7677, section 3
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT, SERVER = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
FIRST = f"n,,n=user,r={CLIENT}".encode()
CHALLENGE = f"r={CLIENT}{SERVER},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode()
PROOF = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
FINAL = f"c=biws,r={CLIENT}{SERVER},p={PROOF}".encode()
SIGNATURE = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def kept(mechanism: str = "SCRAM-SHA-256", password: str = "pencil", iterations: int = 4096) -> Verifier:
    return verifier_of(mechanism, salt_password(mechanism, password, SALT, iterations), SALT, iterations)


VERIFIER = kept()


def challenged(first: bytes = FIRST) -> Exchange:
    exchange = Exchange("SCRAM-SHA-256", SERVER)
    exchange.user_of(first)
    exchange.challenge(VERIFIER)
    return exchange


def test_the_exchange_of_the_rfc_goes_as_the_rfc_prints_it():
    exchange = Exchange("SCRAM-SHA-256", SERVER)
    assert exchange.user_of(FIRST) == "user"
    assert exchange.challenge(VERIFIER) == CHALLENGE
    assert exchange.finish(FINAL) == SIGNATURE


@pytest.mark.parametrize("mechanism", HASHES)
@pytest.mark.parametrize("name", ["ada", "a,b=c", "grüße"])
def test_a_client_of_aiokafka_logs_in_and_believes_the_server(mechanism, name):
    # Given a client that was written by others
    client = ScramAuthenticator(
        loop=None, sasl_plain_password="p=ä,ss", sasl_plain_username=name, sasl_mechanism=mechanism
    )
    steps = client.authenticator_scram()
    first, _ = next(steps)
    # When it talks to our half of the exchange
    exchange = Exchange(mechanism, SERVER)
    assert exchange.user_of(first) == name
    final, _ = steps.send(exchange.challenge(kept(mechanism, "p=ä,ss")))
    # Then each proves to the other that it knows the password
    with pytest.raises(StopIteration):
        steps.send(exchange.finish(final))


def test_a_proof_with_another_password_is_refused():
    other = verifier_of("SCRAM-SHA-256", salt_password("SCRAM-SHA-256", "pencils", SALT, 4096), SALT, 4096)
    exchange = Exchange("SCRAM-SHA-256", SERVER)
    exchange.user_of(FIRST)
    exchange.challenge(other)
    with pytest.raises(AuthenticationFailed):
        exchange.finish(FINAL)


@pytest.mark.parametrize(
    "first",
    [
        b"", b"\xff", b"n,,n=user", b"n,,r=x", b"p=tls-unique,,n=user,r=x", b"n,,n=,r=x", b"n,,n=user,r=",
        b"n,,n=us=er,r=x", b"n,,n=user,r=x\x00y", b"n,,n=user,r=x,tokenauth=true", b"n,,m=1,n=user,r=x",
        b"n,a=root,n=user,r=x", b"n,,n=user,r=x\n",
    ],
)  # fmt: skip
def test_a_first_message_that_is_not_what_it_must_be_is_refused(first):
    with pytest.raises(AuthenticationFailed):
        Exchange("SCRAM-SHA-256", SERVER).user_of(first)


@pytest.mark.parametrize(
    "final",
    [
        b"",
        b"\xff",
        FINAL.replace(b"c=biws", b"c=eSws"),
        FINAL.replace(SERVER.encode(), b"x" * len(SERVER)),
        FINAL.replace(CLIENT.encode(), b"x" * len(CLIENT)),
        FINAL.replace(PROOF.encode(), b"AAAA"),
        FINAL.replace(PROOF.encode(), b64encode(bytes(32))),
        FINAL.replace(PROOF.encode(), b"not base64!"),
        FINAL + b"AAAA",
        FINAL.partition(b",p=")[0],
    ],
)
def test_a_last_message_that_is_not_what_it_must_be_is_refused(final):
    with pytest.raises(AuthenticationFailed):
        challenged().finish(final)


def test_the_channel_is_the_one_the_client_began_with():
    # The client's first message said "y,,", so "biws" ("n,,") was inserted by an attacker.
    with pytest.raises(AuthenticationFailed):
        challenged(FIRST.replace(b"n,,", b"y,,", 1)).finish(FINAL)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_no_message_does_anything_but_fail(first, final):
    exchange = Exchange("SCRAM-SHA-256", SERVER)
    with pytest.raises(AuthenticationFailed):
        exchange.user_of(first)
    with pytest.raises(AuthenticationFailed):
        challenged().finish(final)


@pytest.mark.parametrize("mechanism", HASHES)
def test_a_password_is_known_from_what_is_kept_and_no_other_is(mechanism):
    verifier = kept(mechanism)
    assert is_password(mechanism, "pencil", verifier)
    for other in ("", "Pencil", "pencil ", "penci"):
        assert not is_password(mechanism, other, verifier)
