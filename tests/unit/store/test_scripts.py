"""Scripts built from files: includes, their errors, and the first line."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from redis_ledger.store.scripts import Script, ScriptBroken, expand, folder, names, read


@pytest.fixture
def lua(tmp_path: Path):
    def write(**files: str) -> Path:
        for name, text in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.lua"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def test_an_include_is_pasted_in_place(lua):
    root = lua(
        ledger__append='#!lua flags=allow-oom\n--[[ head ]]\n--- @include "include/status"\nreturn OK\n',
        include__status="local OK = 0\n",
    )
    assert expand(read(root), "ledger/append") == b"#!lua flags=allow-oom\n--[[ head ]]\nlocal OK = 0\nreturn OK\n"


def test_an_include_of_an_include_comes_before_what_uses_it_and_only_once(lua):
    root = lua(
        a='#!lua\n--- @include "include/b"\n--- @include "include/c"\nreturn C\n',
        include__b='--- @include "include/c"\nlocal B = C\n',
        include__c="local C = 1\n",
    )
    source = expand(read(root), "a")
    assert source.count(b"local C = 1") == 1
    assert source.index(b"local C = 1") < source.index(b"local B = C")


def test_an_include_is_indented_as_the_line_that_includes_it(lua):
    root = lua(
        a='#!lua\nlocal function load()\n  --- @include "include/b"\n  return B\nend\nreturn load()\n',
        include__b="local function f()\n  return 1\n\nend\nlocal B = f()\n",
    )
    body = "  local function f()\n    return 1\n\n  end\n  local B = f()\n"
    assert expand(read(root), "a").decode() == f"#!lua\nlocal function load()\n{body}  return B\nend\nreturn load()\n"


def test_the_flags_stay_the_very_first_line(lua):
    root = lua(a='#!lua flags=no-writes\n--- @include "include/b"\n', include__b="local b = 1")
    assert expand(read(root), "a").splitlines()[0] == b"#!lua flags=no-writes"


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"a": '--- @include "include/gone"'}, "no lua/include/gone.lua, which a includes"),
        ({"b": ""}, "there is no lua/a.lua."),
        (
            {"a": '--- @include "include/x"', "include__x": '--- @include "include/y"',
             "include__y": '--- @include "include/x"'},
            "circle: a → include/x → include/y → include/x",
        ),
        ({"a": '--- @include "a"'}, "circle: a → a"),
        ({"a": '--- @include "include/x"', "include__x": "#!lua\nreturn 1"}, "must not start with #!"),
    ],
)  # fmt: skip
def test_error_has_its_position(lua, files, complaint):
    with pytest.raises(ScriptBroken, match=complaint.replace(".", r"\.")):
        expand(read(lua(**files)), "a")


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "A", "a//b", "a.b", ""])
def test_a_name_that_is_no_script_is_refused(lua, name):
    with pytest.raises(ScriptBroken, match="not the name of a script"):
        expand(read(lua(a="")), name)


def test_text_that_only_looks_like_an_include_stays(lua):
    root = lua(a='local s = [[--- @include "x"]]\n-- --- @include "y"\n')
    assert expand(read(root), "a") == b'local s = [[--- @include "x"]]\n-- --- @include "y"\n'


def test_every_file_but_includes_is_a_script(lua):
    root = lua(ledger__append="", txn__open="", include__status="", include__deep__er="")
    assert names(read(root)) == ["ledger/append", "txn/open"]


def test_a_script_is_named_by_the_digest_that_redis_computes():
    script = Script("x", b"return 1")
    assert script.sha == hashlib.sha1(b"return 1").hexdigest().encode()
    assert script.sha == b"e0e1f9fabfc9d4800c877a703b823ac0578ff8db"


def test_the_projects_own_scripts_are_found_and_loaded_once():
    name = names(read(folder()))[0]
    assert Script.load(name) is Script.load(name)
    assert name in {script.name for script in Script.all()}
