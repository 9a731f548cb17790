"""Keys, values, headers and message ids as callers give them → as they are sent.

A value is bytes as they are, a str as UTF-8, None as a null value (a tombstone), anything else as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from redis_ledger.client import arguments
from redis_ledger.client.models import Headers, Message
from redis_ledger.errors import InvalidRequest
from redis_ledger.ids import MessageId

IDS_MAX = 10_000  # message ids of one request


def value_bytes(value: Any) -> bytes | None:
    """The bytes a value is stored as.  Raises InvalidRequest when it has no JSON form."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    try:
        return value.encode() if isinstance(value, str) else msgspec.json.encode(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidRequest(
            f"The value, a {type(value).__name__}, cannot be written ({error}); give bytes, str, None or what JSON has."
        ) from error


def key_bytes(key: str | bytes | None) -> bytes | None:
    """Raises InvalidRequest."""
    if key is None or isinstance(key, bytes):
        return key
    held = _utf8(key)
    if held is None:
        raise InvalidRequest(f"key is {key!r:.60} ({type(key).__name__}); give str, bytes or None.")
    return held


def header_pairs(headers: Headers | None) -> Sequence[tuple[str, bytes | None]]:
    """Headers in the order given, values as bytes.  Raises InvalidRequest."""
    if not headers:
        return ()
    pairs = []
    given = headers.items() if isinstance(headers, Mapping) else arguments.pairs("headers", headers)
    for name, value in given:
        held = value if value is None or isinstance(value, bytes) else _utf8(value)
        if _utf8(name) is None or (held is None and value is not None):
            raise InvalidRequest(f"A header is a str with str, bytes or None, not {name!r:.60} with {value!r:.60}.")
        pairs.append((name, held))
    return tuple(pairs)


def _utf8(text: Any) -> bytes | None:
    """None: it is not a str, or holds half a surrogate pair."""
    try:
        return text.encode() if isinstance(text, str) else None
    except UnicodeEncodeError:
        return None


def ids_of(messages: Any) -> list[MessageId]:
    """Message ids of one message, one id, or a sequence of them; texts like "2:1045" are ids too.  Raises as
    `id_of` does."""
    if isinstance(messages, (Message, MessageId, str)):
        messages = [messages]
    return [id_of(message) for message in arguments.sequence("messages", messages)]


def id_of(message: Any) -> MessageId:
    """Raises InvalidRequest, or InvalidPosition for a text that is not an id."""
    if isinstance(message, Message):
        return message.id
    if isinstance(message, str):
        return MessageId.parse(message)
    if isinstance(message, tuple) and len(message) == 2 and isinstance(message[0], int) and isinstance(message[1], int):
        return message if isinstance(message, MessageId) else MessageId(*message)
    raise InvalidRequest(f"{message!r:.60} is not a message; give messages, or ids such as '2:1045'.")
