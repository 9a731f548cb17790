"""Copies of keys from the server of a backup, with the server and the target in dicts."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from redis_ledger.backup import restoring
from redis_ledger.backup.layout import BackupError
from redis_ledger.backup.restoring import CATALOG, Restoring
from redis_ledger.store.address import Address
from redis_ledger.store.store import ReplyError, Store

NOW_MS = 1_800_000_000_000
LATER_MS = NOW_MS + 86_400_000


class Source:
    """A Redis: keys with their contents and times of expiry."""

    def __init__(self, keys: dict[bytes, tuple[bytes, int | None]], page: int = 2) -> None:
        self._keys, self._page = keys, page

    async def ask(self, connection: object, commands: Sequence[Sequence[Any]]) -> list[Any]:
        return [self._answer(*command) for command in commands]

    def _answer(self, name: bytes, first: bytes, *rest: object) -> Any:
        names = sorted(self._keys)
        if name == b"SCAN":
            end = int(first) + self._page
            return [b"0" if end >= len(names) else b"%d" % end, names[int(first) : end]]
        content, expires_ms = self._keys[first]
        if expires_ms is not None and expires_ms <= NOW_MS:
            return None if name == b"DUMP" else -2  # it has expired since SCAN
        return {
            b"DUMP": content,
            b"PEXPIRETIME": -1 if expires_ms is None else expires_ms,
            b"EXPIRETIME": -1 if expires_ms is None else expires_ms // 1000,
            b"PTTL": -1 if expires_ms is None else expires_ms - NOW_MS,
        }[name]


class Target:
    """Another Redis.  order: in which keys were written."""

    prefix = "p"

    def __init__(self) -> None:
        self.keys: dict[bytes, tuple[bytes, int | None]] = {}
        self.order: list[bytes] = []
        self.refusal: ReplyError | None = None

    async def command(
        self, name: str, written: bytes, expires_ms: int, content: bytes, *options: str, key: bytes
    ) -> object:
        assert (name, written) == ("RESTORE", key)
        if self.refusal is not None:
            raise self.refusal
        self.order.append(key)
        until_ms = expires_ms if "ABSTTL" in options or not expires_ms else NOW_MS + expires_ms
        if not until_ms or until_ms > NOW_MS:  # Redis answers OK and keeps nothing that has expired
            self.keys[key] = content, until_ms or None
        return b"OK"


@pytest.fixture
def target() -> Target:
    return Target()


async def copied(source: Source, target: Target, monkeypatch: pytest.MonkeyPatch) -> Restoring:
    async def dial(*_: object) -> Any:
        return SimpleNamespace(close=lambda: None)

    async def handshake(*_: object) -> None:
        return None

    for name, stand_in in (("dial", dial), ("handshake", handshake), ("ask", source.ask)):
        monkeypatch.setattr(restoring, name, stand_in)
    made = Restoring(cast(Store, target), "p")
    await made.copy(cast(Address, None))
    await made.finish()
    return made


async def test_keys_expire_when_they_would_have_without_the_backup(target, monkeypatch):
    keys = {b"p:{0}:kept": (b"1", None), b"p:{0}:soon": (b"2", NOW_MS + 1), b"p:{1}:later": (b"3", LATER_MS)}
    made = await copied(Source(dict(keys)), target, monkeypatch)
    assert target.keys == keys
    assert (made.keys, made.bytes) == (3, 3)


async def test_a_key_that_has_expired_is_left_out(target, monkeypatch):
    made = await copied(Source({b"p:{0}:gone": (b"1", NOW_MS), b"p:{0}:kept": (b"22", None)}), target, monkeypatch)
    assert target.order == [b"p:{0}:kept"]
    assert (made.keys, made.bytes) == (1, 2)


async def test_the_catalog_of_several_pages_comes_last_with_its_expiry(target, monkeypatch):
    catalog = {b"p" + CATALOG + name: (name, LATER_MS) for name in (b"state", b"topics", b"answer")}
    others = {b"p:{%d}:x" % n: (b"x", None) for n in range(restoring.AT_ONCE + 2)}
    await copied(Source({**catalog, **others}, page=restoring.AT_ONCE + 1), target, monkeypatch)
    assert target.keys == {**catalog, **others}
    assert set(target.order[-3:]) == set(catalog)


async def test_a_refused_key_ends_the_restore(target, monkeypatch):
    target.refusal = ReplyError("OOM")
    with pytest.raises(BackupError, match="OOM"):
        await copied(Source({b"p:{0}:x": (b"x", None)}), target, monkeypatch)
