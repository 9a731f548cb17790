"""Bodies of large messages."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from redis_ledger.app.http.schemas.core import Partition, Reply, Request, TimeMs, TxnIdText


class WriteLargeQuery(Request):
    key: Annotated[str, Meta(description="The key, which chooses the partition.")] | UnsetType = UNSET
    key_base64: Annotated[bytes, Meta(description="The key, if it is not text.")] | UnsetType = UNSET
    headers: Annotated[str, Meta(description="A JSON object of header names and text.")] | UnsetType = UNSET
    headers_base64: Annotated[str, Meta(description="A JSON object of names and base64, or pairs.")] | UnsetType = UNSET
    partition: Annotated[Partition, Meta(description="The partition; default: chosen by the key.")] | UnsetType = UNSET
    timestamp_ms: Annotated[TimeMs, Meta(description="The timestamp; default: the time of receipt.")] | UnsetType = (
        UNSET
    )
    transaction: Annotated[TxnIdText, Meta(description="The transaction; default: one of its own.")] | UnsetType = UNSET


class LargeWritten(Reply):
    partition: int
    offset: Annotated[int, Meta(ge=-1, description="The message's offset; -1 if an earlier attempt has written it.")]
    bytes: int
    chunks: Annotated[int, Meta(description="The number of records that hold the value.")]
