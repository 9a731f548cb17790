"""SCRAM: the stored verifier of a password, and the server's half of the exchange.

    password ──PBKDF2(salt, iterations)──▶ salted ──HMAC──▶ client key ──hash──▶ stored key ┐ stored
                                              └────HMAC──▶ server key                       ┘

    n,,n=<user>,r=<c>             ─▶
                                  ◀─  r=<c><s>,s=<salt>,i=<iterations>
    c=biws,r=<c><s>,p=<proof>     ─▶     proof = client key XOR HMAC(stored key, auth message)
                                  ◀─  v=<HMAC(server key, auth message)>

A stored verifier cannot be used to log in: the proof needs the client key.  As in Kafka, names and passwords are UTF-8
without SASLprep, and there is no channel binding.  Pure; PBKDF2 takes milliseconds: call `salt_password` in a thread.
Source: RFC 5802, RFC 7677, KIP-84.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64decode, b64encode

from msgspec import Struct

from redis_ledger.errors import AuthenticationFailed

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16_384
_FIRST = re.compile(r"([ny],(?:a=([^,]*))?,)(n=([^,]+),r=([\x21-\x2b\x2d-\x7e]+)(?:,[a-zA-Z]=[^,]*)*)\Z")
_FINAL = re.compile(r"(c=([^,]+),r=([\x21-\x2b\x2d-\x7e]+)(?:,[a-zA-Z]=[^,]*)*),p=([^,]+)\Z")


class Verifier(Struct, frozen=True):
    """What is kept for one user and one mechanism."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes


def salt_password(mechanism: str, password: str, salt: bytes, iterations: int) -> bytes:
    """Cost: iterations times two hashes; other threads run meanwhile."""
    return hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)


def verifier_of(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> Verifier:
    name = HASHES[mechanism]
    stored_key = hashlib.new(name, hmac.digest(salted, b"Client Key", name)).digest()
    return Verifier(salt, iterations, stored_key, hmac.digest(salted, b"Server Key", name))


def is_password(mechanism: str, password: str, verifier: Verifier) -> bool:
    """Cost: that of salt_password."""
    salted = salt_password(mechanism, password, verifier.salt, verifier.iterations)
    made = verifier_of(mechanism, salted, verifier.salt, verifier.iterations)
    return hmac.compare_digest(made.stored_key, verifier.stored_key)


class Exchange:
    """One exchange: `user_of`, `challenge`, `finish`, each once and in this order."""

    def __init__(self, mechanism: str, nonce: str) -> None:
        """nonce: fresh, printable, without a comma."""
        self._hash, self._nonce = HASHES[mechanism], nonce

    def user_of(self, first: bytes) -> str:
        """The name in the client's first message.  Raises AuthenticationFailed."""
        found = _FIRST.match(_text(first))
        if found is None:
            raise AuthenticationFailed("The client's first SCRAM message cannot be read.")
        header, as_whom, self._first, name, nonce = found.groups()
        self._channel = b64encode(header.encode()).decode()
        self._nonce = nonce + self._nonce
        user = name.replace("=2C", ",").replace("=3D", "=")
        if re.search("=(?!2C|3D)", name) or as_whom not in (None, "", name):
            raise AuthenticationFailed("A client can only log in as itself.")
        return user

    def challenge(self, verifier: Verifier) -> bytes:
        self._verifier = verifier
        salt = b64encode(verifier.salt).decode()
        self._challenge = f"r={self._nonce},s={salt},i={verifier.iterations}"
        return self._challenge.encode()

    def finish(self, final: bytes) -> bytes:
        """The server's signature.  Raises AuthenticationFailed."""
        found = _FINAL.match(_text(final))
        if found is None or found[2] != self._channel or not hmac.compare_digest(found[3], self._nonce):
            raise AuthenticationFailed("The client's last SCRAM message does not belong to this exchange.")
        proof = _base64(found[4])
        said = f"{self._first},{self._challenge},{found[1]}".encode()
        signature = hmac.digest(self._verifier.stored_key, said, self._hash)
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
        stored_key = hashlib.new(self._hash, client_key).digest()
        if len(proof) != len(signature) or not hmac.compare_digest(stored_key, self._verifier.stored_key):
            raise AuthenticationFailed
        return b"v=" + b64encode(hmac.digest(self._verifier.server_key, said, self._hash))


def _text(message: bytes) -> str:
    try:
        return message.decode()
    except UnicodeDecodeError:
        raise AuthenticationFailed("A SCRAM message is not UTF-8.") from None


def _base64(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return b""
