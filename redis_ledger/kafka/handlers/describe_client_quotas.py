"""DescribeClientQuotas 0-1: the quotas of a user, the default, or all (KIP-546).

1   flexible
"""

from __future__ import annotations

from redis_ledger.auth.quota import OTHERS
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.protocol.messages.describe_client_quotas_request import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from redis_ledger.kafka.protocol.messages.describe_client_quotas_response import (
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)
from redis_ledger.kafka.quotas import KEYS, USER, name_of
from redis_ledger.kafka.request_context import INVALID_REQUEST, NONE, RequestContext, code_of, message_of

VERSIONS = (0, 1)
IS_READ = True
EXACT, DEFAULT, ANY = 0, 1, 2


async def handle(request: DescribeClientQuotasRequest, call: RequestContext) -> DescribeClientQuotasResponse:
    kinds = [component.entity_type for component in request.components]
    if len(set(kinds)) != len(kinds) or any(c.match_type not in (EXACT, DEFAULT, ANY) for c in request.components):
        return DescribeClientQuotasResponse(
            0, INVALID_REQUEST, "An entity type occurs twice, or its match type is unknown.", None
        )
    try:
        found = await call.broker.quotas.all()
    except LedgerError as error:
        return DescribeClientQuotasResponse(0, code_of(error), message_of(error), None)
    entries = []
    for principal, quota in found.items():
        if all(_takes(component, principal) for component in request.components):
            pairs = ((key, getattr(quota, name)) for key, name in KEYS.items())
            values = [ValueData(key, float(value)) for key, value in pairs if value is not None]
            entries.append(EntryData([EntityData(USER, name_of(principal))], values))
    return DescribeClientQuotasResponse(0, NONE, None, entries)


def _takes(component: ComponentData, principal: str) -> bool:
    """Whether the filter matches the principal; client ids and addresses have no quotas."""
    if component.entity_type != USER:
        return False
    if component.match_type == ANY:
        return True
    if component.match_type == DEFAULT:
        return principal == OTHERS
    return principal != OTHERS and name_of(principal) == component.match
