"""A difference that fsck found, and the edit that removes it.

    finding   kind "lease_index"  where "orders:3, subscription s"  item "lease 17"  detail "..."
      repair  Edit      if HGET leases 17 is still this, then ZADD spans 17 17       lua/fsck/write
              Action    "reindex", ...            more than one script call
              None      nothing can be rebuilt

Two looks report the same difference if kind, where and item are equal.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from redis_ledger.store.reading import Arg
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from redis_ledger.store.store import Store

WRITE = Script.load("fsck/write")


class Guard(NamedTuple):
    """A read, and the reply that it must still have (None: nil)."""

    command: str
    key: bytes
    args: tuple[Arg, ...]
    expected: bytes | str | int | None


class Write(NamedTuple):
    command: str
    key: bytes
    args: tuple[Arg, ...]


class Edit(NamedTuple):
    guards: tuple[Guard, ...]
    writes: tuple[Write, ...]


class Action(NamedTuple):
    """A repair by the product's own code: repair.py has a function of this name."""

    name: str
    args: tuple[Any, ...]


class Finding(NamedTuple):
    """kind: a key of fsck.kinds.KINDS.  where: partition, coordinator or another place, as people say it.
    key: the Redis key.  detail: a sentence with what differs."""

    kind: str
    where: str
    key: str
    item: str
    detail: str
    repair: Edit | Action | None = None

    @property
    def identity(self) -> tuple[str, str, str, str]:
        return self.kind, self.where, self.key, self.item


def persistent(first: Iterable[Finding], second: Iterable[Finding]) -> list[Finding]:
    """The findings of the second look that the first one had as well."""
    known = {finding.identity for finding in first}
    return [finding for finding in second if finding.identity in known]


def hget(key: bytes, field: Arg, expected: bytes | str | int | None) -> Guard:
    return Guard("HGET", key, (field,), expected)


def zscore(key: bytes, member: Arg, expected: bytes | str | int | None) -> Guard:
    return Guard("ZSCORE", key, (member,), expected)


def edit(guards: Iterable[Guard], *writes: tuple[str, bytes, *tuple[Arg, ...]]) -> Edit:
    """writes: command, key, arguments."""
    return Edit(tuple(guards), tuple(Write(command, key, tuple(args)) for command, key, *args in writes))


async def carry_out(store: Store, edit: Edit) -> bool:
    """False if a guard no longer holds."""
    keys = list(dict.fromkeys([guard.key for guard in edit.guards] + [write.key for write in edit.writes]))
    at = {key: number for number, key in enumerate(keys, 1)}
    args: list[Arg] = [len(edit.guards)]
    for guard in edit.guards:
        args += (guard.command, at[guard.key], len(guard.args), *guard.args, _expected(guard.expected))
    for write in edit.writes:
        args += (write.command, at[write.key], len(write.args), *write.args)
    reply = await store.call(WRITE, keys, args)
    return bool(reply[0] == Status.OK)


def _expected(reply: bytes | str | int | None) -> bytes:
    if reply is None:
        return b"-"
    return b"=" + (reply if isinstance(reply, bytes) else str(reply).encode())
