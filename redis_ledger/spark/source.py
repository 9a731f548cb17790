"""The data source "redis-ledger", as Spark sees it: which reader, which writer, which columns.

    spark.read.format("redis-ledger")        DataSource ─→ batch.BatchReader
    spark.readStream.format("redis-ledger")             ─→ stream.StreamReader
    df.write.format("redis-ledger")                     ─→ sink.BatchWriter
    df.writeStream.format("redis-ledger")               ─→ sink.StreamWriter

Spark makes these objects anew in every process, from the options; nothing here is kept between two calls.
"""

from __future__ import annotations

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from redis_ledger.spark import rows
from redis_ledger.spark.batch import BatchReader
from redis_ledger.spark.options import reading
from redis_ledger.spark.sink import BatchWriter, StreamWriter
from redis_ledger.spark.stream import StreamReader
from redis_ledger.spark.writing import writing


class RedisLedgerSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "redis-ledger"

    def schema(self) -> str:
        asked = reading(dict(self.options))
        return rows.columns(include_headers=asked.include_headers, include_position=asked.include_position)

    def reader(self, schema: StructType) -> BatchReader:
        return BatchReader(reading(dict(self.options), "batch"), _checked(schema))

    def streamReader(self, schema: StructType) -> StreamReader:
        return StreamReader(reading(dict(self.options), "stream"), _checked(schema))

    def writer(self, schema: StructType, overwrite: bool) -> BatchWriter:
        return BatchWriter(writing(dict(self.options), "batch"), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        return StreamWriter(writing(dict(self.options), "stream"), schema, overwrite)


def _checked(schema: StructType) -> StructType:
    rows.check_columns({field.name: field.dataType.simpleString() for field in schema.fields})
    return schema
