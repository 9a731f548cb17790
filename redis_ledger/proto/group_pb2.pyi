from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConsumerPhase(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONSUMER_PHASE_STABLE: _ClassVar[ConsumerPhase]
    CONSUMER_PHASE_UNREVOKED: _ClassVar[ConsumerPhase]
    CONSUMER_PHASE_UNRELEASED: _ClassVar[ConsumerPhase]
CONSUMER_PHASE_STABLE: ConsumerPhase
CONSUMER_PHASE_UNREVOKED: ConsumerPhase
CONSUMER_PHASE_UNRELEASED: ConsumerPhase

class ClassicGroup(_message.Message):
    __slots__ = ("version", "is_stable", "protocol_type", "protocol", "leader")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    IS_STABLE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_TYPE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    version: int
    is_stable: bool
    protocol_type: str
    protocol: str
    leader: str
    def __init__(self, version: _Optional[int] = ..., is_stable: _Optional[bool] = ..., protocol_type: _Optional[str] = ..., protocol: _Optional[str] = ..., leader: _Optional[str] = ...) -> None: ...

class ClassicMember(_message.Message):
    __slots__ = ("instance_id", "client_id", "client_host", "session_ms", "rebalance_ms", "protocols", "assignment")
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_HOST_FIELD_NUMBER: _ClassVar[int]
    SESSION_MS_FIELD_NUMBER: _ClassVar[int]
    REBALANCE_MS_FIELD_NUMBER: _ClassVar[int]
    PROTOCOLS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    instance_id: str
    client_id: str
    client_host: str
    session_ms: int
    rebalance_ms: int
    protocols: _containers.RepeatedCompositeFieldContainer[ClassicProtocol]
    assignment: bytes
    def __init__(self, instance_id: _Optional[str] = ..., client_id: _Optional[str] = ..., client_host: _Optional[str] = ..., session_ms: _Optional[int] = ..., rebalance_ms: _Optional[int] = ..., protocols: _Optional[_Iterable[_Union[ClassicProtocol, _Mapping]]] = ..., assignment: _Optional[bytes] = ...) -> None: ...

class ClassicProtocol(_message.Message):
    __slots__ = ("name", "metadata")
    NAME_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    name: str
    metadata: bytes
    def __init__(self, name: _Optional[str] = ..., metadata: _Optional[bytes] = ...) -> None: ...

class ConsumerGroup(_message.Message):
    __slots__ = ("version",)
    VERSION_FIELD_NUMBER: _ClassVar[int]
    version: int
    def __init__(self, version: _Optional[int] = ...) -> None: ...

class ConsumerMember(_message.Message):
    __slots__ = ("instance_id", "rack_id", "rebalance_ms", "topics", "regex", "regex_sender", "assignor", "client_id", "client_host", "epoch", "epoch_before", "epoch_joined", "phase", "assigned", "revoking", "target")
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    RACK_ID_FIELD_NUMBER: _ClassVar[int]
    REBALANCE_MS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    REGEX_FIELD_NUMBER: _ClassVar[int]
    REGEX_SENDER_FIELD_NUMBER: _ClassVar[int]
    ASSIGNOR_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_HOST_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    EPOCH_BEFORE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_JOINED_FIELD_NUMBER: _ClassVar[int]
    PHASE_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_FIELD_NUMBER: _ClassVar[int]
    REVOKING_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    instance_id: str
    rack_id: str
    rebalance_ms: int
    topics: _containers.RepeatedScalarFieldContainer[str]
    regex: str
    regex_sender: _containers.RepeatedScalarFieldContainer[str]
    assignor: str
    client_id: str
    client_host: str
    epoch: int
    epoch_before: int
    epoch_joined: int
    phase: ConsumerPhase
    assigned: _containers.RepeatedCompositeFieldContainer[TopicPartitions]
    revoking: _containers.RepeatedCompositeFieldContainer[TopicPartitions]
    target: _containers.RepeatedCompositeFieldContainer[TopicPartitions]
    def __init__(self, instance_id: _Optional[str] = ..., rack_id: _Optional[str] = ..., rebalance_ms: _Optional[int] = ..., topics: _Optional[_Iterable[str]] = ..., regex: _Optional[str] = ..., regex_sender: _Optional[_Iterable[str]] = ..., assignor: _Optional[str] = ..., client_id: _Optional[str] = ..., client_host: _Optional[str] = ..., epoch: _Optional[int] = ..., epoch_before: _Optional[int] = ..., epoch_joined: _Optional[int] = ..., phase: _Optional[_Union[ConsumerPhase, str]] = ..., assigned: _Optional[_Iterable[_Union[TopicPartitions, _Mapping]]] = ..., revoking: _Optional[_Iterable[_Union[TopicPartitions, _Mapping]]] = ..., target: _Optional[_Iterable[_Union[TopicPartitions, _Mapping]]] = ...) -> None: ...

class TopicPartitions(_message.Message):
    __slots__ = ("topic_id", "partitions")
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    topic_id: bytes
    partitions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, topic_id: _Optional[bytes] = ..., partitions: _Optional[_Iterable[int]] = ...) -> None: ...
