"""Transactions of the SDK: their end, and those over one partition, whose records wait for the commit: one append."""

from __future__ import annotations

from typing import Any

from redis_ledger import AsyncClient, LedgerError
from redis_ledger.client._async.transaction import AsyncTransaction
from redis_ledger.errors import AlreadyAborted, TransactionAbortOnly, TransactionTimedOut
from tests.sim.clients.context import Context

ABORTED = (AlreadyAborted, TransactionTimedOut, TransactionAbortOnly)
TXN_TIMEOUT_MS = 6_000


async def transact(context: Context, client: AsyncClient, name: str, topic: str, some: list[Any]) -> None:
    """Commits the values in the partition of the first one."""
    some = [[some[0][0], value] for _, value in some]
    # Each is a writer: one whose answer was lost may take effect after the next one.
    call = {"topic": topic, "records": some, "writer": name, "mode": "idempotent", "txn": name}
    send = context.recorder.invoke("send", **call)
    end = context.recorder.invoke("end", txn=name, verdict="commit")
    txn = client.transaction(timeout_ms=TXN_TIMEOUT_MS)
    try:
        sent = [await txn.send(topic, value, partition=partition) for partition, value in some]
        await txn.commit()
        placed = [await each.result() for each in sent]
    except ABORTED as error:
        context.recorder.info("send", send, error)
        context.recorder.fail("end", end, error, outcome="aborted")
    except LedgerError as error:
        context.recorder.info("send", send, error)
        context.recorder.info("end", end, error)
    else:
        found = zip(placed, some, strict=True)
        positions = [[each.partition, each.offset, value] for each, (_, value) in found if each.offset >= 0]
        context.recorder.ok("send", send, positions=positions)
        context.recorder.ok("end", end, outcome="committed")


async def end(context: Context, txn: AsyncTransaction, name: str, verdict: str) -> str:
    """Returns the outcome; empty if it is unknown."""
    if verdict == "abandon":
        return ""
    op = context.recorder.invoke("end", txn=name, verdict=verdict)
    try:
        await (txn.commit() if verdict == "commit" else txn.abort())
    except ABORTED as error:
        context.recorder.fail("end", op, error, outcome="aborted")
        return "aborted"
    except LedgerError as error:
        context.recorder.info("end", op, error)
        return ""
    outcome = "committed" if verdict == "commit" else "aborted"
    context.recorder.ok("end", op, outcome=outcome)
    return outcome
