"""Request context: the broker, the API version and the peer of a request, and Kafka error codes.

A handler is a module of `kafka/handlers/` with the name of its message (`join_group` for JoinGroup):

    VERSIONS = (0, 9)                                         advertised versions; the codec supports them
    async def handle(request: JoinGroupRequest, call: RequestContext) -> JoinGroupResponse

A handler raises LedgerError only if its module has `failed`, which builds the response for an error of the whole
request.  It writes errors of single topics or groups into the response, by `code_of`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

from redis_ledger.auth.acl import ANONYMOUS, CLUSTER_NAME, Caller, Op, Resource
from redis_ledger.broker.broker import Broker
from redis_ledger.broker.produce.record_checks import RecordChecks
from redis_ledger.broker.security.service import refusal
from redis_ledger.broker.socket_state import NO_SOCKET, is_closed
from redis_ledger.errors import Draining, LedgerError, RedisUnfit, StoreUnavailable, Unavailable
from redis_ledger.kafka.fetch_session import FetchSession
from redis_ledger.ledger.read_memory import ReadMemory
from redis_ledger.telemetry.logs import get

NONE = 0
UNKNOWN_SERVER_ERROR = -1
NOT_LEADER = 6
REQUEST_TIMED_OUT, COORDINATOR_LOADING, COORDINATOR_NOT_AVAILABLE = 7, 14, 15
UNSUPPORTED_VERSION = 35
NOT_CONTROLLER, INVALID_REQUEST = 41, 42
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 74, 75
UNKNOWN_TOPIC_ID = 100
INVALID_PRODUCER_EPOCH, CONCURRENT_TRANSACTIONS, PRODUCER_FENCED = 47, 51, 90

MESSAGE_LENGTH_MAX = 1_000  # a message may quote client input, but the protocol limits strings to 32 767 bytes

_log = get()


class Result(Protocol):
    """The result for one of the items of a request."""

    error_code: int


R = TypeVar("R", bound=Result)


@dataclass(frozen=True, slots=True)
class LoginCredential:
    """The credential of a login: a SCRAM user, or an API token.  mark: the user's version, as in Users.mark."""

    user: str = ""
    mark: str = ""
    token: str = field(default="", repr=False)


@dataclass(slots=True)
class Peer:
    """A connection, as handlers see it.

    listener  the name of its listener
    sasl      the state of an unfinished exchange
    proof     the credential of the login; None without a login or with a certificate
    until_s   when the certificate expires, Unix time
    unread    memory for its responses
    socket    its file descriptor
    """

    host: str
    listener: str = ""
    principal: str = ANONYMOUS
    is_authenticated: bool = False
    sasl: object | None = None
    credential: LoginCredential | None = None
    until_s: float = math.inf
    is_refused: bool = False  # close the connection after the response
    fetch_session: FetchSession | None = None
    unread: ReadMemory | None = None
    checks: RecordChecks = field(default_factory=RecordChecks)  # of the batches that it sends
    closing: asyncio.Event = field(default_factory=asyncio.Event)  # set when the client has disconnected: stop waiting
    socket: int = NO_SOCKET

    def waits(self) -> bool:
        """Whether the client is still connected, also if the event loop has not noticed yet.  Cost: a system call."""
        return not self.closing.is_set() and not is_closed(self.socket)

    @property
    def caller(self) -> Caller:
        return Caller(self.principal, self.host)


class RequestContext(NamedTuple):
    broker: Broker
    version: int
    client_id: str
    peer: Peer

    def allows(self, operation: Op, resource: Resource, name: str) -> bool:
        security = self.broker.security
        return not security.is_on or security.rules.allow(self.peer.caller, operation, resource, name)

    def allows_cluster(self, operation: Op) -> bool:
        return self.allows(operation, Resource.CLUSTER, CLUSTER_NAME)

    def check(self, operation: Op, resource: Resource, name: str) -> None:
        """Raises the Forbidden of the resource type.  Produce and Fetch check every topic: one dict lookup."""
        security = self.broker.security
        if security.is_on and not security.rules.allow(caller := self.peer.caller, operation, resource, name):
            raise refusal(caller, operation, resource, name)

    def check_topic(self, operation: Op, topic: str) -> None:
        """Raises TopicForbidden."""
        self.check(operation, Resource.TOPIC, topic)


def code_of(error: BaseException, **where: object) -> int:
    """Returns Kafka's error code.  An unexpected exception is logged and maps to UNKNOWN_SERVER_ERROR."""
    if isinstance(error, LedgerError):
        return error.kafka_code
    _log.error("a Kafka request failed", exc_info=error, **where)
    return UNKNOWN_SERVER_ERROR


def epoch_code(current: int, epoch: int) -> int:
    """The error code for a client that has `current` as leader epoch; -1: it has none."""
    if current in (-1, epoch):
        return NONE
    return FENCED_LEADER_EPOCH if current < epoch else UNKNOWN_LEADER_EPOCH


def fenced_code(error: LedgerError, knows_fenced: bool) -> int:
    """The code for a transactional producer's request.  Older versions have no PRODUCER_FENCED (KIP-588).

    COORDINATOR_NOT_AVAILABLE while the request cannot be carried out: Java, librdkafka and franz-go repeat the request.
    Java takes REQUEST_TIMED_OUT and KAFKA_STORAGE_ERROR for fatal errors in these answers.
    """
    code = code_of(error)
    if isinstance(error, Unavailable) and code != CONCURRENT_TRANSACTIONS:
        return COORDINATOR_NOT_AVAILABLE
    return INVALID_PRODUCER_EPOCH if code == PRODUCER_FENCED and not knows_fenced else code


def is_away(error: BaseException) -> bool:
    """Whether the request was not executed and can be retried, now elsewhere or later."""
    return isinstance(error, (StoreUnavailable, Draining)) and not isinstance(error, RedisUnfit)


def controller_code(error: BaseException) -> int:
    """The code for requests to Kafka's controller.  Java's admin client, kafka-python and franz-go repeat such a
    request
        at NOT_CONTROLLER; Java's repeats it at no other code."""
    return NOT_CONTROLLER if is_away(error) else code_of(error)


def repeated_whole(results: Sequence[R]) -> list[R]:
    """The results of a request to the controller.  At NOT_CONTROLLER clients repeat the whole request and would then
    get
        errors for topics that they have just created; so it is returned only if nothing was done."""
    if any(each.error_code in (NONE, REQUEST_TIMED_OUT) for each in results):
        for each in results:
            if each.error_code == NOT_CONTROLLER:
                each.error_code = REQUEST_TIMED_OUT
    return list(results)


def message_of(error: BaseException) -> str:
    if not isinstance(error, LedgerError):
        return "Internal error; the broker's log has the details."
    return error.detail if len(error.detail) <= MESSAGE_LENGTH_MAX else f"{error.detail[:MESSAGE_LENGTH_MAX]}..."
