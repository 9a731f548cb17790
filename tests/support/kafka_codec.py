"""The client's half of Kafka's wire format: writes requests and reads responses.

The broker's half is redis_ledger/kafka/protocol/messages.  The same generator makes this one, in memory, on first use.
"""

from __future__ import annotations

import struct
from functools import cache
from types import ModuleType
from typing import Any, cast

from redis_ledger.kafka.protocol.consumer_protocol import VERSION_BYTES
from redis_ledger.kafka.protocol.frame import API_VERSIONS_KEY, LENGTH_BYTES
from redis_ledger.kafka.protocol.messages import API_VERSIONS
from redis_ledger.kafka.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from redis_ledger.kafka.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from redis_ledger.kafka.protocol.primitives import DAMAGE, BadFrame, Buffer, Decoder, Encoder, Message, skip_tags
from redis_ledger.kafka.protocol.registry import message_module
from scripts.gen_wire import NAMES, client_source
from scripts.wire.schema import snake

_SCHEMAS = {snake(name): name for name in NAMES}
_length = struct.Struct(">i")
_request_head = struct.Struct(">ihhi")


@cache
def encode_request(api_key: int, version: int) -> Encoder[Any]:
    """Raises KeyError for an API or a version that is not in API_VERSIONS."""
    return cast(Encoder[Any], client_module(f"{API_VERSIONS[api_key].module}_request").ENCODERS[version])


@cache
def decode_response(api_key: int, version: int) -> Decoder[Any]:
    """Raises KeyError for an API or a version that is not in API_VERSIONS."""
    return cast(Decoder[Any], client_module(f"{API_VERSIONS[api_key].module}_response").DECODERS[version])


@cache
def client_module(name: str) -> ModuleType:
    """name: of the message, as in `produce_request`."""
    made = ModuleType(f"kafka_codec.{name}")
    source = client_source(_SCHEMAS[name])
    exec(compile(source, f"<the client's half of {name}>", "exec"), vars(made))
    return made


@cache
def codec_of(name: str) -> dict[str, Any]:
    """Classes, DECODERS and ENCODERS of a message, the broker's half and the client's."""
    client = vars(client_module(name))
    try:
        return client | vars(message_module(name))
    except ModuleNotFoundError:
        return dict(client)


def request(api_key: int, version: int, correlation_id: int, client_id: str | None, message: Any) -> list[Buffer]:
    """The whole frame, in pieces to be written one after the other; one piece unless it carries records."""
    name = None if client_id is None else client_id.encode()
    out = bytearray(_request_head.pack(0, api_key, version, correlation_id))
    out += b"\xff\xff" if name is None else len(name).to_bytes(2, "big") + name
    if version >= API_VERSIONS[api_key].flexible_from:
        out += b"\0"
    chunks: list[Buffer] = []
    if tail := encode_request(api_key, version)(message, out, chunks):
        chunks.append(tail)
    _length.pack_into(out, 0, sum(map(len, chunks)) - LENGTH_BYTES)
    return chunks


def read_response(api_key: int, version: int, frame: memoryview) -> tuple[int, Any]:
    """Correlation id and message of a response without its length."""
    try:
        (correlation_id,) = _length.unpack_from(frame, 0)
        pos = LENGTH_BYTES
        if version >= API_VERSIONS[api_key].flexible_from and api_key != API_VERSIONS_KEY:
            pos, _ = skip_tags(frame, pos + 1, frame[pos])
    except DAMAGE as error:
        raise BadFrame(str(error)) from error
    return correlation_id, decode_response(api_key, version)(frame, pos)


def subscription(version: int, message: ConsumerProtocolSubscription) -> bytes:
    return _write(version, message, client_module("consumer_protocol_subscription").ENCODERS)


def assignment(version: int, message: ConsumerProtocolAssignment) -> bytes:
    return _write(version, message, client_module("consumer_protocol_assignment").ENCODERS)


def _write(version: int, message: Message, encoders: dict[int, Encoder[Message]]) -> bytes:
    return bytes(encoders[version](message, bytearray(version.to_bytes(VERSION_BYTES, "big")), []))
