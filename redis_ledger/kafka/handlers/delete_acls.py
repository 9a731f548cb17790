"""DeleteAcls 1-3: removes the ACLs that match the filters, and returns them (KIP-11, KIP-290).

1   pattern types     2   flexible     3   users as resources (not supported)

An ACL that matches several filters is returned for the first of them.  Without auth_required: SECURITY_DISABLED.
"""

from __future__ import annotations

from redis_ledger.auth.acl import Rule, audit_summary, facts
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.handlers.describe_acls import DISABLED, SECURITY_DISABLED
from redis_ledger.kafka.protocol.messages.delete_acls_request import DeleteAclsRequest
from redis_ledger.kafka.protocol.messages.delete_acls_response import (
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsResponse,
)
from redis_ledger.kafka.request_context import INVALID_REQUEST, NONE, RequestContext, code_of, message_of
from redis_ledger.kafka.security.acl_codes import UNKNOWN, filter_of, is_known
from redis_ledger.kafka.security.api_authorization import note

VERSIONS = (1, 3)


async def handle(request: DeleteAclsRequest, call: RequestContext) -> DeleteAclsResponse:
    if not call.broker.security.is_on:
        return _all(request, SECURITY_DISABLED, DISABLED)
    if not all(
        is_known(each.resource_type_filter, each.pattern_type_filter, each.operation, each.permission_type)
        for each in request.filters
    ):
        return _all(request, INVALID_REQUEST, UNKNOWN)
    filters = [filter_of(each) for each in request.filters]
    try:
        removed = iter(await call.broker.security.remove_rules([each for each in filters if each is not None]))
    except LedgerError as error:
        return refused(request, call, error)
    results, gone = [], list[Rule]()
    for requested in filters:
        rules = [] if requested is None else next(removed)
        results.append(DeleteAclsFilterResult(NONE, None, [_to_result(rule) for rule in rules]))
        gone += rules
    if gone:
        await note(call, "acl.remove", audit_summary(gone), **facts(gone))
    return DeleteAclsResponse(0, results)


def refused(request: DeleteAclsRequest, call: RequestContext, error: LedgerError) -> DeleteAclsResponse:
    return _all(request, code_of(error), message_of(error))


def _all(request: DeleteAclsRequest, code: int, message: str) -> DeleteAclsResponse:
    return DeleteAclsResponse(0, [DeleteAclsFilterResult(code, message, []) for _ in request.filters])


def _to_result(rule: Rule) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        NONE, None, rule.resource, rule.name, rule.pattern, rule.principal, rule.host, rule.operation, rule.effect
    )
