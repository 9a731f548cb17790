"""Drives lua/ledger/append_sidecar and release_sidecar directly, for tests; see ledger_scripts."""

from __future__ import annotations

from typing import Any

from redis_ledger.ledger.open_row import OpenRow, parse_open
from redis_ledger.store.script_status import Status
from redis_ledger.store.scripts import Script
from tests.support.ledger_scripts import TOPIC_ID, Ledger, decode_reply
from tests.support.script_functions import call_of, load_once

FIRST = -1  # the delay ledger of a new partition


class SidecarLedger(Ledger):
    """A partition, appended to through the sidecar buffer, in delay ledger `aside_ledger`."""

    def __init__(self, client: Any, prefix: str, topic: str = "orders", number: int = 0) -> None:
        super().__init__(client, prefix, topic, number)
        self.aside_ledger = FIRST
        load_once(client, Script.load("ledger/append_sidecar"))

    def aside(self, records: int = 1, **more: Any) -> Any:
        """One batch; its answer: [OK, "-1"], or a refusal."""
        return self.aside_all({"records": records, **more})[0]

    def aside_all(self, *batches: dict[str, Any], topic_id: str = TOPIC_ID) -> list[Any]:
        """Several in one MULTI."""
        pipe = self.client.pipeline(transaction=True)
        k, data = self.keys, self.keys.data(self.aside_ledger)
        for batch in batches:
            self.xadd(pipe, self.aside_ledger, batch.get("payload", b"payload"))
        further = batches[0].get("further", ())
        keys = (*k.append_keys, k.sidecar, data, *k.delay.schedule_keys, *further)
        args: list[Any] = [topic_id, self.aside_ledger, self.now]
        for batch in batches:
            args += self._batch(**batch)
        pipe.execute_command(*call_of(self.client, Script.load("ledger/append_sidecar"), keys, args))
        reply = pipe.execute(raise_on_error=False)[-1]
        if isinstance(reply, Exception) or reply[0] != Status.OK:
            return [reply if isinstance(reply, Exception) else decode_reply(reply)] * len(batches)
        return [decode_reply(each) for each in reply[4:]]

    def release(self, ledger: int | str = "", topic_id: str = TOPIC_ID) -> list[Any]:
        """One call: [OK, entries, bytes, more, ledger]."""
        k = self.keys
        data = () if ledger == "" else (k.data(int(ledger)),)
        return self.run("ledger/release_sidecar", (k.state, k.ledgers, k.sidecar, *data), topic_id, ledger)

    def release_all(self) -> tuple[int, int, int]:
        """Calls until nothing is left: entries deleted, their bytes, calls."""
        ledger, entries, freed, calls = "", 0, 0, 0
        while True:
            status, some, size, more, ledger = self.release(ledger)
            assert status == Status.OK
            entries, freed, calls = entries + some, freed + size, calls + 1
            if not more:
                return entries, freed, calls

    def clear(self) -> list[Any]:
        """Cancels all scheduled records; appends go on in the next delay ledger."""
        k, d = self.keys, self.keys.delay
        keys = (
            k.state, k.ledgers, k.data(self.aside_ledger - 1), d.state, d.open, d.closing, d.queue, d.live, d.parts,
            d.moved, d.buckets, d.next, d.snaps, d.repeats, k.open, k.firsts, k.sidecar,
        )  # fmt: skip
        reply = self.run("delay/clear", keys, TOPIC_ID, self.aside_ledger, self.now)
        self.aside_ledger -= reply[0] == Status.OK
        return reply

    def buffer(self) -> list[str]:
        """Members, without the sentinel."""
        return [each.decode() for each in self.client.zrange(self.keys.sidecar, 0, -1) if each]

    def opened(self) -> dict[int, OpenRow]:
        rows = self.client.hgetall(self.keys.open)
        return {int(pid): parse_open(row) for pid, row in rows.items() if pid}
