"""Converts ACLs between Kafka's protocol and `auth/acl.py`; the numbers are the same.

Numbers that are unknown to Kafka make the whole request invalid, as in Kafka.  Unsupported ones (delegation tokens,
users as resources, operations on these) are rejected in a new ACL and match nothing in a filter.  Source:
CreateAclsRequest.java, DescribeAclsRequest.java and DeleteAclsRequest.java, "unknown elements".
"""

from __future__ import annotations

from typing import Any

from redis_ledger.auth.acl import Effect, Filter, Op, Pattern, Resource, Rule, flaw
from redis_ledger.errors import InvalidRequest

# Kafka's numbers are 1 to these.
RESOURCE_LAST, OPERATION_LAST, PATTERN_LAST, PERMISSION_LAST = 7, 15, 4, 3
UNKNOWN = "A resource type, pattern type, operation or permission type is unknown."


def is_known(resource: int, pattern: int, operation: int, permission: int) -> bool:
    return (
        1 <= resource <= RESOURCE_LAST
        and 1 <= pattern <= PATTERN_LAST
        and 1 <= operation <= OPERATION_LAST
        and 1 <= permission <= PERMISSION_LAST
    )


def rule_of(creation: Any) -> Rule:
    """creation: an AclCreation.  Raises InvalidRequest for an unsupported ACL."""
    if creation.resource_type > max(Resource) or creation.operation > max(Op):
        raise InvalidRequest("ACLs for delegation tokens, users and operations on these are not supported.")
    rule = Rule(
        Effect(creation.permission_type), creation.principal, creation.host, Op(creation.operation),
        Resource(creation.resource_type), Pattern(creation.resource_pattern_type), creation.resource_name,
    )  # fmt: skip
    wrong = flaw(rule)
    if wrong is not None:
        raise InvalidRequest(wrong)
    return rule


def filter_of(entry: Any) -> Filter | None:
    """asked: a DescribeAclsRequest or a DeleteAclsFilter.  Returns None for a filter that cannot match."""
    if entry.resource_type_filter > max(Resource) or entry.operation > max(Op):
        return None
    return Filter(
        Resource(entry.resource_type_filter), entry.resource_name_filter, Pattern(entry.pattern_type_filter),
        entry.principal_filter, entry.host_filter, Op(entry.operation), Effect(entry.permission_type),
    )  # fmt: skip
