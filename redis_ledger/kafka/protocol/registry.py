"""The decoder of a request and the encoder of a response, by API key and version.  A message's module is loaded on
first use.

`API_VERSIONS` contains the versions of the codec.  The listener advertises only those with a handler.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, cast

from redis_ledger.kafka.protocol.api import Api
from redis_ledger.kafka.protocol.messages import API_VERSIONS
from redis_ledger.kafka.protocol.primitives import Decoder, Encoder

__all__ = ["API_VERSIONS", "Api", "decode_request", "encode_response"]


@cache
def message_module(name: str) -> ModuleType:
    """name: of the message, such as `produce_request`."""
    return import_module(f"redis_ledger.kafka.protocol.messages.{name}")


# These raise KeyError for unknown keys and versions: check the table first.
@cache
def decode_request(api_key: int, version: int) -> Decoder[Any]:
    return cast(Decoder[Any], _table(api_key, "request", "DECODERS")[version])


@cache
def encode_response(api_key: int, version: int) -> Encoder[Any]:
    return cast(Encoder[Any], _table(api_key, "response", "ENCODERS")[version])


def _table(api_key: int, kind: str, table: str) -> dict[int, Any]:
    tables: dict[int, Any] = getattr(message_module(f"{API_VERSIONS[api_key].module}_{kind}"), table)
    return tables
