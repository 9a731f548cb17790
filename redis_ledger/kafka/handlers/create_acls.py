"""CreateAcls 1-3: adds ACLs, which apply to all interfaces, and on other brokers within two seconds (KIP-11, KIP-290).

1   pattern types     2   flexible     3   users as resources (rejected: not supported)

Each has its own result; an existing ACL is not an error.  Without auth_required: SECURITY_DISABLED.
"""

from __future__ import annotations

from redis_ledger.auth.acl import Rule, audit_summary, facts
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.handlers.describe_acls import DISABLED, SECURITY_DISABLED
from redis_ledger.kafka.protocol.messages.create_acls_request import CreateAclsRequest
from redis_ledger.kafka.protocol.messages.create_acls_response import AclCreationResult, CreateAclsResponse
from redis_ledger.kafka.request_context import INVALID_REQUEST, NONE, RequestContext, code_of, message_of
from redis_ledger.kafka.security.acl_codes import UNKNOWN, is_known, rule_of
from redis_ledger.kafka.security.api_authorization import note

VERSIONS = (1, 3)


async def handle(request: CreateAclsRequest, call: RequestContext) -> CreateAclsResponse:
    if not call.broker.security.is_on:
        return _all(request, SECURITY_DISABLED, DISABLED)
    if not all(
        is_known(c.resource_type, c.resource_pattern_type, c.operation, c.permission_type) for c in request.creations
    ):
        return _all(request, INVALID_REQUEST, UNKNOWN)
    rules: list[Rule] = []
    results: list[AclCreationResult] = []
    for creation in request.creations:
        try:
            rules.append(rule_of(creation))
            results.append(AclCreationResult(NONE, None))
        except LedgerError as error:
            results.append(AclCreationResult(code_of(error), message_of(error)))
    try:
        await call.broker.security.add_rules(rules)
    except LedgerError as error:
        return refused(request, call, error)
    if rules:
        await note(call, "acl.add", audit_summary(rules), **facts(rules))
    return CreateAclsResponse(0, results)


def refused(request: CreateAclsRequest, call: RequestContext, error: LedgerError) -> CreateAclsResponse:
    return _all(request, code_of(error), message_of(error))


def _all(request: CreateAclsRequest, code: int, message: str) -> CreateAclsResponse:
    return CreateAclsResponse(0, [AclCreationResult(code, message) for _ in request.creations])
