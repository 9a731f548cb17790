"""APIs of the protocol, and the errors for unknown APIs and versions."""

from __future__ import annotations

from typing import NamedTuple


class Api(NamedTuple):
    """An API.  Versions are inclusive.  flexible_from: the first flexible version, above version_max if there is none.
    module: the message's module without `_request` or `_response`."""

    key: int
    name: str
    module: str
    version_min: int
    version_max: int
    flexible_from: int


class UnknownRequest(Exception):
    """The header is valid, but the layout of the body is unknown."""

    def __init__(self, detail: str, api_key: int, version: int, correlation_id: int, client_id: str | None) -> None:
        super().__init__(detail)
        self.api_key, self.version, self.correlation_id, self.client_id = api_key, version, correlation_id, client_id


class UnknownApi(UnknownRequest):
    """The API key is unknown.  Closes the connection, as in Kafka."""


class UnknownVersion(UnknownRequest):
    """The API version is unknown.  Closes the connection, as in Kafka; ApiVersions responds in version 0 with error
    35."""
