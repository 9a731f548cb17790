"""A user's query: its text, its inputs, and the positions of errors."""

from __future__ import annotations

import argparse

import pytest

from redis_ledger.errors import InvalidRequest
from redis_ledger.spark.pipelines.queries import Trigger, check_columns, fault, inputs, trigger, wrapped


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("select 1", "select 1"),
        ("-- a comment\nselect 1 -- another", "-- a comment\nselect 1 -- another"),
        ("select 1;", "select 1"),
        ("select 1;\n\n", "select 1"),
        ("select 1; -- done\n-- really\n", "select 1"),
        ("select ';' a", "select ';' a"),
        ("select 1; select 2", "select 1; select 2"),
    ],
)
def test_a_query_is_put_into_brackets_without_its_semicolon(text, query):
    assert wrapped(text) == f"select * from (\n{query}\n)"


TEXT = "-- first\nselect value from ordrs"


@pytest.mark.parametrize(
    ("message", "reported"),
    [
        (
            "[TABLE_OR_VIEW_NOT_FOUND] The table or view `ordrs` cannot be found. Verify the spelling and correctness"
            " of the schema and catalog.\nSearch path: ... SQLSTATE: 42P01; line 3 pos 18;\n'Project",
            "q.sql, line 2, column 19: The table or view `ordrs` cannot be found. Verify the spelling and"
            " correctness of the schema and catalog.",
        ),
        (
            "\n[PARSE_SYNTAX_ERROR] Syntax error at or near 'orders': missing ')'. SQLSTATE: 42601 "
            "(line 2, pos 17)\n\n",
            "q.sql, line 1, column 18: Syntax error at or near 'orders'.",
        ),
        (
            "\n[PARSE_SYNTAX_ERROR] Syntax error at or near ';': extra input ';'. SQLSTATE: 42601 (line 2, pos 4)\n",
            "q.sql, line 1, column 5: Syntax error at or near ';'.",
        ),
        (
            "\n[PARSE_SYNTAX_ERROR] Syntax error at or near ')'. SQLSTATE: 42601 (line 4, pos 0)\n",
            "q.sql ends too early; it must be one query: select ... from ...",
        ),
        ("[A.B_C] Something else. SQLSTATE: 42601", "q.sql: Something else."),
        ("no shape at all", "q.sql: no shape at all."),
    ],
)
def test_a_fault_is_one_sentence_with_its_place_in_the_file(message, reported):
    assert fault("q.sql", TEXT, message) == reported


def test_inputs_have_names_for_the_query():
    assert inputs("orders=shop.orders, rates") == {"orders": "shop.orders", "rates": "rates"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("shop.orders", "'shop.orders' is not a valid name in SQL; write name=topic"),
        ("a=t,a=u", "two inputs are named a"),
        ("a=b/c", "b/c"),
        ("", "'' is not a valid name"),
    ],
)
def test_inputs_that_a_query_cannot_name_are_refused(text, message):
    with pytest.raises(argparse.ArgumentTypeError) as caught:
        inputs(text)
    assert message in str(caught.value)


def test_a_result_without_a_value_is_refused_with_what_it_has():
    check_columns("q.sql", {"value": "string"})
    with pytest.raises(InvalidRequest, match=r"q\.sql has no column value, only key, total;"):
        check_columns("q.sql", {"key": "binary", "total": "int"})


def test_a_trigger_is_a_duration_or_what_is_there():
    assert (trigger("10s"), trigger("available-now")) == (Trigger(10_000), Trigger(None))
    with pytest.raises(argparse.ArgumentTypeError):
        trigger("sometimes")
