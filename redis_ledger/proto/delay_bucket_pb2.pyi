from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class BucketMetadata(_message.Message):
    __slots__ = ("version", "first_ledger", "last_ledger", "segments")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    FIRST_LEDGER_FIELD_NUMBER: _ClassVar[int]
    LAST_LEDGER_FIELD_NUMBER: _ClassVar[int]
    SEGMENTS_FIELD_NUMBER: _ClassVar[int]
    version: int
    first_ledger: int
    last_ledger: int
    segments: _containers.RepeatedCompositeFieldContainer[SegmentMetadata]
    def __init__(self, version: _Optional[int] = ..., first_ledger: _Optional[int] = ..., last_ledger: _Optional[int] = ..., segments: _Optional[_Iterable[_Union[SegmentMetadata, _Mapping]]] = ...) -> None: ...

class SegmentMetadata(_message.Message):
    __slots__ = ("min_due_ms", "first_entry", "max_due_ms", "entries", "records", "size", "bitmaps")
    MIN_DUE_MS_FIELD_NUMBER: _ClassVar[int]
    FIRST_ENTRY_FIELD_NUMBER: _ClassVar[int]
    MAX_DUE_MS_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    BITMAPS_FIELD_NUMBER: _ClassVar[int]
    min_due_ms: int
    first_entry: int
    max_due_ms: int
    entries: int
    records: int
    size: int
    bitmaps: _containers.RepeatedCompositeFieldContainer[LedgerBitmap]
    def __init__(self, min_due_ms: _Optional[int] = ..., first_entry: _Optional[int] = ..., max_due_ms: _Optional[int] = ..., entries: _Optional[int] = ..., records: _Optional[int] = ..., size: _Optional[int] = ..., bitmaps: _Optional[_Iterable[_Union[LedgerBitmap, _Mapping]]] = ...) -> None: ...

class LedgerBitmap(_message.Message):
    __slots__ = ("ledger", "entries")
    LEDGER_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    ledger: int
    entries: Columns
    def __init__(self, ledger: _Optional[int] = ..., entries: _Optional[_Union[Columns, _Mapping]] = ...) -> None: ...

class Segment(_message.Message):
    __slots__ = ("rows",)
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: Columns
    def __init__(self, rows: _Optional[_Union[Columns, _Mapping]] = ...) -> None: ...

class Columns(_message.Message):
    __slots__ = ("length", "columns", "planes")
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    PLANES_FIELD_NUMBER: _ClassVar[int]
    length: int
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    planes: bytes
    def __init__(self, length: _Optional[int] = ..., columns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ..., planes: _Optional[bytes] = ...) -> None: ...

class Column(_message.Message):
    __slots__ = ("common", "kept", "least", "start")
    COMMON_FIELD_NUMBER: _ClassVar[int]
    KEPT_FIELD_NUMBER: _ClassVar[int]
    LEAST_FIELD_NUMBER: _ClassVar[int]
    START_FIELD_NUMBER: _ClassVar[int]
    common: int
    kept: int
    least: int
    start: int
    def __init__(self, common: _Optional[int] = ..., kept: _Optional[int] = ..., least: _Optional[int] = ..., start: _Optional[int] = ...) -> None: ...
