"""/v1/topics/{topic}/largeMessages: write a large message, read its value; both are streamed."""

from __future__ import annotations

from functools import partial

import msgspec
from msgspec import UNSET

from redis_ledger.app.http.authorization import (
    EACH_OWN,
    READ_TOPIC,
    WRITE_TOPIC,
    create_check,
    own_transaction,
    transaction_principal,
)
from redis_ledger.app.http.idempotency import REPLAYED
from redis_ledger.app.http.operations import TRANSACTION_ERRORS, Routes
from redis_ledger.app.http.request import HttpRequest, HttpResponse, reply
from redis_ledger.app.http.routers.records import agree, check_headers, partition_number
from redis_ledger.app.http.schemas import core, examples
from redis_ledger.app.http.schemas import large_messages as bodies
from redis_ledger.app.http.values import parse_record
from redis_ledger.broker.fetch import large_messages as reading
from redis_ledger.broker.produce import large_messages as writing
from redis_ledger.errors import (
    DecodingBusy,
    InvalidRequest,
    InvalidTopicName,
    LargeMessageDamaged,
    OffloadedDamaged,
    OffloadedUnavailable,
    OffsetOutOfRange,
    OutcomeUnknown,
    RequestTooLarge,
    TooManyTransactions,
    UnknownLargeMessage,
    UnknownPartition,
    UnknownTopic,
)

routes = Routes("records")
_read_headers = msgspec.json.Decoder(dict[str, str]).decode
_read_headers_base64 = msgspec.json.Decoder(core.HeadersBase64).decode


@routes.post(
    "/v1/topics/{topic}/largeMessages",
    requires=(WRITE_TOPIC, EACH_OWN),
    keyed=True,
    streamed=True,
    errors=(
        InvalidTopicName, UnknownTopic, UnknownPartition, RequestTooLarge, OutcomeUnknown,
        TooManyTransactions, *TRANSACTION_ERRORS,
    ),
    answers={200: bodies.LargeWritten},
    examples=examples.WRITE_LARGE,
)  # fmt: skip
async def write_large_message(request: HttpRequest, topic: str, query: bodies.WriteLargeQuery) -> HttpResponse:
    """Write a large message, up to `large_message_bytes_max`.

    The body is the value, of any content type; Content-Length is required. It is stored in chunks while it arrives, in
    one transaction, and becomes visible as a whole. Without `transaction` the message has a transaction of its own.
    If the request fails after it began to write, the transaction is aborted. With an Idempotency-Key,
    a repeated request does not write the message again; of the body only the length is compared.

    Subscriptions deliver one message with an empty value and the header `rl-large`; read its value with
    `GET .../largeMessages/{offset}`.
    """
    size = request.declared_bytes()
    if request.header(b"content-length") is None:
        raise InvalidRequest("Send the size of the value as Content-Length; nothing was written.")
    message = _message(request, query, size)
    transaction = await own_transaction(request, None if query.transaction is UNSET else query.transaction)
    nonce = "" if request.claim is None else request.claim.nonce
    if transaction is not None and request.claim is not None and request.claim.resumed:
        raise OutcomeUnknown(
            "An earlier attempt with this Idempotency-Key may have written a part of the message. Abort the "
            "transaction and begin again."
        )
    request.hold(writing.MEMORY_BYTES)
    written = await request.broker.large_messages.write(
        topic, message, request.stream(), transaction=transaction, nonce=nonce,
        agree=None if transaction is not None else agree(request), principal=transaction_principal(request),
        may_create=create_check(request, topic),
    )  # fmt: skip
    if request.claim is not None and transaction is None:
        request.claim.when_kept(partial(request.broker.execute.answered, nonce))
    answer = reply(
        bodies.LargeWritten(partition=written.partition, offset=written.offset, bytes=size, chunks=written.chunks)
    )
    if written.offset < 0:
        answer.headers.append(REPLAYED)
    return answer


@routes.get(
    "/v1/topics/{topic}/partitions/{partition}/largeMessages/{offset}",
    requires=(READ_TOPIC,),
    answers={200: bytes},
    errors=(
        UnknownTopic, UnknownPartition, OffsetOutOfRange, UnknownLargeMessage, LargeMessageDamaged, DecodingBusy,
        OffloadedUnavailable, OffloadedDamaged,
    ),
)  # fmt: skip
async def read_large_message(request: HttpRequest, topic: str, partition: str, offset: str) -> HttpResponse:
    """Read the value of a large message.

    The body is the value as it was sent. If a chunk turns out to be missing or damaged after the response has begun,
    the connection is closed before the body is complete.
    """
    if not offset.isascii() or not offset.isdigit() or len(offset) > 16 or int(offset) > core.NUMBER_MAX:
        raise UnknownLargeMessage(f"{offset[:80]!r} is not an offset.")
    number = partition_number(partition)
    found = await request.broker.large_message_reader.find(topic, number, int(offset))
    await request.read_lease().instead(reading.MEMORY_BYTES)
    chunks = request.broker.large_message_reader.chunks(found)
    size = found.descriptor.size
    first = await anext(chunks)
    found.partition.traffic.delivered(found.descriptor.chunks, size, 0)
    answer = HttpResponse(200, content_type=b"application/octet-stream", chunks_bytes=size)
    answer.pieces = request.while_connected(first, chunks)
    return answer


def _message(request: HttpRequest, query: bodies.WriteLargeQuery, size: int) -> writing.LargeMessage:
    """Raises InvalidRequest, RequestTooLarge."""
    try:
        headers = _read_headers(query.headers or "{}")
        headers_base64 = _read_headers_base64(query.headers_base64 or "{}")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(
            f"headers is a JSON object of names and text, headers_base64 of names and base64 or a list of such "
            f"pairs: {error}."
        ) from None
    record = core.RecordIn(
        key=None if query.key is UNSET else query.key,
        key_base64=None if query.key_base64 is UNSET else query.key_base64,
        headers=headers, headers_base64=headers_base64,
        partition=None if query.partition is UNSET else query.partition,
        timestamp_ms=None if query.timestamp_ms is UNSET else query.timestamp_ms,
    )  # fmt: skip
    check_headers(request, record)
    parsed = parse_record(record, "query", -1)
    return writing.LargeMessage(size, parsed.key, parsed.headers, parsed.partition, parsed.timestamp_ms)
