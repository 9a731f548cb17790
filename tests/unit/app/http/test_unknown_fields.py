from __future__ import annotations

import msgspec
import pytest

from redis_ledger.app.http.decoding import BodyReader, QueryReader
from redis_ledger.app.http.schemas.core import ChangeTopic, CreateTopic, Empty, Execute, FetchQuery, Produce
from redis_ledger.app.http.schemas.offload import Publish
from redis_ledger.app.http.schemas.subscriptions import Ack, Receive
from redis_ledger.app.http.unknown_fields import fields, unknown_field_error
from redis_ledger.errors import InvalidRequest


def read(kind, body):
    return BodyReader(kind, raw=False, optional=False).read(body.encode(), "application/json")


RETENTION = '{"name": "t", "settings": {"retention.ms": 1}}'
POLICY = '{"settings": {"cleanup.policy": 1}}'


@pytest.mark.parametrize(
    ("kind", "body", "place", "name", "advice"),
    [
        (Receive, '{"max_record": 3}', "$", "max_record", "did you mean max_records?"),
        (Receive, '{"maxRecords": 3}', "$", "maxRecords", "did you mean max_records?"),
        (Receive, '{"zzz": 3}', "$", "zzz", "known are consumer, max_records, wait_ms, ack_timeout_ms, partitions, "),
        (Ack, '{"id": "0:1"}', "$", "id", "did you mean ids?"),
        (Produce, '{"records": [{}, {"vaule": 1}]}', "$.records[1]", "vaule", "did you mean value?"),
        (Produce, '{"records": [{"partitions": 1}]}', "$.records[0]", "partitions", "did you mean partition?"),
        (Execute, '{"records": [{"topic": "t", "record": []}]}', "$.records[0]", "record", "did you mean records?"),
        (CreateTopic, RETENTION, "$.settings", "retention.ms", "did you mean retention_ms or retention_bytes?"),
        (ChangeTopic, POLICY, "$.settings", "cleanup.policy", "/openapi.json lists the known ones."),
        (Publish, '{"plan": "p", "segments": [{"firs": 1}]}', "$.segments[0]", "firs", "did you mean first?"),
        (Empty, '{"x": 1}', "$", "x", "leave it out."),
        (Ack, '{"a`b - at `$.x`": 1}', "$", "a`b - at `$.x`", "known are ids, consumer, transaction."),
    ],
)
def test_unknown_field_is_rejected_with_a_suggestion(kind, body, place, name, advice):
    with pytest.raises(InvalidRequest) as refused:
        read(kind, body)
    assert refused.value.detail.startswith(f"{place}: unknown field {name}; {advice}")
    assert refused.value.facts == {"unknown_field": name}


def test_unknown_query_parameter_is_rejected_with_a_suggestion():
    reader = QueryReader(FetchQuery)
    with pytest.raises(
        InvalidRequest, match=r"^unknown query parameter max_byte; did you mean max_bytes\?$"
    ) as refused:
        reader.read(b"offset=1&max_byte=3")
    assert refused.value.facts == {"unknown_field": "max_byte"}


def test_errors_of_known_fields_are_unchanged():
    with pytest.raises(InvalidRequest, match=r"^\$\.max_records: expected int"):
        read(Receive, '{"max_records": "3"}')
    assert unknown_field_error("Expected `int`, got `str` - at `$.max_records`", Receive, "field") is None


def test_long_names_are_truncated():
    with pytest.raises(InvalidRequest) as refused:
        read(Receive, '{"%s": 1}' % ("x" * 100_000))
    assert len(refused.value.detail) < 500


class Leaf(msgspec.Struct):
    renamed_: int = msgspec.field(name="renamed", default=0)


class Tree(msgspec.Struct):
    by_name: dict[str, Leaf | None] = {}
    either: list[Leaf] | Leaf | None = None


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("$", ("by_name", "either")),
        ("$.by_name[...]", ("renamed",)),
        ("$.either", ("renamed",)),
        ("$.either[...]", ("renamed",)),
        ("$.nothing[...]", ()),
    ],
)
def test_fields_at_a_path_have_their_json_names(path, names):
    assert fields(Tree, path) == names


def test_paths_that_differ_in_an_index_are_cached_once():
    fields.cache_clear()
    for number in range(50):
        unknown_field_error(f"Object contains unknown field `x` - at `$.records[{number}]`", Produce, "field")
    assert fields.cache_info().currsize == 1
