"""AlterClientQuotas 0-1: sets and removes quotas of users, each with its own result (KIP-546).

1   flexible
They apply to all interfaces, and on other brokers within two seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from redis_ledger.auth.acl import check_principal
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.protocol.messages.alter_client_quotas_request import AlterClientQuotasRequest, EntryData
from redis_ledger.kafka.protocol.messages.alter_client_quotas_response import AlterClientQuotasResponse
from redis_ledger.kafka.protocol.messages.alter_client_quotas_response import EntityData as AnsweredEntity
from redis_ledger.kafka.protocol.messages.alter_client_quotas_response import EntryData as Answered
from redis_ledger.kafka.quotas import parse_operations, principal_of
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of, message_of
from redis_ledger.kafka.security.api_authorization import note

VERSIONS = (0, 1)


async def handle(request: AlterClientQuotasRequest, call: RequestContext) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(0, [await _one(entry, request.validate_only, call) for entry in request.entries])


async def _one(entry: EntryData, validate_only: bool, call: RequestContext) -> Answered:
    try:
        principal, requested = principal_of(entry.entity), parse_operations(entry.ops)
        check_principal(principal)
        if not validate_only:
            await call.broker.quotas.change(principal, requested)
            await note(call, "quota.set", principal, **requested)
    except LedgerError as error:
        return _answered(entry, code_of(error), message_of(error))
    return _answered(entry, NONE, None)


def refused(request: AlterClientQuotasRequest, call: RequestContext, error: LedgerError) -> AlterClientQuotasResponse:
    results: Sequence[Answered] = [_answered(entry, code_of(error), message_of(error)) for entry in request.entries]
    return AlterClientQuotasResponse(0, list(results))


def _answered(entry: EntryData, code: int, message: str | None) -> Answered:
    return Answered(code, message, [AnsweredEntity(each.entity_type, each.entity_name) for each in entry.entity])
