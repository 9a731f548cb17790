"""What a caller must be allowed before an operation is carried out; each operation declares it beside its path.

    @routes.post("/v1/topics/{topic}/records", needs=(WRITE_TOPIC,), ...)

    OPEN                     nobody is asked who they are
    ()                       anybody who is known; lists, which show what the caller may see
    READ_TOPIC, READ_GROUP   on what the path parameter names; all needs of an operation must be met
    ALTER_CLUSTER            on the cluster
    told(CREATE, TOPIC)      on what the body or the query names: the endpoint checks each name by `call.check`
    OWN                      the transaction of the path is the caller's own; told_own: those of the body or the query
    either(a, b)             one of them will do

They are data: OpenAPI tells them, and a test goes through all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from redis_ledger.auth.acl import CLUSTER_NAME, Op, Resource
from redis_ledger.broker.security.service import FORBIDDEN
from redis_ledger.errors import Forbidden
from redis_ledger.ids import TxnId

if TYPE_CHECKING:
    from redis_ledger.app.http.request import HttpRequest, PathParameters


class By(Enum):
    """How the resource is known."""

    NOTHING = "nothing"
    PATH = "path"
    CLUSTER = "cluster"
    SOME = "some"
    TOLD = "told"
    OWN = "own"
    TOLD_OWN = "told own"
    OWN_TOKEN = "own token"
    EITHER = "either"


class Requirement(NamedTuple):
    """parameter: of the path.  choices: of EITHER.  For OWN, operation is what on the cluster does instead."""

    by: By
    operation: Op = Op.ANY
    resource: Resource = Resource.ANY
    parameter: str = ""
    choices: tuple[Requirement, ...] = ()

    def shown(self) -> str:
        """For readers of the documentation."""
        what, on = self.operation.name, self.resource.name
        match self.by:
            case By.NOTHING:
                return "nothing"
            case By.EITHER:
                return " or ".join(each.shown() for each in self.choices)
            case By.SOME:
                return f"{what} on any {on}"
            case By.CLUSTER:
                return f"{what} on the CLUSTER"
            case By.OWN_TOKEN:
                return f"the token is the caller's own, or {what} on the CLUSTER"
            case By.OWN | By.TOLD_OWN:
                instead = "" if self.operation is Op.ANY else f", or {what} on the CLUSTER"
                where = "named" if self.by is By.TOLD_OWN else "transaction"
                return f"the {where}{' transaction' * (self.by is By.TOLD_OWN)} is the caller's own{instead}"
            case _:
                return f"{what} on the {on}"


_PARAMETERS = {Resource.TOPIC: "topic", Resource.GROUP: "name"}


def _path(operation: Op, resource: Resource) -> Requirement:
    return Requirement(By.PATH, operation, resource, _PARAMETERS[resource])


def cluster(operation: Op) -> Requirement:
    return Requirement(By.CLUSTER, operation, Resource.CLUSTER)


def some(operation: Op, resource: Resource) -> Requirement:
    return Requirement(By.SOME, operation, resource)


def told(operation: Op, resource: Resource) -> Requirement:
    return Requirement(By.TOLD, operation, resource)


def either(*choices: Requirement) -> Requirement:
    return Requirement(By.EITHER, choices=choices)


OPEN: tuple[Requirement, ...] = (Requirement(By.NOTHING),)
READ_TOPIC = _path(Op.READ, Resource.TOPIC)
WRITE_TOPIC = _path(Op.WRITE, Resource.TOPIC)
ALTER_TOPIC = _path(Op.ALTER, Resource.TOPIC)
DELETE_TOPIC = _path(Op.DELETE, Resource.TOPIC)
DESCRIBE_TOPIC = _path(Op.DESCRIBE, Resource.TOPIC)
CHANGE_TOPIC = either(ALTER_TOPIC, _path(Op.ALTER_CONFIGS, Resource.TOPIC))  # by what is changed; the endpoint knows
READ_GROUP = _path(Op.READ, Resource.GROUP)
DELETE_GROUP = _path(Op.DELETE, Resource.GROUP)
DESCRIBE_GROUP = _path(Op.DESCRIBE, Resource.GROUP)
ALTER_CLUSTER, DESCRIBE_CLUSTER = cluster(Op.ALTER), cluster(Op.DESCRIBE)
CLUSTER_ACTION = cluster(Op.CLUSTER_ACTION)
# As Kafka's InitProducerId.
IDENTITY = either(cluster(Op.IDEMPOTENT_WRITE), some(Op.WRITE, Resource.TOPIC))
BEGIN = either(*IDENTITY.choices, some(Op.READ, Resource.GROUP))
# As Kafka's CreateTopics; the name is in the body.
CREATE_TOPIC = either(told(Op.CREATE, Resource.TOPIC), cluster(Op.CREATE))
OWN = Requirement(By.OWN, resource=Resource.TRANSACTIONAL_ID, parameter="id")
OWN_OR_DESCRIBE = OWN._replace(operation=Op.DESCRIBE)
OWN_OR_ALTER = OWN._replace(operation=Op.ALTER)
# Names whose number counts once are Kafka's transactional ids in all but the word.
TOLD_NAME = told(Op.WRITE, Resource.TRANSACTIONAL_ID)
OWN_TOKEN = Requirement(By.OWN_TOKEN, Op.ALTER, Resource.CLUSTER, "token")
TOLD_OWN = Requirement(By.TOLD_OWN, resource=Resource.TRANSACTIONAL_ID)


async def own(call: HttpRequest, text: str | None) -> TxnId | None:
    """A transaction that the body or the query names.  Raises TransactionForbidden if it is not the caller's own."""
    if text is None:
        return None
    txn = TxnId.parse(text)
    if call.broker.security.is_on:
        await call.broker.transaction_owners.check(call.caller, txn)
    return txn


def principal(call: HttpRequest) -> str:
    """Whose the transaction is that the request begins."""
    return call.caller.principal if call.broker.security.is_on else ""


def creates(call: HttpRequest, topic: str) -> Callable[[], bool]:
    """For who would make a topic by writing to it: asked only if it is not there."""
    return partial(may_create, call, topic)


def may_create(call: HttpRequest, topic: str) -> bool:
    return call.broker.security.may_create(call.caller, topic)


def problems(needs: tuple[Requirement, ...]) -> list[type[Forbidden]]:
    """What refusing them is told as."""
    found: list[type[Forbidden]] = []
    # Lists show what the caller may see, and refuse nobody.
    for need in needs:
        found += problems(need.choices) if need.by is By.EITHER else [FORBIDDEN[need.resource]]
    return found


class Authorizer:
    """What an operation needs.  On the hot path, where the caller was seen before and only the path says what is asked
    for, `passes` is all there is: it waits for nothing."""

    def __init__(self, needs: tuple[Requirement, ...]) -> None:
        self._needs = needs
        is_by_path = all(need.by in (By.PATH, By.TOLD, By.TOLD_OWN) for need in needs)
        self._by_path = tuple(need for need in needs if need.by is By.PATH) if is_by_path else ()

    def passes(self, call: HttpRequest, parameters: PathParameters) -> bool:
        """Whether that can be told at once, and it is yes; if not, `enter` finds out."""
        if not self._by_path or not call.is_remembered():
            return False
        caller, allow = call.caller, call.broker.security.rules.allow
        for _, operation, resource, parameter, _ in self._by_path:
            if not allow(caller, operation, resource, parameters[parameter]):
                return False
        return True

    async def enter(self, call: HttpRequest, parameters: PathParameters) -> None:
        """Raises Unauthenticated, Forbidden."""
        await call.identify()
        await check(self._needs, call, parameters)


async def check(needs: tuple[Requirement, ...], call: HttpRequest, parameters: PathParameters) -> None:
    """Raises Forbidden.  Cost: for what the path names, one look into a dict each.

    What the body names is left to the endpoint, alone or as one of several choices."""
    security = call.broker.security
    caller = call.caller
    for need in needs:
        match need.by:
            case By.PATH:
                security.check(caller, need.operation, need.resource, parameters[need.parameter])
            case By.CLUSTER:
                security.check(caller, need.operation, need.resource, CLUSTER_NAME)
            case By.SOME:
                security.check_some(caller, need.operation, need.resource)
            case By.OWN:
                instead = None if need.operation is Op.ANY else need.operation
                call.is_own = await call.broker.transaction_owners.check(
                    caller, TxnId.parse(parameters[need.parameter]), instead
                )
            case By.OWN_TOKEN:
                token = security.tokens.get(parameters[need.parameter])
                if token is None or token.principal != caller.principal:
                    security.check(caller, need.operation, need.resource, CLUSTER_NAME)
            case By.EITHER:
                await _check_either(need.choices, call, parameters)
            case By.TOLD | By.TOLD_OWN | By.NOTHING:
                pass


async def _check_either(choices: tuple[Requirement, ...], call: HttpRequest, parameters: PathParameters) -> None:
    if any(choice.by is By.TOLD for choice in choices):
        return
    refused: Forbidden | None = None
    for choice in choices:
        try:
            await check((choice,), call, parameters)
        except Forbidden as error:
            refused = refused or error
        else:
            return
    assert refused is not None, "there is a choice"
    raise refused
