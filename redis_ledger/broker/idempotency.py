"""Idempotency-Key: a request that is repeated gets the first one's answer and is not carried out again.

    rl:{idem:<digest>}       what is known of the key: the request's fingerprint, its producer id and nonce, its answer
    rl:{idem:<digest>}|run   who works on it now: a token with a lease, so that a killed broker blocks nobody for long

    claim    take the lease, then read the record
               answered                            → replay it
               lease taken by another              → RequestInProgress
               known, no answer, lease is ours now → resumed: with the same producer id and nonce as the first attempt,
                                                     so the partition and the coordinator know what they did already
    finish   write the answer, give up the lease
    release  forget the key: the request changed nothing
    suspend  give up the lease only: nobody knows what was changed; the same request may be repeated, and resumes

A Redis that is full takes claims of requests that add no records: to end a transaction frees memory.  Those of requests
that add some are refused with it, or refused requests would fill it further.

Source: draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from redis_ledger.errors import IdempotencyKeyReused, InvalidRequest, RequestInProgress, Unavailable
from redis_ledger.store.keys import idempotency_key
from redis_ledger.store.store import Store

KEY_LENGTH_MAX = 255
ANSWER_BYTES_MAX = 1 << 20  # a larger answer is not kept; the key stays known and a repeat is carried out again
NO_PRODUCER = -1

# version, fingerprint (SHA-256), nonce, producer id, status (0: no answer yet); the answer's body follows
_RECORD = struct.Struct(">B32s16sqH")
_VERSION = 1


@dataclass(slots=True)
class Claim:
    """The right to carry out the request of a key; or, with `replay`, its answer.

    nonce        the same for every attempt at this request
    producer_id  likewise, if one was given at the first claim
    resumed      an earlier attempt may have changed something
    kept_for_s   the seconds for which the key is kept, if these are fewer than settings say
    """

    nonce: str = ""
    producer_id: int | None = None
    resumed: bool = False
    replay: tuple[int, bytes] | None = None
    kept_for_s: int | None = None
    _lease: _Lease | None = field(default=None, repr=False)
    _when_kept: list[Callable[[], None]] = field(default_factory=list, repr=False)

    async def finish(self, status: int, body: bytes) -> None:
        """Keep the answer for repeats."""
        assert self._lease is not None, "a replayed claim has nothing to finish"
        if await self._lease.finish(status, body):
            for act in self._when_kept:
                act()

    def when_kept(self, act: Callable[[], None]) -> None:
        """Calls act when the answer is stored: from then on a repeat needs nothing else."""
        self._when_kept.append(act)

    def keep(self, ms: int) -> None:
        """The answer need not be kept for longer than this."""
        assert self._lease is not None, "a replayed claim has nothing to keep"
        self._lease.keep_ms = min(self._lease.keep_ms, ms)

    async def release(self) -> None:
        """The request changed nothing: the key may be used for another one."""
        assert self._lease is not None, "a replayed claim has nothing to release"
        await self._lease.end(forget=True)

    async def suspend(self) -> None:
        """Something may have been changed: the key is kept for a repeat of the same request, without an answer."""
        assert self._lease is not None, "a replayed claim has nothing to suspend"
        await self._lease.end(forget=False)

    def abandon(self) -> None:
        """The request will not come to an end here: the lease is left to run out, as when the broker is killed."""
        if self._lease is not None:
            self._lease.stop_renewing()


@dataclass(slots=True)
class _Lease:
    store: Store
    key: bytes
    fingerprint: bytes
    nonce: bytes
    producer_id: int
    keep_ms: int
    until: float  # time.monotonic(): after it somebody else may hold the lease
    token: bytes
    lease_ms: int
    timer: asyncio.TimerHandle | None = None
    renewing: asyncio.Task[None] | None = None

    def renew_in_time(self) -> None:
        """A request that lasts keeps its lease; one whose broker was killed loses it soon."""
        self.timer = asyncio.get_running_loop().call_later(self.lease_ms / 3000, self._start_renewing)

    def _start_renewing(self) -> None:
        self.renewing = asyncio.get_running_loop().create_task(self._renew())

    async def _renew(self) -> None:
        while True:
            asked = time.monotonic()
            try:
                if await self.store.command(b"GET", self.run_key, key=self.key) != self.token:
                    return  # it ran out while Redis was away, and somebody else has it
                await self.store.command(b"PEXPIRE", self.run_key, self.lease_ms, key=self.key)
                self.until = asked + self.lease_ms / 1000
            except Unavailable:
                pass  # tried again below; until then the lease is good for what is left of it
            await asyncio.sleep(self.lease_ms / 3000)

    def stop_renewing(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.renewing is not None:
            self.renewing.cancel()

    @property
    def run_key(self) -> bytes:
        return self.key + b"|run"

    async def finish(self, status: int, body: bytes) -> bool:
        """Whether the answer is kept."""
        self.stop_renewing()
        if len(body) > ANSWER_BYTES_MAX:
            await self.end(forget=False)
            return False
        value = _RECORD.pack(_VERSION, self.fingerprint, self.nonce, self.producer_id, status) + body
        kept = self.store.write_allow_oom("SET", self.key, value, b"PX", self.keep_ms)
        if self._is_ours():
            await self.store.command(b"DEL", self.run_key, key=self.key)
        await kept
        return True

    async def end(self, *, forget: bool) -> None:
        self.stop_renewing()
        if self._is_ours():
            names = (self.run_key, self.key) if forget else (self.run_key,)
            await self.store.command(b"DEL", *names, key=self.key)

    def _is_ours(self) -> bool:
        """A lease that has run out may be somebody else's by now."""
        return time.monotonic() < self.until


class Idempotency:
    """lease_ms: how long a request that died with its broker blocks its key; a living one renews it.  keep_ms: how long
    answers are kept."""

    def __init__(self, store: Store, *, lease_ms: int, keep_ms: int) -> None:
        self._store = store
        self._lease_ms = lease_ms
        self._keep_ms = keep_ms

    async def claim(
        self,
        key: str,
        fingerprint: bytes,
        *,
        producer_id: int | None = None,
        scope: str = "",
        keep_ms: int | None = None,
    ) -> Claim:
        """fingerprint: of the request, at most 32 bytes.  producer_id: a fresh one, for a request that adds records.
        scope: whose key it is; the same key of another scope is another one.  keep_ms: for how long the caller may
        repeat the request, if that is shorter than answers are kept.

        Raises RequestInProgress, IdempotencyKeyReused (another request has this key), StorageFull or InvalidRequest.
        Cost: one round trip.
        """
        check_key(key)
        lease_ms, keep_ms = self._lease_ms, min(keep_ms or self._keep_ms, self._keep_ms)
        token = os.urandom(16)
        named = f"{scope}\n{key}" if scope else key  # a key holds no line break
        name = idempotency_key(self._store.prefix, hashlib.sha256(named.encode()).hexdigest())
        ours = _RECORD.pack(_VERSION, fingerprint, token, NO_PRODUCER if producer_id is None else producer_id, 0)
        # GET makes both safe to repeat after a lost reply: we then find our own token.
        until = time.monotonic() + lease_ms / 1000
        write = self._store.write_allow_oom if producer_id is None else self._plain
        holder, record = await asyncio.gather(
            write("SET", name + b"|run", token, b"NX", b"GET", b"PX", lease_ms),
            write("SET", name, ours, b"NX", b"GET", b"PX", keep_ms),
        )
        is_ours = holder is None or holder == token
        is_new = record is None or record == ours
        record = ours if is_new else record
        version, asked, nonce, producer, status = _RECORD.unpack_from(record)
        assert version == _VERSION, f"record of an Idempotency-Key has version {version}"
        lease = _Lease(self._store, name, asked, nonce, producer, keep_ms, until, token, lease_ms)
        if is_ours and not is_new and (asked != fingerprint or status):
            await lease.end(forget=False)
        if asked != fingerprint:
            raise IdempotencyKeyReused()
        if status:
            return Claim(replay=(status, record[_RECORD.size :]))
        if not is_ours:
            raise RequestInProgress()
        lease.renew_in_time()
        kept_for_s = -(-keep_ms // 1000) if keep_ms < self._keep_ms else None
        return Claim(nonce.hex(), None if producer == NO_PRODUCER else producer, not is_new, None, kept_for_s, lease)

    def _plain(self, command: str, key: bytes, *args: Any) -> asyncio.Future[Any]:
        return self._store.command(command, key, *args, key=key)


def check_key(key: str) -> None:
    if not 1 <= len(key) <= KEY_LENGTH_MAX or not key.isascii() or not key.isprintable():
        raise InvalidRequest(f"The Idempotency-Key must be 1 to {KEY_LENGTH_MAX} printable ASCII characters.")
