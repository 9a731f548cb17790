"""One API as a row of the table, and the two ways in which a request may ask for what the codec does not speak."""

from __future__ import annotations

from typing import NamedTuple


class Api(NamedTuple):
    """Versions are inclusive.  flexible_from: the first flexible version, above version_max if there is none.
    module: the message's module without its `_request` or `_response`."""

    key: int
    name: str
    module: str
    version_min: int
    version_max: int
    flexible_from: int


class UnknownRequest(Exception):
    """The header can be decoded, but the layout of the body is unknown."""

    def __init__(self, detail: str, api_key: int, version: int, correlation_id: int, client_id: str | None) -> None:
        super().__init__(detail)
        self.api_key, self.version, self.correlation_id, self.client_id = api_key, version, correlation_id, client_id


class UnknownApi(UnknownRequest):
    """No API of the table has this key.  Kafka closes the connection."""


class UnknownVersion(UnknownRequest):
    """The API has no such version.  Kafka closes the connection, but answers ApiVersions in version 0 with error 35."""
