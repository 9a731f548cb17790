"""Libraries of Redis Functions: names, flags and what a call leaves behind."""

from __future__ import annotations

import re

import pytest

from redis_ledger.store.function_library import build
from redis_ledger.store.scripts import Script, folder, names, read


def test_names_change_with_the_source_and_with_nothing_else():
    one, same = build("txn", {"txn/a": b"#!lua\nreturn 1"}), build("txn", {"txn/a": b"#!lua\nreturn 1 -- comment"})
    other = build("txn", {"txn/a": b"#!lua\nreturn 2"})
    assert one == same
    assert one.name != other.name
    assert one.functions["txn/a"] != other.functions["txn/a"]
    assert re.fullmatch(rb"redis_ledger_txn_[0-9a-f]{12}", one.name)


def test_flags_of_a_script_are_flags_of_its_function():
    library = build("a", {"a/b": b"#!lua flags=allow-oom,no-writes\nreturn 1", "a/c": b"#!lua\nreturn 1"})
    assert b'flags = {"allow-oom", "no-writes"}' in library.source
    assert b"flags = {}" in library.source


def test_a_script_without_its_first_line_is_refused():
    with pytest.raises(ValueError, match="a/b"):
        build("a", {"a/b": b"return 1"})


def test_every_script_of_lua_is_in_one_library():
    found = [name for library in Script.libraries() for name in library.functions]
    assert sorted(found) == names(read(folder()))
