from redis_ledger.proto import delay_bucket_pb2 as _delay_bucket_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BufferSnapshot(_message.Message):
    __slots__ = ("version", "topic_id", "leader_epoch", "position", "stable_offset", "taken_ms", "first_offset", "counted_from", "entries", "bytes", "committed", "aborted", "newest_ms", "has_left_out_producers", "has_left_out_ledgers", "last", "open", "ledgers", "aborted_segments", "window_segments")
    class Entry(_message.Message):
        __slots__ = ("base_offset", "last_offset", "producer_id", "sequence", "appended_ms")
        BASE_OFFSET_FIELD_NUMBER: _ClassVar[int]
        LAST_OFFSET_FIELD_NUMBER: _ClassVar[int]
        PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
        SEQUENCE_FIELD_NUMBER: _ClassVar[int]
        APPENDED_MS_FIELD_NUMBER: _ClassVar[int]
        base_offset: int
        last_offset: int
        producer_id: int
        sequence: int
        appended_ms: int
        def __init__(self, base_offset: _Optional[int] = ..., last_offset: _Optional[int] = ..., producer_id: _Optional[int] = ..., sequence: _Optional[int] = ..., appended_ms: _Optional[int] = ...) -> None: ...
    class Segment(_message.Message):
        __slots__ = ("number", "rows", "size", "first_offset", "last_offset")
        NUMBER_FIELD_NUMBER: _ClassVar[int]
        ROWS_FIELD_NUMBER: _ClassVar[int]
        SIZE_FIELD_NUMBER: _ClassVar[int]
        FIRST_OFFSET_FIELD_NUMBER: _ClassVar[int]
        LAST_OFFSET_FIELD_NUMBER: _ClassVar[int]
        number: int
        rows: int
        size: int
        first_offset: int
        last_offset: int
        def __init__(self, number: _Optional[int] = ..., rows: _Optional[int] = ..., size: _Optional[int] = ..., first_offset: _Optional[int] = ..., last_offset: _Optional[int] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    STABLE_OFFSET_FIELD_NUMBER: _ClassVar[int]
    TAKEN_MS_FIELD_NUMBER: _ClassVar[int]
    FIRST_OFFSET_FIELD_NUMBER: _ClassVar[int]
    COUNTED_FROM_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_FIELD_NUMBER: _ClassVar[int]
    ABORTED_FIELD_NUMBER: _ClassVar[int]
    NEWEST_MS_FIELD_NUMBER: _ClassVar[int]
    HAS_LEFT_OUT_PRODUCERS_FIELD_NUMBER: _ClassVar[int]
    HAS_LEFT_OUT_LEDGERS_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    OPEN_FIELD_NUMBER: _ClassVar[int]
    LEDGERS_FIELD_NUMBER: _ClassVar[int]
    ABORTED_SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    version: int
    topic_id: str
    leader_epoch: int
    position: int
    stable_offset: int
    taken_ms: int
    first_offset: int
    counted_from: int
    entries: int
    bytes: int
    committed: int
    aborted: int
    newest_ms: int
    has_left_out_producers: bool
    has_left_out_ledgers: bool
    last: BufferSnapshot.Entry
    open: _delay_bucket_pb2.Columns
    ledgers: _delay_bucket_pb2.Columns
    aborted_segments: _containers.RepeatedCompositeFieldContainer[BufferSnapshot.Segment]
    window_segments: _containers.RepeatedCompositeFieldContainer[BufferSnapshot.Segment]
    def __init__(self, version: _Optional[int] = ..., topic_id: _Optional[str] = ..., leader_epoch: _Optional[int] = ..., position: _Optional[int] = ..., stable_offset: _Optional[int] = ..., taken_ms: _Optional[int] = ..., first_offset: _Optional[int] = ..., counted_from: _Optional[int] = ..., entries: _Optional[int] = ..., bytes: _Optional[int] = ..., committed: _Optional[int] = ..., aborted: _Optional[int] = ..., newest_ms: _Optional[int] = ..., has_left_out_producers: _Optional[bool] = ..., has_left_out_ledgers: _Optional[bool] = ..., last: _Optional[_Union[BufferSnapshot.Entry, _Mapping]] = ..., open: _Optional[_Union[_delay_bucket_pb2.Columns, _Mapping]] = ..., ledgers: _Optional[_Union[_delay_bucket_pb2.Columns, _Mapping]] = ..., aborted_segments: _Optional[_Iterable[_Union[BufferSnapshot.Segment, _Mapping]]] = ..., window_segments: _Optional[_Iterable[_Union[BufferSnapshot.Segment, _Mapping]]] = ...) -> None: ...

class AbortedSegment(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: _delay_bucket_pb2.Columns
    def __init__(self, rows: _Optional[_Union[_delay_bucket_pb2.Columns, _Mapping]] = ...) -> None: ...

class WindowSegment(_message.Message):
    __slots__ = ("producers", "batches")
    PRODUCERS_FIELD_NUMBER: _ClassVar[int]
    BATCHES_FIELD_NUMBER: _ClassVar[int]
    producers: _delay_bucket_pb2.Columns
    batches: _delay_bucket_pb2.Columns
    def __init__(self, producers: _Optional[_Union[_delay_bucket_pb2.Columns, _Mapping]] = ..., batches: _Optional[_Union[_delay_bucket_pb2.Columns, _Mapping]] = ...) -> None: ...
