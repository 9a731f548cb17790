"""Decoding of bodies and queries to the types that endpoints declare.

body    JSON, or the raw bytes of another content type if the endpoint accepts them
query   each parameter at most once
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

import msgspec

from redis_ledger.app.http import errors, unknown_fields
from redis_ledger.app.http.json_depth import DEPTH_MAX, is_too_deep
from redis_ledger.errors import InvalidJson, InvalidRequest, LedgerError

QUERY_BYTES_MAX = 8_192
LOOKED_AT_BYTES = 1 << 20  # prefix of an invalid body that is checked for its nesting depth
_FORGIVEN = frozenset(("application/x-www-form-urlencoded", "text/plain"))  # defaults of curl -d and fetch()


class BodyReader:
    """raw: passes other content types to the endpoint as bytes.  optional: an empty body is an empty object."""

    def __init__(self, kind: type[msgspec.Struct], *, raw: bool, optional: bool) -> None:
        self._kind, self._raw, self._optional = kind, raw, optional
        self._decode = msgspec.json.Decoder(kind).decode

    def read(self, data: bytes, content_type: str) -> Any:
        """Raises InvalidRequest, InvalidJson."""
        is_json = content_type in ("", "application/json") or content_type in _FORGIVEN
        if self._raw and not is_json:
            return data  # the endpoint checks the content type
        if not is_json and not content_type.endswith("+json"):
            raise InvalidRequest(f"The content type {content_type[:100]!r} is not supported; send application/json.")
        if not data and self._optional:
            data = b"{}"
        try:
            return self._decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._error_detail(error, data) from None

    def _error_detail(self, error: Exception, data: bytes) -> LedgerError:
        if isinstance(error, RecursionError) or is_too_deep(data[:LOOKED_AT_BYTES]):
            return InvalidJson(f"The body is nested deeper than {DEPTH_MAX}; flatten it.")
        if isinstance(error, UnicodeDecodeError):
            return InvalidJson("The body is not valid UTF-8; send bytes as base64.")
        if not data:
            return InvalidJson("The body is empty; send a JSON object.")
        return _decode_error(error, self._kind, "field")


class QueryReader:
    def __init__(self, kind: type[msgspec.Struct]) -> None:
        self._kind = kind

    def read(self, text: bytes) -> Any:
        """Raises InvalidRequest."""
        if len(text) > QUERY_BYTES_MAX:
            raise InvalidRequest(f"The query is longer than {QUERY_BYTES_MAX} bytes; shorten it.")
        try:
            pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict")
        except UnicodeDecodeError:
            raise InvalidRequest("The query is not valid; percent-encode it as UTF-8.") from None
        found = dict(pairs)
        if len(found) != len(pairs):
            raise InvalidRequest("A query parameter is repeated; give each at most once.")
        try:
            return msgspec.convert(found, self._kind, strict=False)  # fails if a required parameter is missing
        except msgspec.ValidationError as error:
            raise _decode_error(error, self._kind, "query parameter") from None


def _decode_error(error: Exception, kind: type, what: str) -> LedgerError:
    known = unknown_fields.unknown_field_error(str(error), kind, what) or errors.from_exception(error)
    assert known is not None, error
    return known
