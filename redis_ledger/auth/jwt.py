"""JSON Web Tokens: verification with the keys of their issuer, and the principal that they name.

    header.claims.signature     kid selects the key, and the key fixes the algorithm; both must agree
    iss, aud, exp               required and checked, with 30 s of clock skew; times are numbers
    "User:" + claims["sub"]     or the claim that a setting names

Only asymmetric algorithms are accepted: a verifier must not be able to issue tokens, and `none` proves nothing.
Pure: no I/O; `now` is PyJWT's.  Needs the extra `jwt`.  Source: RFC 7517, RFC 7519, RFC 8725.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from redis_ledger.auth.acl import is_principal_name
from redis_ledger.errors import InvalidRequest, Unauthenticated

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
KINDS = frozenset(("RSA", "EC", "OKP"))
LEEWAY_S = 30
PRINCIPAL_CHARACTERS_MAX = 255
TIME_MAX_S = 2**53 // 1000  # in ms it is still exact in JSON
_REFUSED = "The JSON Web Token is not valid here"


class Expected(NamedTuple):
    """What a token has to say.  claim: which one names the caller."""

    issuer: str
    audience: str
    claim: str


class UnknownKey(Exception):
    """Signed with a key that is not among those known; there may be newer ones."""


def keys_of(text: bytes) -> dict[str, Any]:
    """The keys of a JWK set by kid ("" for one without).  What cannot be used for verifying is passed over.
    Raises InvalidRequest."""
    jwt = library()
    try:
        found = msgspec.json.decode(text)["keys"]
        usable = [each for each in found if each.get("kty") in KINDS and each.get("use", "sig") == "sig"]
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError, AttributeError):
        raise InvalidRequest('jwt_jwks is no JWK set: a JSON object with an array "keys".') from None
    keys: dict[str, Any] = {}
    for each in usable:
        try:
            key = jwt.PyJWK.from_dict(each)
        except (jwt.PyJWTError, ValueError, KeyError, binascii.Error):
            continue
        if key.algorithm_name in ALGORITHMS:
            keys[str(each.get("kid", ""))] = key
    if not keys:
        raise InvalidRequest("jwt_jwks holds no key that tokens can be verified with (RSA, EC or Ed25519).")
    return keys


def verify(token: str, keys: Mapping[str, Any], expected: Expected) -> tuple[str, int]:
    """The principal, and when the token ends (Unix ms).  Raises UnknownKey, Unauthenticated."""
    jwt = library()
    try:
        kid = str(jwt.get_unverified_header(token).get("kid", ""))
        key = keys.get(kid)
        if key is None and not kid and len(keys) == 1:
            key = next(iter(keys.values()))
        if key is None:
            raise UnknownKey(kid)
        claims = jwt.decode(
            token, key, algorithms=[key.algorithm_name], issuer=expected.issuer, audience=expected.audience,
            leeway=LEEWAY_S, options={"require": ["exp", "iss", "aud"]},
        )  # fmt: skip
    except jwt.ExpiredSignatureError:
        raise Unauthenticated(f"{_REFUSED}: it has expired. Get another one.") from None
    except jwt.InvalidAudienceError:
        raise Unauthenticated(f"{_REFUSED}: it was issued for another audience (aud).") from None
    except (jwt.PyJWTError, ValueError, TypeError, OverflowError):
        raise Unauthenticated(f"{_REFUSED}. Get another one.") from None
    for each in ("exp", "nbf", "iat"):  # PyJWT accepts numbers in strings
        if not _is_time(claims.get(each, 0)):
            raise Unauthenticated(f"{_REFUSED}: its claim {each!r} is no time.")
    name = claims.get(expected.claim)
    if (
        not isinstance(name, str)
        or not name
        or not name.isprintable()
        or len(name) > PRINCIPAL_CHARACTERS_MAX - 5
        or not is_principal_name(name)
    ):
        raise Unauthenticated(f"{_REFUSED}: its claim {expected.claim!r} is no name.")
    return f"User:{name}", (int(claims["exp"]) + LEEWAY_S) * 1000


def _is_time(claim: object) -> bool:
    return isinstance(claim, int | float) and not isinstance(claim, bool) and 0 <= claim <= TIME_MAX_S


def library() -> Any:
    """Raises InvalidRequest where it is not installed."""
    try:
        import jwt
    except ImportError:
        raise InvalidRequest("jwt_jwks takes PyJWT: pip install '.[jwt]' in a checkout.") from None
    return jwt
