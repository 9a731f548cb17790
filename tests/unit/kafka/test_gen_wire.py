"""The generator refuses what it would get wrong."""

from __future__ import annotations

import json

import pytest

from scripts import gen_wire
from scripts.wire import schema
from scripts.wire.decoder import Decoder
from scripts.wire.module import spans


@pytest.mark.parametrize(
    ("text", "versions"),
    [("3-13", (3, 13)), ("9+", (9, schema.LAST)), ("4", (4, 4)), ("none", (0, -1)), (None, (0, -1))],
)
def test_versions_are_read_as_the_definitions_write_them(text, versions):
    assert schema.versions(text) == versions


def definition(**changes) -> dict[str, object]:
    field = {
        "name": "Ids",
        "type": "[]Id",
        "versions": "0+",
        "fields": [{"name": "N", "type": "int32", "versions": "0+"}],
    }
    plain = {"name": "ARequest", "type": "request", "apiKey": 1, "validVersions": "0-2", "flexibleVersions": "2+"}
    return {**plain, "fields": [field | changes]}


def read(tmp_path, ours=None, **changes) -> schema.Message:
    path = tmp_path / "ARequest.json"
    path.write_text("// a comment\n" + json.dumps(definition(**changes)))
    return schema.read(path, ours)


def test_an_element_takes_at_least_what_its_version_lays_out(tmp_path):
    message = read(tmp_path)
    assert "n * 4 <= end - pos" in "\n".join(Decoder(message, 0).lines)
    assert "n * 5 <= end - pos" in "\n".join(Decoder(message, 2).lines)  # and the byte that counts tagged fields


@pytest.mark.parametrize(
    "changes",
    [
        {"type": "[]Unheard", "fields": []},
        {"taggedVersions": "1+", "tag": 0},
        {"fields": [{"name": "Ids", "type": "[]Id", "versions": "0+", "fields": [{"name": "Id", "type": "int8"}]}]},
        {"flexibleVersions": "none"},
        {"name": "From"},
    ],
)
def test_a_definition_that_would_need_more_than_the_generator_knows_is_refused(tmp_path, changes):
    with pytest.raises(AssertionError, match=r"ARequest\.json"):
        read(tmp_path, **changes)


def test_versions_that_the_definition_does_not_have_are_refused(tmp_path):
    with pytest.raises(AssertionError, match="has versions"):
        read(tmp_path, ours="1-3")


def test_spans_are_told_as_people_would():
    assert spans([3, 4, 5, 7]) == "3 to 5, 7"


def test_a_file_that_is_stale_or_nobody_s_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(gen_wire, "TARGET", tmp_path)
    (tmp_path / "orphan.py").write_text("")
    (tmp_path / "same.py").write_text("same")
    (tmp_path / "old.py").write_text("old")
    wanted = {tmp_path / "same.py": "same", tmp_path / "old.py": "new", tmp_path / "missing.py": "text"}
    assert [path.name for path in gen_wire.stale(wanted)] == ["missing.py", "old.py", "orphan.py"]
