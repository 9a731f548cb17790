"""Writes large messages: a descriptor and the chunks of its value, in one transaction, while the value arrives.

    choose the partition ─▶ register ─▶ append the descriptor ─▶ append chunks, WINDOW at a time ─▶ commit

The transaction is the caller's, who commits it, or one of the message's own: a step (transactions/execute.py).  An
error aborts either, since a part of the message is written.  Source: PIP-37; docs/decisions/0043.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import NamedTuple

from redis_ledger.broker.produce.encode import Agree, PreparedBatch, PreparedRecords, layout_of
from redis_ledger.broker.produce.service import Records
from redis_ledger.broker.transactions.execute import Execute
from redis_ledger.broker.transactions.participant_registry import ParticipantRegistry
from redis_ledger.broker.types import Headers, NewRecord, always
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import InvalidRequest, RequestTooLarge, UnknownTopic
from redis_ledger.ids import TxnId
from redis_ledger.ledger.append_request import OF_CHUNKS, Accepted, AppendRequest
from redis_ledger.records.build import encode
from redis_ledger.records.large_messages import (
    CHUNK_BYTES,
    CHUNK_BYTES_MIN,
    OVERHEAD_BYTES,
    RESERVED,
    Descriptor,
    describe,
)

WINDOW = 4  # chunks that are being appended at a time
MEMORY_BYTES = (2 * WINDOW + 4) * CHUNK_BYTES  # of a message that is being written
BYTES_PER_S = 1 << 20  # the timeout of a message's own transaction allows for this rate


class LargeMessage(NamedTuple):
    """A large message to write, without its value.  size: bytes of the value."""

    size: int
    key: bytes | None = None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class LargeWritten(NamedTuple):
    """offset: of the descriptor; -1 if an earlier attempt with the same nonce wrote the message."""

    partition: int
    offset: int
    chunks: int
    transaction: TxnId


class LargeMessages:
    def __init__(
        self, records: Records, registry: ParticipantRegistry, steps: Execute, config: Config, clock: Clock
    ) -> None:
        self._records, self._registry, self._steps = records, registry, steps
        self._config, self._clock = config, clock

    async def write(
        self,
        topic: str,
        message: LargeMessage,
        value: AsyncIterator[bytes],
        *,
        transaction: TxnId | None = None,
        nonce: str = "",
        agree: Agree | None = None,
        principal: str = "",
        may_create: Callable[[], bool] = always,
    ) -> LargeWritten:
        """value    pieces of any size, `message.size` bytes together.
        nonce    the same for every attempt, for a message without a transaction of the caller; and so is `agree`

        Raises RequestTooLarge, InvalidRequest, and the errors of produce, begin and commit.  The caller's transaction
        is aborted unless the error came before the first record.
        """
        self._check(message)
        try:
            prepared, descriptor, chunk_bytes = await self._prepare(topic, message, nonce, agree, may_create)
        except UnknownTopic:  # the cached topic was deleted and created again
            prepared, descriptor, chunk_bytes = await self._prepare(topic, message, nonce, agree, may_create)
        pieces = _pieces(value, chunk_bytes, message.size)
        if transaction is not None:
            await self._registry.register(transaction, prepared.participants)
            return await self._append(prepared, descriptor, transaction, pieces, message)
        txn, is_repeat = await self._steps.begin(
            self._timeout_ms(message.size), principal, nonce, prepared.participants
        )
        if is_repeat:
            return LargeWritten(prepared.batches[0].partition.number, -1, descriptor.chunks, txn)
        written = await self._append(prepared, descriptor, txn, pieces, message)
        await self._steps.commit(txn, prepared.participants)
        return written

    def _check(self, message: LargeMessage) -> None:
        limit = self._config.large_message_bytes_max
        if message.size > limit:
            raise RequestTooLarge(
                f"The message has {message.size} bytes; at most {limit} are allowed. Split it, or raise "
                "large_message_bytes_max; nothing was written.",
                large_message_bytes_max=limit,
            )
        if not message.size:
            raise InvalidRequest("The value is empty; send it as an ordinary record.")
        if any(name in RESERVED for name, _ in message.headers):
            raise InvalidRequest(f"The headers {', '.join(RESERVED)} are the broker's own; leave them out.")

    async def _prepare(
        self, topic: str, message: LargeMessage, nonce: str, agree: Agree | None, may_create: Callable[[], bool]
    ) -> tuple[PreparedRecords, Descriptor, int]:
        layout = await layout_of(await self._records.topic(topic, may_create), self._config, agree)
        described = describe(message.size, layout.batch_bytes_max)
        if described is None:
            raise InvalidRequest(
                f"Large messages need batch_bytes_max of at least {CHUNK_BYTES_MIN + OVERHEAD_BYTES}; raise it for "
                f"topic {topic!r}."
            )
        descriptor, chunk_bytes = described
        record = NewRecord(message.key, b"", [*message.headers, descriptor.header()], timestamp_ms=message.timestamp_ms)
        partition = message.partition
        if partition is None and message.key is None and nonce:  # every attempt has to choose the same
            partition = int(nonce[:8], 16) % layout.partitions
        prepared = await self._records.prepare(topic, [record], partition=partition, agree=agree, may_create=may_create)
        return prepared, descriptor, chunk_bytes

    def _timeout_ms(self, size: int) -> int:
        wanted = self._config.default_timeout_ms + size * 1000 // BYTES_PER_S
        return min(wanted, self._config.max_transaction_timeout_ms)

    async def _append(
        self,
        prepared: PreparedRecords,
        descriptor: Descriptor,
        txn: TxnId,
        pieces: AsyncGenerator[bytes, None],
        message: LargeMessage,
    ) -> LargeWritten:
        (batch,) = prepared.batches
        try:
            (first,) = await self._records.append_prepared(prepared, txn)
            await self._append_chunks(batch, descriptor, txn, pieces, message.timestamp_ms)
        except BaseException as error:
            await self._steps.abort(txn, error)
            raise
        finally:
            await pieces.aclose()
        return LargeWritten(first.partition, first.base_offset, descriptor.chunks, txn)

    async def _append_chunks(
        self,
        batch: PreparedBatch,
        descriptor: Descriptor,
        txn: TxnId,
        pieces: AsyncIterator[bytes],
        timestamp_ms: int | None,
    ) -> None:
        when_ms = self._clock.now_ms() if timestamp_ms is None else timestamp_ms
        digest, index = hashlib.sha256(), 0
        appending = deque[asyncio.Future[Accepted]]()
        try:
            async for piece in pieces:
                await asyncio.to_thread(digest.update, piece)
                headers = descriptor.chunk_headers(index, digest.digest())
                payload = encode([(None, piece, headers, when_ms)], producer_id=txn.producer_id, epoch=0,
                                 transactional=True)  # fmt: skip
                if len(appending) == WINDOW:
                    await appending.popleft()
                request = AppendRequest(payload, 1, when_ms, txn.producer_id, 0, -1, OF_CHUNKS)
                appending.append(batch.partition.append(request, txn))
                index += 1
            while appending:
                await appending.popleft()
        finally:
            await asyncio.gather(*appending, return_exceptions=True)


async def _pieces(value: AsyncIterator[bytes], chunk_bytes: int, size: int) -> AsyncGenerator[bytes, None]:
    """The value in pieces of chunk_bytes; the last one may be smaller.  Raises InvalidRequest for another size."""
    held, left = bytearray(), size
    async for some in value:
        held += some
        while len(held) >= chunk_bytes or (held and len(held) >= left):
            piece = bytes(held[:chunk_bytes])
            del held[:chunk_bytes]
            left -= len(piece)
            if left < 0 or (held and not left):
                raise InvalidRequest(f"The value has more than the {size} bytes that were announced.")
            yield piece
    if left:
        raise InvalidRequest(f"The value ended {left - len(held)} bytes short of the {size} that were announced.")
