"""The tree of errors.  Each leaf carries its code for REST, Kafka and the SDK.

    LedgerError
    ├── BadRequest                  the request can never work as it stands
    │   ├── InvalidRequest  InvalidJson  InvalidTopicName  CorruptBatch  BadChecksum  RequestTooLarge
    │   ├── InvalidRecord  InvalidTimestamp  UnsupportedCompression  InvalidTimeout  InvalidPosition
    │   ├── UnsupportedTxnAction
    │   ├── InvalidGroup  InvalidRegex  InvalidSessionTimeout  MetadataTooLarge  InvalidConfig  InvalidPartitions
    │   ├── InvalidReplicationFactor  InvalidReplicaAssignment  UnacceptableCredential
    │   ├── AuthenticationFailed  MethodNotAllowed  TooLargeToDecode
    │   └── InvalidDelay  DelayTooLong  InvalidRepeat
    ├── NotFound
    │   ├── RouteNotFound  UnknownTopic  UnknownTopicId  UnknownPartition  UnknownSubscription
    │   ├── CoordinatorNotFound  TransactionNotFound  OffsetOutOfRange  GroupNotFound  UnknownUser
    │   └── UnknownScheduled  UnknownToken  UnknownLargeMessage
    ├── Conflict                    the request is well formed, but not as things stand
    │   ├── TopicExists  TopicBusy  SubscriptionExists  WrongSubscriptionKind  ConsumerBusy
    │   ├── NotYourMessage  NotDelivered  RequestInProgress  IdempotencyKeyReused
    │   ├── AlreadyDelivered  AlreadyCancelled
    │   ├── OffloadDisabled  UnknownPlan  SegmentMismatch  ManifestChanged  UnreadableFormat
    │   ├── SecurityDisabled  ClientClosed
    │   ├── ProducerError
    │   │   ├── SequenceGap  DuplicateSequence  StaleEpoch  UnknownProducer  InvalidProducerId
    │   │   └── ProducerFenced  UnknownTransactionalId
    │   ├── GroupError
    │   │   ├── NotCoordinator  IllegalGeneration  InconsistentProtocol  UnknownMember  RebalanceInProgress
    │   │   ├── MemberIdRequired  GroupFull  GroupNotEmpty  GroupSubscribed  FencedInstance  FencedMember
    │   │   └── UnreleasedInstance  UnsupportedAssignor  StaleMember  UnstableOffsets
    │   └── TransactionError
    │       ├── InvalidTxnStatus  TransactionConflict  TransactionEnded  TransactionAbortOnly  NotAllowed
    │       └── AlreadyCommitted  AlreadyAborted  TransactionTimedOut  TransactionsDisabled
    ├── LargeMessageDamaged         a chunk of a large message is missing or differs
    ├── OffloadedDamaged            a file of offloaded records has to be restored
    ├── StoredDamaged               a value in Redis has another form than the broker stores
    ├── UnexpectedAnswer            the server at this address does not answer as a broker does
    ├── UnreadableValue             the value of a record is not JSON, or not UTF-8
    ├── Unauthenticated             the caller has to say who it is
    ├── Forbidden                   and may not do this
    │   └── TopicForbidden  GroupForbidden  ClusterForbidden  TransactionForbidden
    └── Unavailable                 the same request may work a moment later
        ├── StoreUnavailable
        │   └── RedisUnfit  TooFewReplicas
        ├── StoreTimeout  StorageFull  TooManyTransactions  Draining  ClientMemoryFull  DecodingBusy
        ├── ClockSkewed
        ├── OffloadedUnavailable
        ├── QuotaExceeded
        │   └── TransactionQuotaExceeded
        └── OutcomeUnknown          the reply was lost and the call was not safe to repeat
            └── NotReplicated       too few replicas confirmed it

`code` is the stable name of a problem (RFC 9457 `type` and our `code`), `http_status` its HTTP status, `kafka_code` its
Kafka protocol error code, `retriable` whether the same request may succeed later.  The first sentence of a leaf's
docstring is its title; the second says what to do.  Client side errors (`redis_ledger.client`) are these very classes.
"""

from __future__ import annotations

from collections.abc import Iterator

from redis_ledger.errors.base import (
    BadRequest,
    Conflict,
    LedgerError,
    NotFound,
    Unavailable,
)
from redis_ledger.errors.clients import ClientClosed, UnexpectedAnswer, UnreadableValue
from redis_ledger.errors.groups import (
    FencedInstance,
    FencedMember,
    GroupError,
    GroupFull,
    GroupNotEmpty,
    GroupSubscribed,
    IllegalGeneration,
    InconsistentProtocol,
    MemberIdRequired,
    NotCoordinator,
    RebalanceInProgress,
    StaleMember,
    UnknownMember,
    UnreleasedInstance,
    UnstableOffsets,
    UnsupportedAssignor,
)
from redis_ledger.errors.offload import ManifestChanged, OffloadDisabled, SegmentMismatch, UnknownPlan
from redis_ledger.errors.offloaded import (
    LargeMessageDamaged,
    OffloadedDamaged,
    OffloadedUnavailable,
    UnknownLargeMessage,
)
from redis_ledger.errors.requests import (
    AuthenticationFailed,
    BadChecksum,
    CoordinatorNotFound,
    CorruptBatch,
    GroupNotFound,
    InvalidConfig,
    InvalidGroup,
    InvalidJson,
    InvalidPartitions,
    InvalidPosition,
    InvalidRecord,
    InvalidRegex,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidSessionTimeout,
    InvalidTimeout,
    InvalidTimestamp,
    InvalidTopicName,
    MetadataTooLarge,
    MethodNotAllowed,
    OffsetOutOfRange,
    RequestTooLarge,
    RouteNotFound,
    TooLargeToDecode,
    TransactionNotFound,
    UnacceptableCredential,
    UnknownPartition,
    UnknownSubscription,
    UnknownToken,
    UnknownTopic,
    UnknownTopicId,
    UnknownUser,
    UnsupportedCompression,
    UnsupportedTxnAction,
)
from redis_ledger.errors.scheduled import (
    AlreadyCancelled,
    AlreadyDelivered,
    DelayTooLong,
    InvalidDelay,
    InvalidRepeat,
    UnknownScheduled,
)
from redis_ledger.errors.security import (
    ClusterForbidden,
    Forbidden,
    GroupForbidden,
    QuotaExceeded,
    SecurityDisabled,
    TopicForbidden,
    TransactionForbidden,
    TransactionQuotaExceeded,
    Unauthenticated,
)
from redis_ledger.errors.states import (
    ClientMemoryFull,
    ClockSkewed,
    ConsumerBusy,
    DecodingBusy,
    Draining,
    IdempotencyKeyReused,
    NotDelivered,
    NotReplicated,
    NotYourMessage,
    OutcomeUnknown,
    RedisUnfit,
    RequestInProgress,
    SnapshotMismatch,
    SnapshotTooLarge,
    StorageFull,
    StoredDamaged,
    StoreTimeout,
    StoreUnavailable,
    SubscriptionExists,
    TooFewReplicas,
    TooManyTransactions,
    TopicBusy,
    TopicExists,
    UnreadableFormat,
    WrongSubscriptionKind,
)
from redis_ledger.errors.transactions import (
    AlreadyAborted,
    AlreadyCommitted,
    DuplicateSequence,
    InvalidProducerId,
    InvalidTxnStatus,
    NotAllowed,
    ProducerError,
    ProducerFenced,
    SequenceGap,
    StaleEpoch,
    TransactionAbortOnly,
    TransactionConflict,
    TransactionEnded,
    TransactionError,
    TransactionsDisabled,
    TransactionTimedOut,
    UnknownProducer,
    UnknownTransactionalId,
)

__all__ = [
    "AlreadyAborted",
    "AlreadyCancelled",
    "AlreadyCommitted",
    "AlreadyDelivered",
    "AuthenticationFailed",
    "BadChecksum",
    "BadRequest",
    "ClientClosed",
    "ClientMemoryFull",
    "ClockSkewed",
    "ClusterForbidden",
    "Conflict",
    "ConsumerBusy",
    "CoordinatorNotFound",
    "CorruptBatch",
    "DecodingBusy",
    "DelayTooLong",
    "Draining",
    "DuplicateSequence",
    "FencedInstance",
    "FencedMember",
    "Forbidden",
    "GroupError",
    "GroupForbidden",
    "GroupFull",
    "GroupNotEmpty",
    "GroupNotFound",
    "GroupSubscribed",
    "IdempotencyKeyReused",
    "IllegalGeneration",
    "InconsistentProtocol",
    "InvalidConfig",
    "InvalidDelay",
    "InvalidGroup",
    "InvalidJson",
    "InvalidPartitions",
    "InvalidPosition",
    "InvalidProducerId",
    "InvalidRecord",
    "InvalidRegex",
    "InvalidRepeat",
    "InvalidReplicaAssignment",
    "InvalidReplicationFactor",
    "InvalidRequest",
    "InvalidSessionTimeout",
    "InvalidTimeout",
    "InvalidTimestamp",
    "InvalidTopicName",
    "InvalidTxnStatus",
    "LargeMessageDamaged",
    "LedgerError",
    "ManifestChanged",
    "MemberIdRequired",
    "MetadataTooLarge",
    "MethodNotAllowed",
    "NotAllowed",
    "NotCoordinator",
    "NotDelivered",
    "NotFound",
    "NotReplicated",
    "NotYourMessage",
    "OffloadDisabled",
    "OffloadedDamaged",
    "OffloadedUnavailable",
    "OffsetOutOfRange",
    "OutcomeUnknown",
    "ProducerError",
    "ProducerFenced",
    "QuotaExceeded",
    "RebalanceInProgress",
    "RedisUnfit",
    "RequestInProgress",
    "RequestTooLarge",
    "RouteNotFound",
    "SecurityDisabled",
    "SegmentMismatch",
    "SequenceGap",
    "SnapshotMismatch",
    "SnapshotTooLarge",
    "StaleEpoch",
    "StaleMember",
    "StorageFull",
    "StoreTimeout",
    "StoreUnavailable",
    "StoredDamaged",
    "SubscriptionExists",
    "TooFewReplicas",
    "TooLargeToDecode",
    "TooManyTransactions",
    "TopicBusy",
    "TopicExists",
    "TopicForbidden",
    "TransactionAbortOnly",
    "TransactionConflict",
    "TransactionEnded",
    "TransactionError",
    "TransactionForbidden",
    "TransactionNotFound",
    "TransactionQuotaExceeded",
    "TransactionTimedOut",
    "TransactionsDisabled",
    "UnacceptableCredential",
    "Unauthenticated",
    "Unavailable",
    "UnexpectedAnswer",
    "UnknownLargeMessage",
    "UnknownMember",
    "UnknownPartition",
    "UnknownPlan",
    "UnknownProducer",
    "UnknownScheduled",
    "UnknownSubscription",
    "UnknownToken",
    "UnknownTopic",
    "UnknownTopicId",
    "UnknownTransactionalId",
    "UnknownUser",
    "UnreadableFormat",
    "UnreadableValue",
    "UnreleasedInstance",
    "UnstableOffsets",
    "UnsupportedAssignor",
    "UnsupportedCompression",
    "UnsupportedTxnAction",
    "WrongSubscriptionKind",
    "by_code",
    "leaves",
]


def leaves(root: type[LedgerError] = LedgerError) -> Iterator[type[LedgerError]]:
    """Every class of the tree, root first.  Classes that other packages derive for themselves do not belong to it."""
    yield root
    for child in root.__subclasses__():
        if child.__module__.startswith(__name__):
            yield from leaves(child)


def by_code() -> dict[str, type[LedgerError]]:
    """Stable code → class; what the SDK uses to turn a problem back into an exception.  A class without a code of
    its own never leaves the broker, and does not stand in for its parent here."""
    return {cls.code: cls for cls in leaves() if "code" in vars(cls)}
