"""Authorization of REST operations: each endpoint declares its requirements beside its path.

    @routes.post("/v1/topics/{topic}/records", requires=(WRITE_TOPIC,), ...)

    PUBLIC                   no authentication
    ()                       any authenticated principal; lists contain only what it may describe
    READ_TOPIC, READ_GROUP   on the resource that the path names; all requirements must be met
    each_name(CREATE, TOPIC) on every name in the body or the query; the endpoint calls `request.check` for each
    OWN                      the transaction in the path is the caller's own; EACH_OWN: those in the body or the query

The OpenAPI document lists the requirements, and a test covers every operation.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from redis_ledger.auth.acl import CLUSTER_NAME, Op, Resource
from redis_ledger.auth.requirement import Requirement, Scope, any_name, any_of, cluster, each_name, named
from redis_ledger.errors import Forbidden
from redis_ledger.ids import TxnId

if TYPE_CHECKING:
    from redis_ledger.app.http.request import HttpRequest, PathParameters

_PATH_PARAMETERS = {Resource.TOPIC: "topic", Resource.GROUP: "name"}


def _path(operation: Op, resource: Resource) -> Requirement:
    return named(operation, resource, _PATH_PARAMETERS[resource])


PUBLIC: tuple[Requirement, ...] = (Requirement(Scope.PUBLIC),)
READ_TOPIC = _path(Op.READ, Resource.TOPIC)
WRITE_TOPIC = _path(Op.WRITE, Resource.TOPIC)
ALTER_TOPIC = _path(Op.ALTER, Resource.TOPIC)
DELETE_TOPIC = _path(Op.DELETE, Resource.TOPIC)
DESCRIBE_TOPIC = _path(Op.DESCRIBE, Resource.TOPIC)
# Partitions need ALTER and settings ALTER_CONFIGS; the endpoint checks which of them the body changes.
CHANGE_TOPIC = any_of(ALTER_TOPIC, _path(Op.ALTER_CONFIGS, Resource.TOPIC))
READ_GROUP = _path(Op.READ, Resource.GROUP)
DELETE_GROUP = _path(Op.DELETE, Resource.GROUP)
DESCRIBE_GROUP = _path(Op.DESCRIBE, Resource.GROUP)
ALTER_CLUSTER, DESCRIBE_CLUSTER = cluster(Op.ALTER), cluster(Op.DESCRIBE)
CLUSTER_ACTION = cluster(Op.CLUSTER_ACTION)
# As for Kafka's InitProducerId.
INIT_PRODUCER_ID = any_of(cluster(Op.IDEMPOTENT_WRITE), any_name(Op.WRITE, Resource.TOPIC))
BEGIN_TRANSACTION = any_of(*INIT_PRODUCER_ID.alternatives, any_name(Op.READ, Resource.GROUP))
# As for Kafka's CreateTopics; the name is in the body.
CREATE_TOPIC = any_of(each_name(Op.CREATE, Resource.TOPIC), cluster(Op.CREATE))
OWN = Requirement(Scope.OWN, resource=Resource.TRANSACTIONAL_ID, field="id")
OWN_OR_DESCRIBE = OWN._replace(operation=Op.DESCRIBE)
OWN_OR_ALTER = OWN._replace(operation=Op.ALTER)
EACH_OWN = Requirement(Scope.EACH_OWN, resource=Resource.TRANSACTIONAL_ID)
# The name of `together` and `once` has the role of Kafka's transactional id.
WRITE_TRANSACTIONAL_ID = each_name(Op.WRITE, Resource.TRANSACTIONAL_ID)
OWN_TOKEN = Requirement(Scope.OWN_TOKEN, Op.ALTER, Resource.CLUSTER, "token")


def path_transaction(request: HttpRequest, id: str) -> TxnId:
    """Parses the transaction id of a path, for an operation that changes the transaction.  Raises
    TransactionsDisabled."""
    request.broker.transactions.check_enabled()
    return TxnId.parse(id)


async def own_transaction(request: HttpRequest, text: str | None) -> TxnId | None:
    """Parses a transaction id of the body or the query.  Raises TransactionForbidden if it is not the caller's own,
    TransactionsDisabled."""
    if text is None:
        return None
    txn = path_transaction(request, text)
    if request.broker.security.is_on:
        await request.broker.transaction_owners.check(request.caller, txn)
    return txn


def transaction_principal(request: HttpRequest) -> str:
    """The principal that owns the transaction which the request begins; empty while authentication is off."""
    return request.caller.principal if request.broker.security.is_on else ""


def create_check(request: HttpRequest, topic: str) -> Callable[[], bool]:
    """Returns `may_create` for a topic that a write would create; it is called only if the topic does not exist."""
    return partial(may_create, request, topic)


def may_create(request: HttpRequest, topic: str) -> bool:
    return request.broker.security.may_create(request.caller, topic)


class Authorizer:
    """Checks the requirements of one operation.

    Hot path: `allows_at_once` decides without waiting if the caller is cached and the path names every resource.
    """

    def __init__(self, requirements: tuple[Requirement, ...]) -> None:
        self._requirements = requirements
        is_by_path = all(r.scope is Scope.NAMED or r.is_checked_by_handler for r in requirements)
        self._by_path = tuple(r for r in requirements if r.scope is Scope.NAMED) if is_by_path else ()

    def allows_at_once(self, request: HttpRequest, parameters: PathParameters) -> bool:
        """False if the request is denied or the decision needs I/O: call `authorize` then."""
        if not self._by_path or not request.identify_from_cache():
            return False
        caller, allow = request.caller, request.broker.security.rules.allow
        for _, operation, resource, field, _ in self._by_path:
            if not allow(caller, operation, resource, parameters[field]):
                return False
        return True

    async def authorize(self, request: HttpRequest, parameters: PathParameters) -> None:
        """Raises Unauthenticated, Forbidden."""
        await request.identify()
        await check(self._requirements, request, parameters)


async def check(requirements: tuple[Requirement, ...], request: HttpRequest, parameters: PathParameters) -> None:
    """Checks what can be decided before the body is read; the endpoint checks the rest.  Raises Forbidden.

    Cost: one dict lookup for each resource that the path names.
    """
    security = request.broker.security
    caller = request.caller
    for requirement in requirements:
        match requirement.scope:
            case Scope.NAMED:
                name = parameters[requirement.field]
                security.check(caller, requirement.operation, requirement.resource, name)
            case Scope.CLUSTER:
                security.check(caller, requirement.operation, requirement.resource, CLUSTER_NAME)
            case Scope.ANY_NAME:
                security.check_some(caller, requirement.operation, requirement.resource)
            case Scope.OWN:
                instead = None if requirement.operation is Op.ANY else requirement.operation
                txn = TxnId.parse(parameters[requirement.field])
                request.is_own = await request.broker.transaction_owners.check(caller, txn, instead)
            case Scope.OWN_TOKEN:
                token = security.tokens.get(parameters[requirement.field])
                if token is None or token.principal != caller.principal:
                    security.check(caller, requirement.operation, requirement.resource, CLUSTER_NAME)
            case Scope.ANY_OF:
                await _check_any(requirement.alternatives, request, parameters)
            case Scope.EACH_NAME | Scope.EACH_OWN | Scope.PUBLIC:
                pass


async def _check_any(alternatives: tuple[Requirement, ...], request: HttpRequest, parameters: PathParameters) -> None:
    """Raises the error of the first alternative if all of them are denied."""
    if any(alternative.is_checked_by_handler for alternative in alternatives):
        return
    denied: Forbidden | None = None
    for alternative in alternatives:
        try:
            await check((alternative,), request, parameters)
        except Forbidden as error:
            denied = denied or error
        else:
            return
    assert denied is not None, "any_of has at least one alternative"
    raise denied
