"""ApiVersions 0-4: the APIs of this listener, from the routing table.

0-2   the same response   3   client name and version (KIP-511); features in tagged fields       4   features from
version 0 The response to a later version is in version 0 with UNSUPPORTED_VERSION and the whole list, so that any
client can continue. With transaction.version 2, Java producers use the protocol of KIP-890.
"""

from __future__ import annotations

import re

from redis_ledger.kafka.protocol.messages.api_versions_request import ApiVersionsRequest
from redis_ledger.kafka.protocol.messages.api_versions_response import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from redis_ledger.kafka.request_context import INVALID_REQUEST, NONE, RequestContext
from redis_ledger.kafka.router import routes

VERSIONS = (0, 4)
FEATURES = {"transaction.version": 2, "group.version": 1}
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?\Z")


def answer(error_code: int, version: int) -> ApiVersionsResponse:
    keys = [ApiVersion(route.key, route.version_min, route.version_max) for route in routes().values()]
    supported = FEATURES if version >= 4 else {}  # their lowest level is 0, which earlier clients reject
    return ApiVersionsResponse(
        error_code,
        keys,
        supported_features=[SupportedFeatureKey(name, 0, level) for name, level in supported.items()],
        finalized_features_epoch=0,
        finalized_features=[FinalizedFeatureKey(name, level, level) for name, level in FEATURES.items()],
    )


async def handle(request: ApiVersionsRequest, call: RequestContext) -> ApiVersionsResponse:
    if call.version >= 3:
        names = (request.client_software_name, request.client_software_version)
        if not all(_SOFTWARE.match(name) for name in names):
            return answer(INVALID_REQUEST, call.version)
    return answer(NONE, call.version)
