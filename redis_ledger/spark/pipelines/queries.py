"""A query of the user's, decided: its text as Spark is handed it, and where in it a fault is that Spark names.

    -- transform.sql                     select * from (
    select value from ordrs;     ──→     -- transform.sql
                                         select value from ordrs
                                         )

    "... line 3 pos 18 ..."      ──→     transform.sql, line 2, column 19: The table or view `ordrs` cannot be found.

Within the brackets only a query is one: a statement that changes something is a syntax error, and never carried out.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import NamedTuple

from redis_ledger.errors import InvalidRequest, InvalidTopicName
from redis_ledger.ids import check_topic_name

_END = re.compile(r";\s*(--[^\n]*\s*)*\Z")
_PLACE = re.compile(r"\bline (\d+),? pos (\d+)")
_FAULT = re.compile(r"\[[A-Z_.]+\]\s*(?P<said>.*?)\s*(?:SQLSTATE|\n|\Z)", re.DOTALL)
_TRAIT = re.compile(r": (missing|extra input) '.*?'(?=\.|\Z)")  # about the brackets, so it would mislead


class Trigger(NamedTuple):
    """every_ms None: what is there now, and no more."""

    every_ms: int | None


def wrapped(text: str) -> str:
    return f"select * from (\n{_END.sub('', text.rstrip())}\n)"


def fault(file: str, text: str, message: str) -> str:
    """One sentence.  message: Spark's, of the wrapped query."""
    found = _FAULT.search(message)
    said = _TRAIT.sub("", found["said"] if found else message.strip().split("\n")[0]).rstrip(".")
    if (place := _PLACE.search(message)) is None:
        return f"{file}: {said}."
    line, column = int(place[1]) - 1, int(place[2]) + 1
    if line > len(text.rstrip().split("\n")):
        return f"{file} ends too early; it has to be one query: select ... from ..."
    return f"{file}, line {line}, column {column}: {said}."


def inputs(text: str) -> dict[str, str]:
    """Topics by the names that the query has for them: orders=shop.orders,rates; one without a name has its own.
    Raises ArgumentTypeError."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, is_named, topic = (each.strip() for each in part.partition("="))
        topic = topic if is_named else name
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise argparse.ArgumentTypeError(
                f"{name!r} cannot be a name in SQL; write name=topic, as in orders={topic}"
            )
        try:
            check_topic_name(topic)
        except InvalidTopicName as error:
            raise argparse.ArgumentTypeError(error.detail) from None
        if name in found:
            raise argparse.ArgumentTypeError(f"there are two inputs {name}; give each a name of its own")
        found[name] = topic
    return found


def check_columns(file: str, types: Mapping[str, str]) -> None:
    """Raises InvalidRequest for a result that cannot be a record; the types the sink looks at itself."""
    if "value" not in types:
        there = ", ".join(types)
        raise InvalidRequest(
            f"{file} has no column value, only {there}; name what is to be written so, as in to_json(struct(*)) value."
        )


def trigger(text: str) -> Trigger:
    """Raises ArgumentTypeError."""
    from redis_ledger.spark.pipelines.arguments import duration_ms

    return Trigger(None if text == "available-now" else duration_ms(text))
