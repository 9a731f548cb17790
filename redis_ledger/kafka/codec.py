"""Decodes requests and encodes responses without blocking the event loop.

    few elements    here, in less than 2 ms
    more            restarted in a thread, which yields to the event loop every few milliseconds
    too many        an INVALID_REQUEST response, if the API's response has a top-level error

Responses with long lists are encoded in a thread, too; most large requests have one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import Any, TypeAlias

from redis_ledger.kafka.error_metrics import lists_of
from redis_ledger.kafka.protocol.frame import RequestHeader, read_request, response
from redis_ledger.kafka.protocol.primitives import ELEMENTS_MAX, Buffer, TooManyElements
from redis_ledger.kafka.protocol.registry import API_VERSIONS, message_module
from redis_ledger.kafka.request_context import INVALID_REQUEST

QUICK_ELEMENTS = 2_000
_Lists: TypeAlias = tuple[tuple[Callable[[Any], Any], tuple[Callable[[Any], Any], ...]], ...]
_LISTS: dict[type, _Lists] = {}  # by response type: getters of its lists, and of the lists of their elements
_thread = ThreadPoolExecutor(
    1, thread_name_prefix="redis-ledger-kafka-codec"
)  # the interpreter runs one thread at a time


def decoded_at_once(frame: memoryview, header: RequestHeader) -> tuple[Any, bool]:
    """Decodes a request; None and True if it has more than QUICK_ELEMENTS."""
    try:
        return read_request(frame, header, QUICK_ELEMENTS), False
    except TooManyElements:
        return None, True


async def decoded(frame: memoryview, header: RequestHeader) -> Any:
    """Decodes a request with more than QUICK_ELEMENTS, as `read_request` does."""
    return await asyncio.get_running_loop().run_in_executor(_thread, read_request, frame, header)


async def encoded(key: int, version: int, correlation_id: int, answer: Any) -> list[Buffer]:
    """Encodes a long response, as `response` does."""
    return await asyncio.get_running_loop().run_in_executor(_thread, response, key, version, correlation_id, answer)


def is_long(answer: Any) -> bool:
    """Whether the lists of the response, and those of their elements, have more than QUICK_ELEMENTS in total."""
    count, lists = 0, _LISTS.get(type(answer))
    for listed, inner in _lists(type(answer)) if lists is None else lists:
        if elements := listed(answer):
            count += len(elements)
            if count > QUICK_ELEMENTS:
                return True
            for inside in inner:
                for each in elements:
                    if found := inside(each):
                        count += len(found)
    return count > QUICK_ELEMENTS


def error_response(header: RequestHeader) -> Any | None:
    """The error response for a request with too many elements; None if this version has no error field."""
    api = API_VERSIONS[header.api_key]
    answer = getattr(message_module(f"{api.module}_response"), f"{api.name}Response")
    if "error_code" not in answer.__struct_fields__:
        return None
    has_message = "error_message" in answer.__struct_fields__
    text = {"error_message": f"A request has at most {ELEMENTS_MAX} elements; nothing was done."} if has_message else {}
    refused, plain = answer(error_code=INVALID_REQUEST, **text), answer(error_code=0, **text)
    # A version without the field encodes both to the same bytes.
    key, version = header.api_key, header.version
    return refused if response(key, version, 0, refused) != response(key, version, 0, plain) else None


def _lists(answer: type) -> _Lists:
    found = _LISTS[answer] = tuple(
        (attrgetter(name), tuple(attrgetter(inner) for inner, _ in lists_of(element)))
        for name, element in lists_of(answer)
    )
    return found
