"""Audit log: administrative operations with principal, host, target and result.

    await broker.audit.note(caller, "topic.delete", "orders", DONE)
    await broker.audit.note(caller, "acl.add", "topic orders", REFUSED, code="cluster_forbidden")

Each operation is a log line.  With auth_required it is also an entry of the stream {catalog}:audit, which keeps about
ENTRIES_MAX.  A failure to write the entry does not fail the operation; it is logged.  Any client can cause refusals, so
a limited number per second is recorded and the rest is counted.  Entries never contain a secret.

    topic.create topic.change topic.delete records.delete      subscription.delete subscription.seek group.delete
    subscription.deadLetters subscription.putBack scheduled.clear
    acl.add acl.remove  token.create token.revoke  user.add user.remove  quota.set quota.remove  batched_write.set
    transaction.abort transaction.commit
"""

from __future__ import annotations

import re
from time import monotonic
from typing import Any, NamedTuple

import msgspec

from redis_ledger.auth.acl import Caller
from redis_ledger.errors import (
    Forbidden,
    InvalidRequest,
    LedgerError,
    OutcomeUnknown,
    StoreTimeout,
    StoreUnavailable,
)
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import ReplyError, Store
from redis_ledger.telemetry.logs import get

DONE, REFUSED, FAILED = "done", "refused", "failed"
IN_DOUBT = (StoreTimeout, StoreUnavailable, OutcomeUnknown)  # it may have been done
ENTRIES_MAX = 100_000
REFUSALS_PER_S, REFUSALS_AT_ONCE = 10, 50
TEXT_CHARACTERS_MAX = 500
_ID = re.compile(r"[0-9]{1,20}-[0-9]{1,20}\Z")
_log = get()


class Entry(NamedTuple):
    """id: of the stream; it begins with the time in ms."""

    id: str
    at_ms: int
    principal: str
    host: str
    act: str
    target: str
    outcome: str
    facts: dict[str, Any]


class Audit:
    def __init__(self, store: Store, *, is_kept: bool) -> None:
        """is_kept: in the stream as well as in the log."""
        self._store, self._key, self._is_kept = store, CatalogKeys(store.prefix).audit, is_kept
        self._room, self._seen_s, self._left_out = float(REFUSALS_AT_ONCE), monotonic(), 0

    async def note(self, caller: Caller, act: str, target: str, outcome: str = DONE, **facts: Any) -> None:
        """Raises nothing.  outcome: DONE, REFUSED (the caller may not) or FAILED (it may have been done); facts: what
        JSON can say."""
        if outcome == REFUSED and not self._has_room():
            return
        if outcome == REFUSED and self._left_out:
            facts["refusals_left_out"], self._left_out = self._left_out, 0
        target = target[:TEXT_CHARACTERS_MAX]
        _log.info(
            "administrative act", act=act, target=target, outcome=outcome, principal=caller.principal, host=caller.host,
            facts=facts,
        )  # fmt: skip
        if not self._is_kept:
            return
        encoded = msgspec.json.encode(facts, enc_hook=str).decode()
        try:
            await self._store.write_allow_oom(
                "XADD", self._key, "MAXLEN", "~", ENTRIES_MAX, "*", "principal", caller.principal, "host", caller.host,
                "act", act, "target", target, "outcome", outcome, "facts", encoded, retry=False,
            )  # fmt: skip
        except (LedgerError, ReplyError) as error:
            _log.warning("an administrative act stands in the log only", act=act, reason=str(error))

    async def failed(self, caller: Caller, act: str, target: str, error: LedgerError, **facts: Any) -> None:
        """An act that ended with this error: the caller may not, or it is not known whether it was done.  Of others
        nothing is noted, for they have changed nothing."""
        if isinstance(error, (Forbidden, *IN_DOUBT)):
            outcome = REFUSED if isinstance(error, Forbidden) else FAILED
            await self.note(caller, act, target, outcome, code=error.code, **facts)

    def _has_room(self) -> bool:
        now = monotonic()
        self._room = min(REFUSALS_AT_ONCE, self._room + (now - self._seen_s) * REFUSALS_PER_S)
        self._seen_s = now
        if self._room < 1:
            self._left_out += 1
            return False
        self._room -= 1
        return True

    async def entries(self, limit: int, before: str = "") -> list[Entry]:
        """Newest first.  before: the id of an entry; those older than it.  Raises InvalidRequest."""
        if before and not _ID.match(before):
            raise InvalidRequest(f"{before[:50]!r} is not the id of an audit entry; give one as it was listed.")
        end = f"({before}" if before else "+"
        found = await self._store.command("XREVRANGE", self._key, end, "-", "COUNT", limit, key=self._key)
        return [_entry(id.decode(), dict(zip(row[::2], row[1::2], strict=True))) for id, row in found]


def _entry(id: str, row: dict[bytes, bytes]) -> Entry:
    text = {name.decode(): value.decode() for name, value in row.items()}
    return Entry(
        id, int(id.partition("-")[0]), text["principal"], text["host"], text["act"], text["target"], text["outcome"],
        msgspec.json.decode(text["facts"], type=dict[str, Any]),
    )  # fmt: skip
