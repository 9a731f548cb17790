"""A step: the request that executes the transactions whose commits go together.

    records by topic and partition, ids by subscription and consumer ─→ POST /v1/transactions:execute ─→ places

It has one Idempotency-Key and one body for all its attempts, also those of a second `commit()`, so the broker carries
it out once.  The broker keeps the key for `KEEP_S` beyond the time of two calls; later, the step is not sent again.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from time import monotonic

from redis_ledger.client import answers, bodies
from redis_ledger.client._async.transport import AsyncTransport, path
from redis_ledger.client.joint import Part, Places, counts_of, split
from redis_ledger.client.models import Executed
from redis_ledger.errors import LedgerError, OutcomeUnknown, Unavailable

WHERE = path("transactions", call=":execute")
KEEP_S = 60
LOST, EITHER = "The commit was sent, its answer was lost", "it may or may not have been carried out"


class AsyncStep:
    def __init__(self, transport: AsyncTransport, parts: Sequence[Part]) -> None:
        self._transport = transport
        self._counts = [counts_of(part) for part in parts]
        self._content = answers.encode(bodies.step_body(parts))
        self._key = secrets.token_hex(16)
        call_s = transport.timeout_ms // 1000 + 1
        self._kept_s = 2 * call_s + KEEP_S
        self._repeated_until_s = monotonic() + call_s + KEEP_S
        self._is_in_doubt = False

    async def execute(self) -> Sequence[Places]:
        """Where the records of each part went.  Places may be missing: the broker that carried the step out was killed
        before it stored where, so their offsets are unknown.

        Raises OutcomeUnknown, Unavailable: it may be called again.  Any other error: it had no effect.
        """
        if self._is_in_doubt and monotonic() > self._repeated_until_s:
            raise OutcomeUnknown(f"{LOST}, and it is too late to repeat it: {EITHER}.")
        try:
            response = await self._transport.send(
                "POST",
                WHERE,
                self._content,
                headers={
                    "content-type": "application/json",
                    "idempotency-key": self._key,
                    "idempotency-key-ttl": str(self._kept_s),
                },
                on_lost=self._doubt,
            )
            return split(answers.decode("POST", WHERE, response, Executed), self._counts)
        except LedgerError as error:
            if isinstance(error, OutcomeUnknown):
                self._doubt()
            # A refusal says nothing about an earlier attempt whose answer was lost.
            if not self._is_in_doubt or isinstance(error, Unavailable):
                raise
            raise OutcomeUnknown(f"{LOST}, and the repetition was refused: {EITHER}. ({error.detail})") from error
        except BaseException:
            self._doubt()
            raise

    def _doubt(self) -> None:
        self._is_in_doubt = True
