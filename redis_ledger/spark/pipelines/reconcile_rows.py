"""Each record as a few numbers: position, time, and hashes of its identity and its contents.

    value, key, partition, offset, timestamp ...  ─→  partition offset ms  i1 i2  c1 c2  bytes ordered
                                                                          identity contents

Two hashes of 64 bits with different seeds form one of 128.  Hashed are bytes: a text as UTF-8, a number as its text, a
struct as JSON, so that a record has the same hash in any source.  Null differs from empty.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from redis_ledger.errors import InvalidRequest

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

# The position of a record, compared only on request.
PLACES = ("topic", "partition", "offset", "timestamp", "timestampType", "headers", "producerId", "producerEpoch",
          "position", "transaction")  # fmt: skip
CONTENTS = ("key", "value")
PLACE = "`partition`, `offset`"
NOWHERE = -1
JSON_PATH = re.compile(r"\$\.[A-Za-z_][\w.\[\]]*")


class RowsQuery(NamedTuple):
    """SQL expressions.  key "": the contents; "offset": partition and offset.  contents: comma-separated.
    time: a column.  ordered_by: "" or what must ascend.  is_json: values with the same JSON meaning are equal."""

    key: str
    contents: str
    time: str = "timestamp"
    ordered_by: str = ""
    is_json: bool = False

    @property
    def is_by_offset(self) -> bool:
        return self.key == "offset"


def contents_of(names: Sequence[Sequence[str]]) -> str:
    """Returns the default contents: key and value, else all columns common to every side.  Raises InvalidRequest."""
    common = [name for name in names[0] if all(name in others for others in names[1:])]
    if "value" in common:
        return ", ".join(f"`{name}`" for name in CONTENTS if name in common)
    left = [name for name in common if name not in PLACES]
    if not left:
        shown = " and ".join(f"({', '.join(each)})" for each in names)
        raise InvalidRequest(
            f"The two sides have no common column to compare: {shown}. Rename columns with --right-as."
        )
    return ", ".join(f"`{name}`" for name in sorted(left))


def sql(expression: str) -> str:
    """Replaces $.origin by the member of the JSON value, as text."""
    return JSON_PATH.sub(lambda found: f"get_json_object(cast(value as string), '{found[0]}')", expression)


def rows(frame: DataFrame, wanted: RowsQuery) -> DataFrame:
    """Returns the table of the picture.  Raises InvalidRequest, and Spark's AnalysisException for an expression that
    does not fit the columns."""
    from pyspark.sql import functions as F

    held = _bytes(frame, wanted.contents, wanted.is_json)
    ordered = F.expr(sql(wanted.ordered_by)) if wanted.ordered_by else F.lit(None).cast("bigint")
    sizes = [F.coalesce(F.length(each), F.lit(0)) for each in held]
    return frame.select(
        *places(frame, wanted.time),
        *[made.alias(name) for made, name in zip(hashes(frame, wanted), ("i1", "i2"), strict=True)],
        *[made.alias(name) for made, name in zip(_hashes(held), ("c1", "c2"), strict=True)],
        sum(sizes[1:], sizes[0]).cast("bigint").alias("bytes"),
        ordered.alias("ordered"),
    )


def places(frame: DataFrame, time: str) -> list[Column]:
    """partition (NOWHERE without one), offset, ms."""
    from pyspark.sql import functions as F

    partition = F.coalesce(_number(frame, "partition", "int"), F.lit(NOWHERE))
    return [partition.alias("partition"), _number(frame, "offset", "bigint").alias("offset"),
            _ms(frame, time).alias("ms")]  # fmt: skip


def hashes(frame: DataFrame, wanted: RowsQuery) -> tuple[Column, Column]:
    """The identity."""
    if wanted.is_by_offset and not {"partition", "offset"} <= set(frame.columns):
        raise InvalidRequest("--key offset needs the columns partition and offset on both sides.")
    return _hashes(_bytes(frame, PLACE if wanted.is_by_offset else wanted.key or wanted.contents, wanted.is_json))


def texts(frame: DataFrame, expressions: str, is_json: bool) -> Column:
    """Returns the columns as text for display: parts joined by a blank, and bytes that are not UTF-8 as hex."""
    from pyspark.sql import functions as F

    def shown(part: Column) -> Column:
        readable = F.coalesce(F.try_validate_utf8(part.cast("string")), F.concat(F.lit("0x"), F.hex(part)))
        return F.coalesce(readable, F.lit("null"))

    return F.concat_ws(" ", *[shown(part) for part in _bytes(frame, expressions, is_json)])


def _bytes(frame: DataFrame, expressions: str, is_json: bool) -> list[Column]:
    """Returns each expression as bytes."""
    from pyspark.sql import functions as F

    made = frame.select(F.expr(f"struct({sql(expressions)})").alias("all")).schema["all"].dataType
    whole = F.expr(f"struct({sql(expressions)})")
    return [_as_bytes(whole[field.name], field.name, field.dataType, is_json) for field in made.fields]


def _as_bytes(column: Column, name: str, kind: DataType, is_json: bool) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    if isinstance(kind, (T.ArrayType, T.MapType, T.StructType, T.VariantType)):
        column, kind = F.to_json(column), T.StringType()
    if is_json and name == "value":
        text = column.cast("string")
        column = F.coalesce(F.to_json(F.try_parse_json(text)), text)
    elif isinstance(kind, T.TimestampType):
        column = F.unix_micros(column).cast("string")
    elif not isinstance(kind, (T.BinaryType, T.StringType)):
        column = column.cast("string")
    return column.cast("binary")


def _hashes(parts: Sequence[Column]) -> tuple[Column, Column]:
    from pyspark.sql import functions as F

    # Spark's hash skips nulls, so that (null, "a") would equal ("a", null).
    marked = [each for part in parts for each in (part.isNull(), part)]
    return F.xxhash64(*marked), F.xxhash64(F.lit("the other half"), *marked)


def _number(frame: DataFrame, name: str, kind: str) -> Column:
    from pyspark.sql import functions as F

    return (F.col(name) if name in frame.columns else F.lit(None)).cast(kind)


def _ms(frame: DataFrame, name: str) -> Column:
    """Null if there is no time, or none that Spark can parse."""
    from pyspark.sql import functions as F
    from pyspark.sql import types as T

    if name not in frame.columns:
        return F.lit(None).cast("bigint")
    kind = frame.schema[name].dataType
    if isinstance(kind, T.IntegralType):
        return F.col(name).cast("bigint")
    if isinstance(kind, (T.TimestampType, T.TimestampNTZType, T.DateType)):
        return F.unix_millis(F.col(name).cast("timestamp"))
    return F.unix_millis(F.expr(f"try_cast(cast(`{name}` as string) as timestamp)"))
