"""DescribeAcls 1-3: the ACLs that match a filter, by resource (KIP-11, KIP-290).

1   pattern types; MATCH finds all ACLs that cover the name     2   flexible     3   users as resources (none)

ACLs apply to all interfaces.  Without auth_required: SECURITY_DISABLED.
"""

from __future__ import annotations

from itertools import groupby

from redis_ledger.auth.acl import Rule
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.protocol.messages.describe_acls_request import DescribeAclsRequest
from redis_ledger.kafka.protocol.messages.describe_acls_response import (
    AclDescription,
    DescribeAclsResource,
    DescribeAclsResponse,
)
from redis_ledger.kafka.request_context import INVALID_REQUEST, NONE, RequestContext, code_of, message_of
from redis_ledger.kafka.security.acl_codes import UNKNOWN, filter_of, is_known

VERSIONS = (1, 3)
IS_READ = True
SECURITY_DISABLED = 54
DISABLED = "Authentication is off (auth_required), so ACL rules have no effect."


async def handle(request: DescribeAclsRequest, call: RequestContext) -> DescribeAclsResponse:
    if not call.broker.security.is_on:
        return DescribeAclsResponse(0, SECURITY_DISABLED, DISABLED)
    kinds = (request.resource_type_filter, request.pattern_type_filter, request.operation, request.permission_type)
    if not is_known(*kinds):
        return DescribeAclsResponse(0, INVALID_REQUEST, UNKNOWN)
    requested = filter_of(request)
    try:
        rules = [] if requested is None else await call.broker.security.list_rules(requested)
    except LedgerError as error:
        return DescribeAclsResponse(0, code_of(error), message_of(error))
    resources = [
        DescribeAclsResource(*resource, [_to_result(rule) for rule in some])
        for resource, some in groupby(sorted(rules, key=_resource), key=_resource)
    ]
    return DescribeAclsResponse(0, NONE, None, resources)


def _resource(rule: Rule) -> tuple[int, str, int]:
    return rule.resource, rule.name, rule.pattern


def _to_result(rule: Rule) -> AclDescription:
    return AclDescription(rule.principal, rule.host, rule.operation, rule.effect)
