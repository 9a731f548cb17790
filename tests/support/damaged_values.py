"""Repeats calls of scripts with one stored value damaged at a time: a script that raises must not have written.

    a test of tests/lua ─▶ a call of a script ─▶ the keys before it, one value damaged ─▶ the call ─┬▶ a reply
                                                 └──────── for each of their values ───────┘        └▶ error: as before?

Nothing in Redis rolls back, so a script that raises after its first write leaves half of its work behind.  The calls
are those of ordinary tests: each is tried before it is carried out, and the test sees nothing of that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pytest
import redis
from redis.client import Pipeline

from redis_ledger.store.scripts import Script

JUNK = b"~"
ROWS_MAX = 30  # of one key, that are damaged
Command = Sequence[Any]
Tried = dict[tuple[str, tuple[bytes, ...]], int]  # script, which keys it found and changed → calls


class Damage(NamedTuple):
    """text: what is damaged.  commands: how."""

    text: str
    commands: Sequence[Command]


class DamagedValues:
    """Of the calls of these scripts (None: all): one for each set of keys that a call finds and changes.
    known: those that were tried already."""

    def __init__(self, scripts: Sequence[str] | None, known: Tried) -> None:
        self._names = {name: each.name for each in Script.all() for name in (each.function, each.sha)}
        self._scripts, self._known = scripts, known
        self.tried = dict[str, int]()
        self.found: list[str] = []

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Every client of the test is observed from now on."""
        execute, execute_all = redis.Redis.execute_command, Pipeline.execute

        def command(client: Any, *args: Any, **options: Any) -> Any:
            self._look(client, [], args)
            return execute(client, *args, **options)

        def pipeline(pipe: Any, *args: Any, **options: Any) -> Any:
            calls = [each[0] for each in pipe.command_stack]
            if calls:
                self._look(pipe, calls[:-1], calls[-1])
            return execute_all(pipe, *args, **options)

        monkeypatch.setattr(redis.Redis, "execute_command", command)
        monkeypatch.setattr(Pipeline, "execute", pipeline)
        self._execute_all = execute_all

    def _look(self, client: Any, before: Sequence[Command], call: Command) -> None:
        """before: what its MULTI executes before the call."""
        name = self._names.get(call[1]) if call[0] in ("FCALL", "EVALSHA") else None
        if name is None or (self._scripts is not None and name not in self._scripts):
            return
        keys = [bytes(key) for key in call[3 : 3 + int(call[2])]]
        self._client = redis.Redis(connection_pool=client.connection_pool)
        self._keys = list(dict.fromkeys(keys))
        kept = self._dump()
        self._ask(before)
        given = self._dump()
        (reply,) = self._ask([call])
        after = self._dump()
        changed = [after[key] != given[key] for key in keys]
        shape = (
            name,
            tuple(
                b"-" if given[k] is None else b"w" if is_new else b"r" for k, is_new in zip(keys, changed, strict=True)
            ),
        )
        if not isinstance(reply, Exception) and any(changed) and shape not in self._known:
            self._known[shape] = 1
            self.tried.setdefault(name, 0)
            self._ask(self._put(given))
            for damage in list(self._damages(keys)):
                self.tried[name] += 1
                self._try(name, given, call, damage)
        self._ask(self._put(kept))

    def _try(self, name: str, given: Mapping[bytes, Any], call: Command, damage: Damage) -> None:
        dump = [("DUMP", key) for key in self._keys]
        replies = self._ask([*self._put(given), *damage.commands, *dump, call, *dump])
        after, error = replies[-len(dump) :], replies[-len(dump) - 1]
        damaged = replies[-2 * len(dump) - 1 : -len(dump) - 1]
        if isinstance(error, Exception) and after != damaged:
            now = self._contents()
            self._ask(self._put(dict(zip(self._keys, damaged, strict=True))))
            if now != self._contents():  # else only the order in which Redis has them
                self.found.append(f"{name} with {damage.text} has written, and raises {str(error)[:100]}")

    def _damages(self, keys: Sequence[bytes]) -> Iterator[Damage]:
        kinds, contents = self._ask([("TYPE", key) for key in keys]), self._contents()
        for number, (key, kind) in enumerate(zip(keys, kinds, strict=True), 1):
            if kind == b"none":
                continue
            place = f"KEYS[{number}] {key.decode(errors='replace').rpartition(':')[2]}"
            yield Damage(f"{place} missing", [("DEL", key)])
            if kind == b"hash":
                for field, value in [*contents[key].items()][:ROWS_MAX]:
                    at, head = f"{place} {field!r}", value.rpartition(b" ")[0]
                    yield Damage(f"{at} {JUNK!r}", [("HSET", key, field, JUNK)])
                    yield Damage(f"{at} missing", [("HDEL", key, field)])
                    if head:
                        yield Damage(f"{at} {head!r}", [("HSET", key, field, head)])
            elif kind == b"zset":
                for member, score in contents[key][:ROWS_MAX]:
                    at, gone = f"{place} {member!r}", ("ZREM", key, member)
                    yield Damage(f"{at} missing", [gone])
                    yield Damage(f"{at} {JUNK!r}", [gone, ("ZADD", key, score, JUNK)])
            elif kind == b"string":
                yield Damage(f"{place} {JUNK!r}", [("SET", key, JUNK)])

    # -- Redis -------------------------------------------------------------------------------------------------------

    def _ask(self, commands: Sequence[Command]) -> list[Any]:
        """The replies of one round trip; errors are replies."""
        pipe = self._client.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        return list(self._execute_all(pipe, raise_on_error=False))

    def _dump(self) -> dict[bytes, Any]:
        return dict(zip(self._keys, self._ask([("DUMP", key) for key in self._keys]), strict=True))

    def _put(self, stored: Mapping[bytes, Any]) -> list[Command]:
        return [("DEL", key) if text is None else ("RESTORE", key, 0, text, "REPLACE") for key, text in stored.items()]

    def _contents(self) -> dict[bytes, Any]:
        """Without the order of hashes."""
        reads = {b"hash": "HGETALL", b"zset": "ZRANGE", b"none": "EXISTS"}
        kinds = self._ask([("TYPE", key) for key in self._keys])
        commands = [
            (reads.get(kind, "DUMP"), key, *((0, -1, "WITHSCORES") if kind == b"zset" else ()))
            for key, kind in zip(self._keys, kinds, strict=True)
        ]
        return dict(zip(self._keys, self._ask(commands), strict=True))
