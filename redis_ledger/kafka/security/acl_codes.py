"""Rules as DescribeAcls, CreateAcls and DeleteAcls write them, and as `auth/acl.py` has them: the numbers are the same.

A number that Kafka does not know either makes the whole request invalid, as there.  What Kafka knows and is not here
(delegation tokens, users as resources, operations on these) cannot be made a rule of; a filter for it finds nothing.
Source: CreateAclsRequest.java, DescribeAclsRequest.java and DeleteAclsRequest.java, "unknown elements".
"""

from __future__ import annotations

from typing import Any

from redis_ledger.auth.acl import Effect, Filter, Op, Pattern, Resource, Rule, flaw
from redis_ledger.errors import InvalidRequest

# What Kafka knows is 1 to these.
RESOURCE_LAST, OPERATION_LAST, PATTERN_LAST, PERMISSION_LAST = 7, 15, 4, 3
UNKNOWN = "A resource type, pattern type, operation or permission type is not one of Kafka's."


def is_known(resource: int, pattern: int, operation: int, permission: int) -> bool:
    return (
        1 <= resource <= RESOURCE_LAST
        and 1 <= pattern <= PATTERN_LAST
        and 1 <= operation <= OPERATION_LAST
        and 1 <= permission <= PERMISSION_LAST
    )


def rule_of(creation: Any) -> Rule:
    """creation: an AclCreation.  Raises InvalidRequest for what cannot be a rule here."""
    if creation.resource_type > max(Resource) or creation.operation > max(Op):
        raise InvalidRequest("There are no rules for delegation tokens and users here, nor for operations on these.")
    rule = Rule(
        Effect(creation.permission_type), creation.principal, creation.host, Op(creation.operation),
        Resource(creation.resource_type), Pattern(creation.resource_pattern_type), creation.resource_name,
    )  # fmt: skip
    wrong = flaw(rule)
    if wrong is not None:
        raise InvalidRequest(wrong)
    return rule


def filter_of(asked: Any) -> Filter | None:
    """asked: a DescribeAclsRequest or a DeleteAclsFilter.  None for one that takes nothing that there can be."""
    if asked.resource_type_filter > max(Resource) or asked.operation > max(Op):
        return None
    return Filter(
        Resource(asked.resource_type_filter), asked.resource_name_filter, Pattern(asked.pattern_type_filter),
        asked.principal_filter, asked.host_filter, Op(asked.operation), Effect(asked.permission_type),
    )  # fmt: skip
