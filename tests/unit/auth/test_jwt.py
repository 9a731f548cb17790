"""JSON Web Tokens: principals of valid ones, and every way in which one is invalid."""

from __future__ import annotations

import json
import time

import jwt as pyjwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from redis_ledger.auth import jwt
from redis_ledger.errors import InvalidRequest, Unauthenticated

EXPECTED = jwt.Expected("https://id.example", "redis-ledger", "sub")
RSA = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()
OTHER = ec.generate_private_key(ec.SECP256R1())


def jwk(key, kid, **more):
    algorithm = {"RSA": "RS256", "EC": "ES256", "ED": "EdDSA"}[kid]
    made = pyjwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key(), as_dict=True)
    return {**made, "kid": kid, **more}


KEYS = jwt.keys_of(json.dumps({"keys": [jwk(RSA, "RSA"), jwk(EC, "EC"), jwk(ED, "ED")]}).encode())


def claims(**more):
    now = int(time.time())
    return {"iss": EXPECTED.issuer, "aud": EXPECTED.audience, "sub": "ada", "exp": now + 60, **more}


def signed(fields=None, key=EC, algorithm="ES256", kid="EC"):
    return pyjwt.encode(claims() if fields is None else fields, key, algorithm, headers={"kid": kid})


@pytest.mark.parametrize(("key", "algorithm", "kid"), [(RSA, "RS256", "RSA"), (EC, "ES256", "EC"), (ED, "EdDSA", "ED")])
def test_a_valid_token_names_its_principal_and_its_end(key, algorithm, kid):
    fields = claims()
    assert jwt.verify(signed(fields, key, algorithm, kid), KEYS, EXPECTED) == ("User:ada", (fields["exp"] + 30) * 1000)


def test_another_claim_can_name_the_principal():
    expected = EXPECTED._replace(claim="email")
    assert jwt.verify(signed(claims(email="a@b.c")), KEYS, expected)[0] == "User:a@b.c"
    with pytest.raises(Unauthenticated, match="'email' is no name"):
        jwt.verify(signed(), KEYS, expected)


def without(name):
    return {key: value for key, value in claims().items() if key != name}


@pytest.mark.parametrize(
    "token",
    [
        signed(claims(exp=int(time.time()) - 31)),
        signed(claims(nbf=int(time.time()) + 600)),
        *(signed(claims(exp=exp)) for exp in ("9999999999", 10**30, 2**53, float("inf"), float("nan"), True)),
        signed(claims(nbf="1")), signed(claims(nbf=float("-inf"))), signed(claims(iat="1")), signed(claims(iat=-1)),
        signed(claims(iss="https://evil.example")),
        signed(claims(aud="another")),
        signed(claims(sub="")), signed(claims(sub="*")), signed(claims(sub=" ")),
        signed(claims(sub="a\nb")), signed(claims(sub=7)), signed(claims(sub="x" * 300)),
        *(signed(without(name)) for name in ("exp", "iss", "aud", "sub")),
        signed(key=OTHER),
        signed(key=RSA, algorithm="RS256", kid="EC"),
        signed(key=RSA, algorithm="RS512", kid="RSA"),
        pyjwt.encode(claims(), "", "none", headers={"kid": "EC"}),
        pyjwt.encode(claims(), "s" * 64, "HS256", headers={"kid": "EC"}),
        signed()[:-4] + "AAAA", "a.b.c", "..", "a.b",
    ],
)  # fmt: skip
def test_any_other_token_is_refused(token):
    with pytest.raises(Unauthenticated):
        jwt.verify(token, KEYS, EXPECTED)


def test_a_token_made_by_the_public_key_as_a_shared_secret_is_refused():
    # Given keys of the same bytes for a symmetric algorithm
    secret = {"kty": "oct", "kid": "oct", "k": "c2VjcmV0" * 8, "alg": "HS256"}
    keys = jwt.keys_of(json.dumps({"keys": [secret, jwk(EC, "EC")]}).encode())
    # Then that key is not even there
    assert list(keys) == ["EC"]


def test_clocks_may_differ_by_half_a_minute():
    assert jwt.verify(signed(claims(exp=int(time.time()) - 25)), KEYS, EXPECTED)[0] == "User:ada"


def test_unknown_key_raises_its_own_error_so_that_keys_are_fetched_again():
    with pytest.raises(jwt.UnknownKey):
        jwt.verify(signed(kid="newer"), KEYS, EXPECTED)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b'{"keys": []}', b'{"keys": [{"kty": "oct", "k": "YQ"}]}', b"\xff"]
)
def test_files_without_a_usable_key_are_refused(text):
    with pytest.raises(InvalidRequest, match="jwt_jwks"):
        jwt.keys_of(text)
