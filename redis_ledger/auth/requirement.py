"""Requirements: the permission that a REST operation or a Kafka API needs, as data.

    named(WRITE, TOPIC, "topic")       on the resource that a field of the request names
    cluster(ALTER)                     on the cluster
    any_name(WRITE, TOPIC)             on at least one resource of the type (KIP-679)
    each_name(READ, GROUP)             on every resource in the body; the endpoint or handler checks each one
    any_of(named(...), cluster(...))   one of the alternatives is enough
    OWN, EACH_OWN, OWN_TOKEN           the caller began the transaction, or owns the token

The two tables are `app/http/routers` and `kafka/security/api_authorization.py`.  Pure: no I/O, no clock.
Source: Kafka's security documentation ("Protocols"), KafkaApis.scala and ControllerApis.scala.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import ClusterForbidden, Forbidden, GroupForbidden, TopicForbidden, TransactionForbidden

FORBIDDEN: Mapping[Resource, type[Forbidden]] = {
    Resource.TOPIC: TopicForbidden,
    Resource.GROUP: GroupForbidden,
    Resource.CLUSTER: ClusterForbidden,
    Resource.TRANSACTIONAL_ID: TransactionForbidden,
}


class Scope(Enum):
    """The resources on which the operation must be allowed."""

    PUBLIC = "public"  # none: the request is not authenticated
    NAMED = "named"
    CLUSTER = "cluster"
    ANY_NAME = "any name"
    EACH_NAME = "each name"
    OWN = "own"
    EACH_OWN = "each own"
    OWN_TOKEN = "own token"
    ANY_OF = "any of"


class Requirement(NamedTuple):
    """A permission that a request needs.

    operation     for OWN, OWN_TOKEN: on the cluster, sufficient without ownership; ANY: ownership is required
    field         path parameter (REST) or request field (Kafka) with the resource's name; a null field is not checked
    alternatives  of ANY_OF
    """

    scope: Scope
    operation: Op = Op.ANY
    resource: Resource = Resource.ANY
    field: str = ""
    alternatives: tuple[Requirement, ...] = ()

    @property
    def is_checked_by_handler(self) -> bool:
        return self.scope in (Scope.EACH_NAME, Scope.EACH_OWN)

    def errors(self) -> list[type[Forbidden]]:
        """The errors of a request that lacks the permission."""
        if self.scope is Scope.ANY_OF:
            return [error for each in self.alternatives for error in each.errors()]
        return [] if self.scope is Scope.PUBLIC else [FORBIDDEN[self.resource]]

    def describe(self) -> str:
        """The requirement as the OpenAPI document states it."""
        operation, resource = self.operation.name, self.resource.name
        or_cluster = "" if self.operation is Op.ANY else f", or {operation} on the CLUSTER"
        match self.scope:
            case Scope.PUBLIC:
                return "nothing"
            case Scope.ANY_OF:
                return " or ".join(each.describe() for each in self.alternatives)
            case Scope.ANY_NAME:
                return f"{operation} on any {resource}"
            case Scope.OWN_TOKEN:
                return f"the token is the caller's own{or_cluster}"
            case Scope.OWN:
                return f"the transaction is the caller's own{or_cluster}"
            case Scope.EACH_OWN:
                return f"the named transaction is the caller's own{or_cluster}"
            case Scope.NAMED | Scope.EACH_NAME | Scope.CLUSTER:
                return f"{operation} on the {resource}"


def named(operation: Op, resource: Resource, field: str) -> Requirement:
    return Requirement(Scope.NAMED, operation, resource, field)


def cluster(operation: Op) -> Requirement:
    return Requirement(Scope.CLUSTER, operation, Resource.CLUSTER)


def any_name(operation: Op, resource: Resource) -> Requirement:
    return Requirement(Scope.ANY_NAME, operation, resource)


def each_name(operation: Op, resource: Resource) -> Requirement:
    return Requirement(Scope.EACH_NAME, operation, resource)


def any_of(*alternatives: Requirement) -> Requirement:
    return Requirement(Scope.ANY_OF, alternatives=alternatives)
