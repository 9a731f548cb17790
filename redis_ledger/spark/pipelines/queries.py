"""The user's SQL query: its text as passed to Spark, and the position in the file of an error that Spark reports.

    -- transform.sql                     select * from (
    select value from ordrs;     ──→     -- transform.sql
                                         select value from ordrs
                                         )

    "... line 3 pos 18 ..."      ──→     transform.sql, line 2, column 19: The table or view `ordrs` cannot be found.

Inside the parentheses only a query is valid: a statement that changes something is a syntax error and never runs.
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
_TRAIT = re.compile(r": (missing|extra input) '.*?'(?=\.|\Z)")  # refers to the parentheses, so it would mislead


class Trigger(NamedTuple):
    """every_ms None: process the available records and stop."""

    every_ms: int | None


def wrapped(text: str) -> str:
    return f"select * from (\n{_END.sub('', text.rstrip())}\n)"


def fault(file: str, text: str, message: str) -> str:
    """Returns one sentence.  message: of Spark, for the wrapped query."""
    found = _FAULT.search(message)
    said = _TRAIT.sub("", found["said"] if found else message.strip().split("\n")[0]).rstrip(".")
    if (place := _PLACE.search(message)) is None:
        return f"{file}: {said}."
    line, column = int(place[1]) - 1, int(place[2]) + 1
    if line > len(text.rstrip().split("\n")):
        return f"{file} ends too early; it must be one query: select ... from ..."
    return f"{file}, line {line}, column {column}: {said}."


def inputs(text: str) -> dict[str, str]:
    """Parses topics by view name: orders=shop.orders,rates; without a name the topic's own is used.
    Raises ArgumentTypeError."""
    found: dict[str, str] = {}
    for part in text.split(","):
        name, is_named, topic = (each.strip() for each in part.partition("="))
        topic = topic if is_named else name
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise argparse.ArgumentTypeError(
                f"{name!r} is not a valid name in SQL; write name=topic, as in orders={topic}"
            )
        try:
            check_topic_name(topic)
        except InvalidTopicName as error:
            raise argparse.ArgumentTypeError(error.detail) from None
        if name in found:
            raise argparse.ArgumentTypeError(f"two inputs are named {name}; give each a unique name")
        found[name] = topic
    return found


def check_columns(file: str, types: Mapping[str, str]) -> None:
    """Raises InvalidRequest for a result without a value column; the sink checks the types."""
    if "value" not in types:
        there = ", ".join(types)
        raise InvalidRequest(
            f"{file} has no column value, only {there}; name the value so, as in to_json(struct(*)) AS value."
        )


def trigger(text: str) -> Trigger:
    """Raises ArgumentTypeError."""
    from redis_ledger.spark.pipelines.arguments import duration_ms

    return Trigger(None if text == "available-now" else duration_ms(text))
