"""Requests out of frames and answers into frames, without holding up the event loop.

    few elements    here, in less than 2 ms
    more            begun again in a thread, which lets the event loop go on every few milliseconds
    too many        an answer with INVALID_REQUEST, where the API's answer has an error of its own

A large request mostly has a large answer, so that is encoded in a thread, too; so is any other with long lists.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import Any, TypeAlias

from redis_ledger.kafka.error_metrics import lists_of
from redis_ledger.kafka.protocol.frame import RequestHeader, read_request, response
from redis_ledger.kafka.protocol.primitives import ELEMENTS_MAX, Buffer
from redis_ledger.kafka.protocol.registry import API_VERSIONS, message_module
from redis_ledger.kafka.request_context import INVALID_REQUEST

QUICK_ELEMENTS = 2_000
_Lists: TypeAlias = tuple[tuple[Callable[[Any], Any], tuple[Callable[[Any], Any], ...]], ...]
_LISTS: dict[type, _Lists] = {}  # by answer: what gets its lists, and what gets those of their elements
_thread = ThreadPoolExecutor(1, thread_name_prefix="redis-ledger-kafka-codec")  # the interpreter runs one at a time


async def decoded(frame: memoryview, header: RequestHeader) -> Any:
    """As `read_request`, of a message that has more than QUICK_ELEMENTS."""
    return await asyncio.get_running_loop().run_in_executor(_thread, read_request, frame, header)


async def encoded(key: int, version: int, correlation_id: int, answer: Any) -> list[Buffer]:
    """As `response`, of an answer that is long."""
    return await asyncio.get_running_loop().run_in_executor(_thread, response, key, version, correlation_id, answer)


def is_long(answer: Any) -> bool:
    """Whether its lists, and the lists in their elements, have more than QUICK_ELEMENTS together."""
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


def refusal(header: RequestHeader) -> Any | None:
    """The answer to a request with too many elements; None where it cannot carry an error, in this version."""
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
