"""The Redis URL from the option, the environment, or a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.redis_url import FILE, URL, given, is_from_file

SECRET = "redis://me:secret@redis.example:6379"
TYPED = "redis://typed.example:6379"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "url"
    path.write_text(f"{SECRET}\n")
    return path


def test_redis_url_without_a_file_is_the_option_or_none():
    assert given(TYPED, {}) == TYPED
    assert given(TYPED, {URL: TYPED}) == TYPED
    assert given(None, {}) is None
    assert given("", {FILE: ""}) is None


def test_redis_url_option_takes_precedence_over_the_file(file):
    assert given(None, {FILE: str(file)}) == SECRET
    assert is_from_file(None, {FILE: str(file)})
    assert given(TYPED, {FILE: str(file)}) == TYPED
    assert given(TYPED, {FILE: str(file), URL: SECRET}) == TYPED
    assert not is_from_file(TYPED, {FILE: str(file)})


def test_url_and_file_variables_are_mutually_exclusive(file):
    with pytest.raises(CommandError, match="are both set: unset one"):
        given(TYPED, {URL: TYPED, FILE: str(file)})


def test_a_file_that_cannot_be_read_is_named_with_the_reason(tmp_path):
    with pytest.raises(CommandError, match=r"absent, which cannot be read \(No such file or directory\).*user id \d+"):
        given(None, {FILE: str(tmp_path / "absent")})
    with pytest.raises(CommandError, match=r"cannot be read \(Is a directory\)"):
        given(None, {FILE: str(tmp_path)})


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"secret", f"{SECRET}\n{SECRET}".encode(), "redis://geheim:ü@x".encode(), b"redis://\x00"]
)
def test_a_file_with_anything_but_one_url_is_refused_and_not_shown(file, content):
    file.write_bytes(content)
    with pytest.raises(CommandError, match="must contain one line with a URL") as refused:
        given(None, {FILE: str(file)})
    assert "secret" not in str(refused.value)
