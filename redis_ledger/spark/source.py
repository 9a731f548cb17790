"""The data source "redis-ledger", as Spark sees it: which reader, which writer, which columns.

    spark.read.format("redis-ledger")        DataSource ─→ batch.BatchReader
    spark.readStream.format("redis-ledger")             ─→ stream.StreamReader
    df.write.format("redis-ledger")                     ─→ sink.BatchWriter
    df.writeStream.format("redis-ledger")               ─→ sink.StreamWriter

Spark makes these objects anew in every process, from the options; nothing here is kept between two calls.  A process
loads what it is asked for only: it reads or it writes, and each half takes a tenth of a second of CPU to load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from redis_ledger.spark.workers import settle

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
        from redis_ledger.spark.read_options import reading

        asked = reading(dict(self.options))
        return rows.columns(include_headers=asked.include_headers, include_position=asked.include_position)

    def reader(self, schema: StructType) -> BatchReader:
        from redis_ledger.spark.batch import BatchReader
        from redis_ledger.spark.read_options import reading

        return BatchReader(reading(dict(self.options), "batch"), _checked(schema))

    def streamReader(self, schema: StructType) -> StreamReader:
        from redis_ledger.spark.read_options import reading
        from redis_ledger.spark.stream import StreamReader

        return StreamReader(reading(dict(self.options), "stream"), _checked(schema))

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        from redis_ledger.spark.sink import BatchWriter
        from redis_ledger.spark.write_options import writing

        settle()
        return BatchWriter(writing(dict(self.options), "batch"), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        from redis_ledger.spark.sink import StreamWriter
        from redis_ledger.spark.write_options import writing

        settle()
        return StreamWriter(writing(dict(self.options), "stream"), schema, overwrite)


def _checked(schema: StructType) -> StructType:
    from redis_ledger.spark import rows

    rows.check_columns({field.name: field.dataType.simpleString() for field in schema.fields})
    return schema
