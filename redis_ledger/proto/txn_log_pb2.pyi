from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class TransactionLogOp(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRANSACTION_LOG_OP_UNSPECIFIED: _ClassVar[TransactionLogOp]
    NEW: _ClassVar[TransactionLogOp]
    ADD_PARTITION: _ClassVar[TransactionLogOp]
    ADD_SUBSCRIPTION: _ClassVar[TransactionLogOp]
    UPDATE: _ClassVar[TransactionLogOp]

class TransactionLogStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TRANSACTION_LOG_STATUS_UNSPECIFIED: _ClassVar[TransactionLogStatus]
    OPEN: _ClassVar[TransactionLogStatus]
    COMMITTING: _ClassVar[TransactionLogStatus]
    COMMITTED: _ClassVar[TransactionLogStatus]
    ABORTING: _ClassVar[TransactionLogStatus]
    ABORTED: _ClassVar[TransactionLogStatus]
TRANSACTION_LOG_OP_UNSPECIFIED: TransactionLogOp
NEW: TransactionLogOp
ADD_PARTITION: TransactionLogOp
ADD_SUBSCRIPTION: TransactionLogOp
UPDATE: TransactionLogOp
TRANSACTION_LOG_STATUS_UNSPECIFIED: TransactionLogStatus
OPEN: TransactionLogStatus
COMMITTING: TransactionLogStatus
COMMITTED: TransactionLogStatus
ABORTING: TransactionLogStatus
ABORTED: TransactionLogStatus

class TransactionLogRecord(_message.Message):
    __slots__ = ("op", "serial", "expected_status", "new_status", "participants", "timeout_ms", "started_ms", "time_ms", "max_serial", "owner")
    OP_FIELD_NUMBER: _ClassVar[int]
    SERIAL_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_STATUS_FIELD_NUMBER: _ClassVar[int]
    NEW_STATUS_FIELD_NUMBER: _ClassVar[int]
    PARTICIPANTS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    TIME_MS_FIELD_NUMBER: _ClassVar[int]
    MAX_SERIAL_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    op: TransactionLogOp
    serial: str
    expected_status: TransactionLogStatus
    new_status: TransactionLogStatus
    participants: _containers.RepeatedScalarFieldContainer[str]
    timeout_ms: int
    started_ms: int
    time_ms: int
    max_serial: str
    owner: str
    def __init__(self, op: _Optional[_Union[TransactionLogOp, str]] = ..., serial: _Optional[str] = ..., expected_status: _Optional[_Union[TransactionLogStatus, str]] = ..., new_status: _Optional[_Union[TransactionLogStatus, str]] = ..., participants: _Optional[_Iterable[str]] = ..., timeout_ms: _Optional[int] = ..., started_ms: _Optional[int] = ..., time_ms: _Optional[int] = ..., max_serial: _Optional[str] = ..., owner: _Optional[str] = ...) -> None: ...

class TransactionLogEntry(_message.Message):
    __slots__ = ("records",)
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    records: _containers.RepeatedCompositeFieldContainer[TransactionLogRecord]
    def __init__(self, records: _Optional[_Iterable[_Union[TransactionLogRecord, _Mapping]]] = ...) -> None: ...
