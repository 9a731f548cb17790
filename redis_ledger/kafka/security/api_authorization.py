"""What each API asks of the rules: one row for every handler, or its reason to ask nothing.

    request ─▶ whole   may the caller do this at all?  no: the answer is that error, and the handler never runs
          └──▶ items   in the handler: each topic, group or id for itself; what is refused is told in its place

`whole` is asked here.  `items` is what the handler asks by `call.check` or `call.allows`, after `whole`.  A handler
without a row fails when the table of routes is made, so nothing is served that nobody has thought about.  While
auth_required is off nothing is asked.  A handler whose errors do not fit into one `error_code` has `refused`.
Source: Kafka's security documentation ("Protocols"), KafkaApis.scala and ControllerApis.scala.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any, NamedTuple

from redis_ledger.auth.acl import CLUSTER_NAME, OPERATIONS_OF, Op, Resource
from redis_ledger.errors import Forbidden, LedgerError
from redis_ledger.kafka.protocol.api import Api
from redis_ledger.kafka.protocol.registry import message_module
from redis_ledger.kafka.request_context import RequestContext, message_of

Handler = Callable[[Any, RequestContext], Awaitable[Any]]
NOT_ASKED = -(1 << 31)  # what an answer has for operations that the client did not ask for


class Requirement(NamedTuple):
    """Any of the operations will do.  field: of the request, with the resource's name; null is not asked about."""

    operations: tuple[Op, ...]
    resource: Resource
    field: str = ""

    def name(self, request: Any) -> str | None:
        name: str | None = getattr(request, self.field) if self.field else CLUSTER_NAME
        return name


class Row(NamedTuple):
    """free: why nothing is asked.  act: what a refusal is called in the audit."""

    whole: tuple[Requirement, ...] = ()
    items: tuple[Requirement, ...] = ()
    free: str = ""
    act: str = ""

    def target(self, request: Any) -> str:
        """Of a refusal, as the audit names it."""
        return " ".join(str(getattr(request, ask.field)) for ask in self.whole if ask.field) or "cluster"


def _topic(*operations: Op) -> Requirement:
    return Requirement(operations, Resource.TOPIC)


def _group(operation: Op, field: str = "") -> Requirement:
    return Requirement((operation,), Resource.GROUP, field)


def _id(operation: Op, field: str = "") -> Requirement:
    return Requirement((operation,), Resource.TRANSACTIONAL_ID, field)


def _cluster(*operations: Op) -> Requirement:
    return Requirement(operations, Resource.CLUSTER)


_MEMBER = Row(whole=(_group(Op.READ, "group_id"),))
_BEFORE_LOGIN = Row(free="It is how a client logs in, and finds out how.")

ROWS: dict[str, Row] = {
    "ApiVersions": _BEFORE_LOGIN,
    "SaslHandshake": _BEFORE_LOGIN,
    "SaslAuthenticate": _BEFORE_LOGIN,
    "DescribeCluster": Row(free="Every client has to find the brokers; what it may do with the cluster is told."),
    # records
    "Produce": Row(items=(_id(Op.WRITE), _topic(Op.WRITE))),
    "Fetch": Row(items=(_topic(Op.READ),)),
    "ListOffsets": Row(items=(_topic(Op.DESCRIBE),)),
    "OffsetForLeaderEpoch": Row(items=(_topic(Op.DESCRIBE),)),
    "DeleteRecords": Row(items=(_topic(Op.DELETE),)),
    # topics
    "Metadata": Row(items=(_topic(Op.DESCRIBE), _topic(Op.CREATE), _cluster(Op.CREATE))),
    "DescribeTopicPartitions": Row(items=(_topic(Op.DESCRIBE),)),
    "CreateTopics": Row(items=(_topic(Op.CREATE), _cluster(Op.CREATE), _topic(Op.DESCRIBE_CONFIGS))),
    "DeleteTopics": Row(items=(_topic(Op.DELETE), _topic(Op.DESCRIBE))),
    "CreatePartitions": Row(items=(_topic(Op.ALTER),)),
    "DescribeConfigs": Row(
        items=(_topic(Op.DESCRIBE_CONFIGS), _group(Op.DESCRIBE_CONFIGS), _cluster(Op.DESCRIBE_CONFIGS))
    ),
    "AlterConfigs": Row(items=(_topic(Op.ALTER_CONFIGS), _group(Op.ALTER_CONFIGS), _cluster(Op.ALTER_CONFIGS))),
    "IncrementalAlterConfigs": Row(
        items=(_topic(Op.ALTER_CONFIGS), _group(Op.ALTER_CONFIGS), _cluster(Op.ALTER_CONFIGS))
    ),
    "DescribeLogDirs": Row(whole=(_cluster(Op.DESCRIBE),)),
    # groups
    "FindCoordinator": Row(items=(_group(Op.DESCRIBE), _id(Op.DESCRIBE))),
    "JoinGroup": _MEMBER,
    "SyncGroup": _MEMBER,
    "Heartbeat": _MEMBER,
    "LeaveGroup": _MEMBER,
    "ConsumerGroupHeartbeat": _MEMBER._replace(items=(_topic(Op.DESCRIBE),)),
    "OffsetCommit": _MEMBER._replace(items=(_topic(Op.READ),)),
    "OffsetFetch": Row(items=(_group(Op.DESCRIBE), _topic(Op.DESCRIBE))),
    "OffsetDelete": Row(whole=(_group(Op.DELETE, "group_id"),), items=(_topic(Op.READ),), act="subscription.delete"),
    "DescribeGroups": Row(items=(_group(Op.DESCRIBE),)),
    "ConsumerGroupDescribe": Row(items=(_group(Op.DESCRIBE), _topic(Op.DESCRIBE))),
    "ListGroups": Row(items=(_cluster(Op.DESCRIBE), _group(Op.DESCRIBE))),
    "DeleteGroups": Row(items=(_group(Op.DELETE),)),
    # transactions
    "InitProducerId": Row(items=(_id(Op.WRITE), _cluster(Op.IDEMPOTENT_WRITE), _topic(Op.WRITE))),
    "AddPartitionsToTxn": Row(items=(_id(Op.WRITE), _topic(Op.WRITE), _cluster(Op.CLUSTER_ACTION))),
    "AddOffsetsToTxn": Row(whole=(_id(Op.WRITE, "transactional_id"), _group(Op.READ, "group_id"))),
    "TxnOffsetCommit": Row(
        whole=(_id(Op.WRITE, "transactional_id"), _group(Op.READ, "group_id")), items=(_topic(Op.READ),)
    ),
    "EndTxn": Row(whole=(_id(Op.WRITE, "transactional_id"),)),
    "DescribeProducers": Row(items=(_topic(Op.READ),)),
    "DescribeTransactions": Row(items=(_id(Op.DESCRIBE), _topic(Op.DESCRIBE))),
    "ListTransactions": Row(items=(_id(Op.DESCRIBE),)),
    "WriteTxnMarkers": Row(whole=(_cluster(Op.ALTER, Op.CLUSTER_ACTION),), act="transaction.abort"),
    # who may do what
    "DescribeAcls": Row(whole=(_cluster(Op.DESCRIBE),)),
    "CreateAcls": Row(whole=(_cluster(Op.ALTER),), act="acl.add"),
    "DeleteAcls": Row(whole=(_cluster(Op.ALTER),), act="acl.remove"),
    "DescribeClientQuotas": Row(whole=(_cluster(Op.DESCRIBE_CONFIGS),)),
    "AlterClientQuotas": Row(whole=(_cluster(Op.ALTER_CONFIGS),), act="quota.set"),
    "DescribeUserScramCredentials": Row(whole=(_cluster(Op.DESCRIBE),)),
    "AlterUserScramCredentials": Row(whole=(_cluster(Op.ALTER),), act="user.change"),
}


def guarded(api: Api, handler: ModuleType) -> Handler:
    """The handler behind what its row asks of whole requests."""
    assert api.name in ROWS, (
        f"{api.name} has a handler, and kafka/security/api_authorization.py no row that says who may ask for it"
    )
    row, handle = ROWS[api.name], handler.handle
    if not row.whole:
        found: Handler = handle
        return found
    refused = getattr(handler, "refused", None) or _plain(api)

    async def guard(request: Any, call: RequestContext) -> Any:
        if call.broker.security.is_on:
            try:
                for ask in row.whole:
                    _check(ask, request, call)
            except Forbidden as error:
                if row.act:
                    await note(call, row.act, row.target(request), error)
                return refused(request, call, error)
        return await handle(request, call)

    return guard


def _check(ask: Requirement, request: Any, call: RequestContext) -> None:
    name = ask.name(request)
    if name is None:
        return
    if not any(call.allows(operation, ask.resource, name) for operation in ask.operations):
        call.check(ask.operations[0], ask.resource, name)


def _plain(api: Api) -> Callable[[Any, RequestContext, Forbidden], Any]:
    """For an answer with an error of its own, and perhaps a message."""
    answer = getattr(message_module(f"{api.module}_response"), f"{api.name}Response")
    assert "error_code" in answer.__struct_fields__, (
        f"{api.name} needs a function `refused`: its answer has no error code"
    )
    tells = "error_message" in answer.__struct_fields__

    def refused(request: Any, call: RequestContext, error: Forbidden) -> Any:
        more = {"error_message": message_of(error)} if tells else {}
        return answer(error_code=error.kafka_code, **more)

    return refused


async def note(call: RequestContext, act: str, target: str, error: LedgerError | None = None, /, **facts: Any) -> None:
    """Tells the audit of an act that was done, or how it failed."""
    if error is None:
        await call.broker.audit.note(call.peer.caller, act, target, **facts)
    else:
        await call.broker.audit.failed(call.peer.caller, act, target, error, **facts)


def operations(call: RequestContext, resource: Resource, name: str) -> int:
    """What the caller may do with the resource, as Kafka tells it: bit n is the operation of that number."""
    possible = OPERATIONS_OF[resource] - {Op.ALL}
    return sum(1 << operation for operation in possible if call.allows(operation, resource, name))


def cluster_operations(call: RequestContext) -> int:
    """0 for who may not describe the cluster."""
    if not call.allows(Op.DESCRIBE, Resource.CLUSTER, CLUSTER_NAME):
        return 0
    return operations(call, Resource.CLUSTER, CLUSTER_NAME)
