"""Authorization of Kafka APIs: one row for every API, with its requirements or the reason why it has none.

    request ─▶ named, cluster   checked here, before the handler runs; if denied, the whole response is the error
          └──▶ each name        checked by the handler, which answers each denied topic, group or id with its own error

A handler without a row fails when the router is built.  Nothing is checked while auth_required is off.  A handler
whose response has no top-level `error_code` defines `refused`.
Source: Kafka's security documentation ("Protocols"), KafkaApis.scala and ControllerApis.scala.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any, NamedTuple

from redis_ledger.auth.acl import CLUSTER_NAME, OPERATIONS_OF, Op, Resource
from redis_ledger.auth.requirement import Requirement, Scope, any_of, cluster, each_name, named
from redis_ledger.errors import Forbidden, LedgerError
from redis_ledger.kafka.protocol.api import Api
from redis_ledger.kafka.protocol.registry import message_module
from redis_ledger.kafka.request_context import RequestContext, message_of

Handler = Callable[[Any, RequestContext], Awaitable[Any]]
NOT_REQUESTED = -(1 << 31)  # authorized operations in a response whose request did not ask for them


class ApiRow(NamedTuple):
    """The requirements of one API.

    exempt  why the API has no requirements
    act     name of a denied request in the audit log
    """

    requirements: tuple[Requirement, ...] = ()
    exempt: str = ""
    act: str = ""

    @property
    def checked_first(self) -> tuple[Requirement, ...]:
        return tuple(r for r in self.requirements if not r.is_checked_by_handler)

    def target(self, request: Any) -> str:
        """The denied resources as the audit log names them."""
        fields = [requirement.field for requirement in self.checked_first if requirement.field]
        return " ".join(str(getattr(request, field)) for field in fields) or "cluster"


def _row(*requirements: Requirement, act: str = "") -> ApiRow:
    return ApiRow(requirements, act=act)


def _topic(operation: Op) -> Requirement:
    return each_name(operation, Resource.TOPIC)


def _group(operation: Op, field: str = "") -> Requirement:
    return named(operation, Resource.GROUP, field) if field else each_name(operation, Resource.GROUP)


def _id(operation: Op, field: str = "") -> Requirement:
    resource = Resource.TRANSACTIONAL_ID
    return named(operation, resource, field) if field else each_name(operation, resource)


def _each_cluster(operation: Op) -> Requirement:
    """A permission on the cluster that the handler checks, because it depends on the request."""
    return each_name(operation, Resource.CLUSTER)


_MEMBER = _group(Op.READ, "group_id")
_BEFORE_LOGIN = ApiRow(exempt="Clients need it to authenticate.")

ROWS: dict[str, ApiRow] = {
    "ApiVersions": _BEFORE_LOGIN,
    "SaslHandshake": _BEFORE_LOGIN,
    "SaslAuthenticate": _BEFORE_LOGIN,
    "DescribeCluster": ApiRow(
        exempt="Every client discovers the brokers; the response lists the authorized operations."
    ),
    # records
    "Produce": _row(_id(Op.WRITE), _topic(Op.WRITE)),
    "Fetch": _row(_topic(Op.READ)),
    "ListOffsets": _row(_topic(Op.DESCRIBE)),
    "OffsetForLeaderEpoch": _row(_topic(Op.DESCRIBE)),
    "DeleteRecords": _row(_topic(Op.DELETE)),
    # topics
    "Metadata": _row(_topic(Op.DESCRIBE), _topic(Op.CREATE), _each_cluster(Op.CREATE)),
    "DescribeTopicPartitions": _row(_topic(Op.DESCRIBE)),
    "CreateTopics": _row(_topic(Op.CREATE), _each_cluster(Op.CREATE), _topic(Op.DESCRIBE_CONFIGS)),
    "DeleteTopics": _row(_topic(Op.DELETE), _topic(Op.DESCRIBE)),
    "CreatePartitions": _row(_topic(Op.ALTER)),
    "DescribeConfigs": _row(
        _topic(Op.DESCRIBE_CONFIGS), _group(Op.DESCRIBE_CONFIGS), _each_cluster(Op.DESCRIBE_CONFIGS)
    ),
    "AlterConfigs": _row(_topic(Op.ALTER_CONFIGS), _group(Op.ALTER_CONFIGS), _each_cluster(Op.ALTER_CONFIGS)),
    "IncrementalAlterConfigs": _row(
        _topic(Op.ALTER_CONFIGS), _group(Op.ALTER_CONFIGS), _each_cluster(Op.ALTER_CONFIGS)
    ),
    "DescribeLogDirs": _row(cluster(Op.DESCRIBE)),
    # groups
    "FindCoordinator": _row(_group(Op.DESCRIBE), _id(Op.DESCRIBE)),
    "JoinGroup": _row(_MEMBER),
    "SyncGroup": _row(_MEMBER),
    "Heartbeat": _row(_MEMBER),
    "LeaveGroup": _row(_MEMBER),
    "ConsumerGroupHeartbeat": _row(_MEMBER, _topic(Op.DESCRIBE)),
    "OffsetCommit": _row(_MEMBER, _topic(Op.READ)),
    "OffsetFetch": _row(_group(Op.DESCRIBE), _topic(Op.DESCRIBE)),
    "OffsetDelete": _row(_group(Op.DELETE, "group_id"), _topic(Op.READ), act="subscription.delete"),
    "DescribeGroups": _row(_group(Op.DESCRIBE)),
    "ConsumerGroupDescribe": _row(_group(Op.DESCRIBE), _topic(Op.DESCRIBE)),
    "ListGroups": _row(_each_cluster(Op.DESCRIBE), _group(Op.DESCRIBE)),
    "DeleteGroups": _row(_group(Op.DELETE)),
    # transactions
    "InitProducerId": _row(_id(Op.WRITE), _each_cluster(Op.IDEMPOTENT_WRITE), _topic(Op.WRITE)),
    "AddPartitionsToTxn": _row(_id(Op.WRITE), _topic(Op.WRITE), _each_cluster(Op.CLUSTER_ACTION)),
    "AddOffsetsToTxn": _row(_id(Op.WRITE, "transactional_id"), _group(Op.READ, "group_id")),
    "TxnOffsetCommit": _row(_id(Op.WRITE, "transactional_id"), _group(Op.READ, "group_id"), _topic(Op.READ)),
    "EndTxn": _row(_id(Op.WRITE, "transactional_id")),
    "DescribeProducers": _row(_topic(Op.READ)),
    "DescribeTransactions": _row(_id(Op.DESCRIBE), _topic(Op.DESCRIBE)),
    "ListTransactions": _row(_id(Op.DESCRIBE)),
    "WriteTxnMarkers": _row(any_of(cluster(Op.ALTER), cluster(Op.CLUSTER_ACTION)), act="transaction.abort"),
    # security
    "DescribeAcls": _row(cluster(Op.DESCRIBE)),
    "CreateAcls": _row(cluster(Op.ALTER), act="acl.add"),
    "DeleteAcls": _row(cluster(Op.ALTER), act="acl.remove"),
    "DescribeClientQuotas": _row(cluster(Op.DESCRIBE_CONFIGS)),
    "AlterClientQuotas": _row(cluster(Op.ALTER_CONFIGS), act="quota.set"),
    "DescribeUserScramCredentials": _row(cluster(Op.DESCRIBE)),
    "AlterUserScramCredentials": _row(cluster(Op.ALTER), act="user.change"),
}


def guarded(api: Api, handler: ModuleType) -> Handler:
    """Wraps a handler in the check of its row."""
    assert api.name in ROWS, f"{api.name} has a handler but no row in kafka/security/api_authorization.py"
    row, handle = ROWS[api.name], handler.handle
    requirements = row.checked_first
    if not requirements:
        found: Handler = handle
        return found
    refused = getattr(handler, "refused", None) or _error_response(api)

    async def guard(request: Any, call: RequestContext) -> Any:
        if call.broker.security.is_on:
            try:
                for requirement in requirements:
                    _check(requirement, request, call)
            except Forbidden as error:
                if row.act:
                    await note(call, row.act, row.target(request), error)
                return refused(request, call, error)
        return await handle(request, call)

    return guard


def _check(requirement: Requirement, request: Any, call: RequestContext) -> None:
    """Raises Forbidden."""
    alternatives = requirement.alternatives or (requirement,)
    if not any(_allows(alternative, request, call) for alternative in alternatives):
        first = alternatives[0]
        call.check(first.operation, first.resource, _name(first, request) or "")


def _allows(requirement: Requirement, request: Any, call: RequestContext) -> bool:
    name = _name(requirement, request)
    return name is None or call.allows(requirement.operation, requirement.resource, name)


def _name(requirement: Requirement, request: Any) -> str | None:
    if requirement.scope is Scope.CLUSTER:
        return CLUSTER_NAME
    name: str | None = getattr(request, requirement.field)
    return name


def _error_response(api: Api) -> Callable[[Any, RequestContext, Forbidden], Any]:
    """Builds responses with a top-level error code, and with the message if the response has one."""
    response = getattr(message_module(f"{api.module}_response"), f"{api.name}Response")
    assert "error_code" in response.__struct_fields__, (
        f"{api.name} needs a function `refused`: its response has no error code"
    )
    has_message = "error_message" in response.__struct_fields__

    def refused(request: Any, call: RequestContext, error: Forbidden) -> Any:
        more = {"error_message": message_of(error)} if has_message else {}
        return response(error_code=error.kafka_code, **more)

    return refused


async def note(call: RequestContext, act: str, target: str, error: LedgerError | None = None, /, **facts: Any) -> None:
    """Writes an administrative act to the audit log: done, or failed with the error."""
    if error is None:
        await call.broker.audit.note(call.peer.caller, act, target, **facts)
    else:
        await call.broker.audit.failed(call.peer.caller, act, target, error, **facts)


def operations(call: RequestContext, resource: Resource, name: str) -> int:
    """The authorized operations on a resource as Kafka's bit field: bit n is the operation with code n."""
    possible = OPERATIONS_OF[resource] - {Op.ALL}
    return sum(1 << operation for operation in possible if call.allows(operation, resource, name))


def cluster_operations(call: RequestContext) -> int:
    """The authorized operations on the cluster; 0 if the caller may not describe it."""
    if not call.allows(Op.DESCRIBE, Resource.CLUSTER, CLUSTER_NAME):
        return 0
    return operations(call, Resource.CLUSTER, CLUSTER_NAME)
