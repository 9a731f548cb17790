"""Idempotency-Key: a repeated request gets the answer of the first one and is not executed again.

    rl:{idem:<digest>}       the fingerprint, producer id, nonce and answer of the request
    rl:{idem:<digest>}|run   a token with a lease, held by the attempt that runs; it expires if the broker is killed
    rl:{idem:<digest>}|layout:<topic-id>   the layout of the records, which the first attempt chose and all of them use

    claim    take the lease, then read the record
               answered                            → replay it
               lease taken by another              → RequestInProgress
               known, no answer, lease is ours now → resumed: with the producer id and nonce of the first attempt, so
                                                     partitions and coordinators detect what they have done
    finish   write the answer, release the lease; the response does not wait for it.  Nothing is written if another
             attempt has the lease or has answered
    release  delete the key: the request, which has no earlier attempt, changed nothing
    suspend  release the lease only: the outcome is unknown; the same request may be repeated, and resumes

A full Redis accepts claims of requests that add no records, since ending a transaction frees memory.  It refuses those
of requests that add records, which would fill it further.

Source: draft-ietf-httpapi-idempotency-key-header.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from redis_ledger.errors import IdempotencyKeyReused, InvalidRequest, RequestInProgress, Unavailable
from redis_ledger.store.keys import idempotency_key
from redis_ledger.store.store import ReplyError, Script, Store
from redis_ledger.telemetry import logs

_log = logs.get()
_STORE_ANSWER, _RELEASE_KEY = Script.load("broker/store_answer"), Script.load("broker/release_key")
KEY_LENGTH_MAX = 255
ANSWER_BYTES_MAX = 1 << 20  # a larger answer is not stored; a repeat is executed again
NO_PRODUCER = -1

# version, fingerprint (SHA-256), nonce, producer id, status (0: no answer yet); the answer's body follows
_RECORD = struct.Struct(">B32s16sqH")
_VERSION = 1


@dataclass(slots=True)
class Claim:
    """The right to execute the request of a key; or, with `replay`, its answer.

    nonce        the same for every attempt at this request
    producer_id  likewise, if one was given at the first claim
    resumed      an earlier attempt may have changed something
    kept_for_s   how long the key is kept, if shorter than the setting
    """

    nonce: str = ""
    producer_id: int | None = None
    resumed: bool = False
    replay: tuple[int, bytes] | None = None
    kept_for_s: int | None = None
    _lease: _Lease | None = field(default=None, repr=False)
    _when_kept: list[Callable[[], None]] = field(default_factory=list, repr=False)

    def finish(self, status: int, body: bytes) -> asyncio.Task[None]:
        """Sends the answer to Redis, for repeats.  The response need not wait for it: a client that has it repeats
        nothing, and a repeat of a request whose answer is not stored resumes it."""
        assert self._lease is not None, "a replayed claim has nothing to finish"
        return self._lease.finish(status, body, self._later if self.resumed else self._at_once)

    def when_kept(self, act: Callable[[], None]) -> None:
        """Calls act once the answer is stored and no other attempt can begin: of earlier attempts, calls that were sent
        within their leases may still be executed."""
        self._when_kept.append(act)

    def _at_once(self) -> None:
        for act in self._when_kept:
            act()

    def _later(self) -> None:
        assert self._lease is not None
        timeout_s = self._lease.store.topology.watch.timeout_ms / 1000
        asyncio.get_running_loop().call_later(timeout_s, self._at_once)

    @property
    def is_ours(self) -> bool:
        """False once the lease has expired, as another attempt may hold it."""
        return self._lease is None or self._lease.is_ours

    def keep(self, ms: int) -> None:
        """Limits how long the answer is kept."""
        assert self._lease is not None, "a replayed claim has nothing to keep"
        self._lease.keep_ms = min(self._lease.keep_ms, ms)

    async def layout(self, topic_id: str, proposed: bytes) -> bytes:
        """The layout of the records for this topic: the proposed one, or that of an earlier attempt."""
        assert self._lease is not None, "a replayed claim writes no records"
        return await self._lease.layout(topic_id, proposed)

    async def release(self) -> None:
        """Deletes the key, after a request that changed nothing."""
        assert self._lease is not None, "a replayed claim has nothing to release"
        await self._lease.end(forget=True)

    async def suspend(self) -> None:
        """Keeps the key without an answer, so that the same request can be repeated."""
        assert self._lease is not None, "a replayed claim has nothing to suspend"
        await self._lease.end(forget=False)

    def abandon(self) -> None:
        """Lets the lease expire, as if the broker were killed."""
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
    until: float  # time.monotonic(): afterwards another attempt may hold the lease
    token: bytes
    lease_ms: int
    tasks: set[asyncio.Task[None]]  # of the broker
    layouts: list[bytes] = field(default_factory=list)  # their keys
    timer: asyncio.TimerHandle | None = None
    renewing: asyncio.Task[None] | None = None

    def renew_in_time(self) -> None:
        """Renews the lease while the request runs, so that it can be short."""
        self.timer = asyncio.get_running_loop().call_later(self.lease_ms / 3000, self._start_renewing)

    def _start_renewing(self) -> None:
        self.renewing = asyncio.get_running_loop().create_task(self._renew())

    async def _renew(self) -> None:
        while True:
            sent = time.monotonic()
            try:
                if await self.store.command(b"GET", self.run_key, key=self.key) != self.token:
                    return  # it expired while Redis was unavailable, and another attempt holds it
                await self.store.command(b"PEXPIRE", self.run_key, self.lease_ms, key=self.key)
                self.until = sent + self.lease_ms / 1000
            except Unavailable:
                pass  # tried again below; the lease is valid until it expires
            await asyncio.sleep(self.lease_ms / 3000)

    def stop_renewing(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.renewing is not None:
            self.renewing.cancel()

    @property
    def run_key(self) -> bytes:
        return self.key + b"|run"

    def finish(self, status: int, body: bytes, when_kept: Callable[[], None]) -> asyncio.Task[None]:
        self.stop_renewing()
        if len(body) <= ANSWER_BYTES_MAX:
            record = _RECORD.pack(_VERSION, self.fingerprint, self.nonce, self.producer_id, 0)
            answered = _RECORD.pack(_VERSION, self.fingerprint, self.nonce, self.producer_id, status) + body
            args = (self.token, record, answered, self.keep_ms)
            work = self._answer(self.store.call(_STORE_ANSWER, (self.key, self.run_key), args), when_kept)
        else:
            work = self._release()
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def _answer(self, sent: asyncio.Future[Any], when_kept: Callable[[], None]) -> None:
        try:
            _, was_ours = await sent
            if was_ours and self.layouts:
                await self.store.command(b"DEL", *self.layouts, key=self.key)
        except (Unavailable, ReplyError) as error:
            # The request succeeded.  A repeat resumes it.
            code = error.code if isinstance(error, Unavailable) else "internal_error"
            _log.warning("answer for an Idempotency-Key not stored", code=code, detail=str(error))
            await self._release()
            return
        if was_ours:
            when_kept()

    async def layout(self, topic_id: str, proposed: bytes) -> bytes:
        key = b"%s|layout:%s" % (self.key, topic_id.encode())
        found = await self.store.command(b"SET", key, proposed, b"NX", b"GET", b"PX", self.keep_ms, key=self.key)
        self.layouts.append(key)
        return proposed if found is None else bytes(found)

    async def _release(self) -> None:
        with contextlib.suppress(Unavailable, ReplyError):  # the lease expires
            await self.end(forget=False)

    async def end(self, *, forget: bool) -> None:
        self.stop_renewing()
        names = (self.run_key, self.key, *self.layouts) if forget else (self.run_key,)
        await self.store.call(_RELEASE_KEY, names, (self.token,))

    @property
    def is_ours(self) -> bool:
        return time.monotonic() < self.until


class Idempotency:
    """lease_ms   how long a killed broker's request blocks its key; running requests renew it
    keep_ms    how long answers are kept
    """

    def __init__(self, store: Store, *, lease_ms: int, keep_ms: int) -> None:
        self._store = store
        self._lease_ms = lease_ms
        self._keep_ms = keep_ms
        self._tasks: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Waits until the answers are stored."""
        await asyncio.gather(*self._tasks)

    async def claim(
        self,
        key: str,
        fingerprint: bytes,
        *,
        producer_id: int | None = None,
        scope: str = "",
        keep_ms: int | None = None,
    ) -> Claim:
        """fingerprint   of the request, at most 32 bytes
        producer_id   a new one, for a request that adds records
        scope         the owner of the key; keys of different scopes are independent
        keep_ms       how long the caller may repeat the request, if shorter than the setting

        Raises RequestInProgress, IdempotencyKeyReused (another request has this key), StorageFull or InvalidRequest.
        Cost: one round trip.
        """
        check_key(key)
        lease_ms, keep_ms = self._lease_ms, min(keep_ms or self._keep_ms, self._keep_ms)
        token = os.urandom(16)
        named = f"{scope}\n{key}" if scope else key  # a key holds no line break
        name = idempotency_key(self._store.prefix, hashlib.sha256(named.encode()).hexdigest())
        ours = _RECORD.pack(_VERSION, fingerprint, token, NO_PRODUCER if producer_id is None else producer_id, 0)
        # GET makes both safe to repeat after a lost reply: the reply then has our own token.
        until = time.monotonic() + lease_ms / 1000
        write = self._store.write_allow_oom if producer_id is None else self._plain
        holder, record = await asyncio.gather(
            write("SET", name + b"|run", token, b"NX", b"GET", b"PX", lease_ms),
            write("SET", name, ours, b"NX", b"GET", b"PX", keep_ms),
        )
        is_ours = holder is None or holder == token
        is_new = record is None or record == ours
        record = ours if is_new else record
        version, recorded, nonce, producer, status = _RECORD.unpack_from(record)
        assert version == _VERSION, f"record of an Idempotency-Key has version {version}"
        lease = _Lease(self._store, name, recorded, nonce, producer, keep_ms, until, token, lease_ms, self._tasks)
        if is_ours and not is_new and (recorded != fingerprint or status):
            await lease.end(forget=False)
        if recorded != fingerprint:
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
