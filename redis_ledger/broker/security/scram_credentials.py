"""SCRAM credentials: verifiers of users in Redis, and checks of passwords.

    rl:{catalog}:users   ada → {"SCRAM-SHA-256": {salt, iterations, stored_key, server_key}, "SCRAM-SHA-512": ...}
                         ""  → a secret of this Redis, from which unknown users get their salts

Passwords are not stored.  User names cannot be probed: an unknown user gets a challenge with a stable salt and fails
like a wrong password, after the same work.  New users have the iteration count of Kafka's tools, so that the count does
not reveal them either.  Every check reads Redis, so a removed user cannot log in at any broker; Kafka listeners close
its open connections, and those of a user whose password has changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from weakref import WeakValueDictionary

import msgspec

from redis_ledger.auth.acl import is_principal_name
from redis_ledger.auth.scram import (
    HASHES,
    ITERATIONS_MAX,
    ITERATIONS_MIN,
    Verifier,
    is_password,
    salt_password,
    verifier_of,
)
from redis_ledger.errors import AuthenticationFailed, UnacceptableCredential, Unavailable, UnknownUser
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store
from redis_ledger.store.stored_json import stored_json

REPLACE_USER = Script.load("broker/replace_user")
NAME_CHARACTERS_MAX, SALT_BYTES_MAX = 255, 1024
SALT_BYTES = 16
HASHING_MAX = max((os.cpu_count() or 2) // 2, 1)  # passwords hashed at once: logging in must not take all processors
SECRET = ""  # its field

Verifiers = dict[str, Verifier]


class ScramCredentials:
    def __init__(self, store: Store) -> None:
        self._store, self._key = store, CatalogKeys(store.prefix).users
        self._decode = stored_json(Verifiers, "The verifier of a user", is_secret=True)
        self._hashing = asyncio.Semaphore(HASHING_MAX)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # one for each host that logs in

    # -- look up -----------------------------------------------------------------------------------------------------

    async def all(self) -> dict[str, Verifiers]:
        """By name, in its order."""
        rows = await self._store.command("HGETALL", self._key, key=self._key)
        found = {name.decode(): row for name, row in zip(rows[::2], rows[1::2], strict=True)}
        return {name: self._decode(found[name]) for name in sorted(found) if name != SECRET}

    async def marks(self, names: Iterable[str]) -> dict[str, str]:
        """The marks of those of the names that are users."""
        asked = sorted({name for name in names if is_name(name)})
        rows = await self._store.command("HMGET", self._key, *asked, key=self._key) if asked else []
        return {name: _mark(row) for name, row in zip(asked, rows, strict=True) if row}

    async def verifier(self, name: str, mechanism: str) -> tuple[Verifier, str]:
        """What a proof of this user is checked with, and the user's mark; a verifier that nothing can prove for who is
        not a user."""
        found, mark, secret = await self._read(name)
        return found.get(mechanism) or _nobodys(name, mechanism, secret), mark

    async def check_password(self, name: str, password: str, host: str = "") -> str:
        """The user's mark.  host: from where; who tries many at once waits for itself, and not others for it.
        Raises AuthenticationFailed."""
        found, mark, secret = await self._read(name)
        mechanism = next((each for each in HASHES if each in found), next(iter(HASHES)))
        verifier = found.get(mechanism) or _nobodys(name, mechanism, secret)
        turn = self._turns.setdefault(host, asyncio.Lock())
        async with turn, self._hashing:
            if not await asyncio.to_thread(is_password, mechanism, password, verifier):
                raise AuthenticationFailed
        return mark

    async def mark(self, name: str) -> str:
        """Another one whenever the user's password changes; "": it is not a user.  A mark proves nothing."""
        return (await self._read(name))[1]

    async def secret(self) -> bytes:
        """What only the brokers of this Redis know; the same for all of them, and for as long as the Redis lives."""
        return (await self._read(SECRET))[2]

    async def _read(self, name: str) -> tuple[Verifiers, str, bytes]:
        """The user's verifiers, none if it is not one, the mark, and the secret."""
        asked = name if is_name(name) else SECRET
        command, key = self._store.command, self._key
        row, secret = await command("HMGET", key, asked, SECRET, key=key)
        if secret is None:
            await self._store.write_allow_oom("HSETNX", key, SECRET, os.urandom(32).hex())
            row, secret = await command("HMGET", key, asked, SECRET, key=key)
        if not row or asked == SECRET:
            return {}, "", secret
        return self._decode(row), _mark(row), secret

    # -- change ------------------------------------------------------------------------------------------------------

    async def add(self, name: str, password: str) -> bool:
        """Gives the user this password, for every mechanism; True if it is new.  Raises UnacceptableCredential."""
        if not password:
            raise UnacceptableCredential("The password is empty.")
        made: dict[str, Verifier | None] = {}
        for mechanism in HASHES:
            salt = os.urandom(SALT_BYTES)
            salted = await asyncio.to_thread(salt_password, mechanism, password, salt, ITERATIONS_MIN)
            made[mechanism] = verifier_of(mechanism, salted, salt, ITERATIONS_MIN)
        return await self.change(name, made)

    async def remove(self, name: str) -> None:
        """Raises UnknownUser."""
        if name not in await self.all():
            raise UnknownUser(f"There is no user {name!r}.")
        await self.change(name, dict.fromkeys(HASHES))

    async def change(self, name: str, wanted: Mapping[str, Verifier | None]) -> bool:
        """Sets verifiers by mechanism, or (None) forgets them; True if the user is new.

        Raises UnacceptableCredential for what cannot be a user's name.
        """
        if not is_name(name):
            raise UnacceptableCredential(
                f"A user's name has 1 to {NAME_CHARACTERS_MAX} printable characters and is not *, "
                "which matches all users."
            )
        seen: bytes = await self._store.command("HGET", self._key, name, key=self._key) or b""
        for _ in range(8):
            merged = {**(self._decode(seen) if seen else {}), **wanted}
            kept = {mechanism: verifier for mechanism, verifier in merged.items() if verifier is not None}
            text = msgspec.json.encode(kept, order="deterministic") if kept else b""
            reply = await self._store.call(REPLACE_USER, (self._key,), (name, seen, text))
            if reply[0] == Status.OK:
                return not seen
            seen = reply[1]
        raise Unavailable(f"User {name!r} is being changed concurrently; try again.")


def _mark(row: bytes) -> str:
    return hashlib.sha256(row).hexdigest()


def is_name(name: str) -> bool:
    return 1 <= len(name) <= NAME_CHARACTERS_MAX and name.isprintable() and is_principal_name(name)


def check_salted(mechanism: str, salted: bytes, salt: bytes, iterations: int) -> Verifier:
    """The verifier of a password that a client has salted itself.  Raises UnacceptableCredential."""
    if not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise UnacceptableCredential(f"{iterations} iterations; take {ITERATIONS_MIN} to {ITERATIONS_MAX}.")
    made = verifier_of(mechanism, salted, salt, iterations)
    if len(salted) != len(made.stored_key) or not 1 <= len(salt) <= SALT_BYTES_MAX:
        raise UnacceptableCredential(
            f"The salted password is not one of {mechanism}, or the salt is empty or too long."
        )
    return made


def _nobodys(name: str, mechanism: str, secret: bytes) -> Verifier:
    salt = hmac.digest(secret, f"{mechanism} {name}".encode(), "sha256")[:SALT_BYTES]
    size = len(verifier_of(mechanism, b"", b"", 0).stored_key)
    return Verifier(salt, ITERATIONS_MIN, os.urandom(size), os.urandom(size))
