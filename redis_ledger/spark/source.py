"""The data source "redis-ledger": readers, writers and columns.

    spark.read.format("redis-ledger")        DataSource ─→ batch.BatchReader
    spark.readStream.format("redis-ledger")             ─→ stream.StreamReader
    df.write.format("redis-ledger")                     ─→ sink.BatchWriter
    df.writeStream.format("redis-ledger")               ─→ sink.StreamWriter

Spark creates these objects in every process from the options; they keep no state between calls.  Imports are local: a
process either reads or writes, and each half takes a tenth of a second of CPU to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from redis_ledger.spark.workers import freeze_loaded_objects

if TYPE_CHECKING:
    from redis_ledger.spark.batch import BatchReader
    from redis_ledger.spark.sink import BatchWriter, StreamWriter
    from redis_ledger.spark.stream import StreamReader


class RedisLedgerSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "redis-ledger"

    def schema(self) -> str:
        from redis_ledger.spark import rows
        from redis_ledger.spark.read_options import parse_read_options

        asked = parse_read_options(dict(self.options))
        return rows.columns(include_headers=asked.include_headers, include_position=asked.include_position)

    def reader(self, schema: StructType) -> BatchReader:
        from redis_ledger.spark.batch import BatchReader
        from redis_ledger.spark.read_options import parse_read_options

        return BatchReader(parse_read_options(dict(self.options), "batch"), _checked(schema))

    def streamReader(self, schema: StructType) -> StreamReader:
        from redis_ledger.spark.read_options import parse_read_options
        from redis_ledger.spark.stream import StreamReader

        return StreamReader(parse_read_options(dict(self.options), "stream"), _checked(schema))

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        from redis_ledger.spark.sink import BatchWriter
        from redis_ledger.spark.write_options import parse_write_options

        freeze_loaded_objects()
        return BatchWriter(parse_write_options(dict(self.options), "batch"), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        from redis_ledger.spark.sink import StreamWriter
        from redis_ledger.spark.write_options import parse_write_options

        freeze_loaded_objects()
        return StreamWriter(parse_write_options(dict(self.options), "stream"), schema, overwrite)


def _checked(schema: StructType) -> StructType:
    from redis_ledger.spark import rows

    rows.check_columns({field.name: field.dataType.simpleString() for field in schema.fields})
    return schema
