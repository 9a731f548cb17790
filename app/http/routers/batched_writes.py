"""/v1/batched-writes: thresholds of the writes that several transactions share."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from redis_ledger.app.http.authorization import ALTER_CLUSTER, DESCRIBE_CLUSTER
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.schemas import batched_writes as bodies
from redis_ledger.txn.batched_write import TRANSACTION_LOG, BatchedWrite

routes = Routes("batched writes")
_LOG = {
    "log": "transaction_log", "enabled": True, "max_records": 64, "max_size": 4_194_304, "max_delay_ms": 1,
    "batched": True, "coordinators": {"0": True, "1": True},
}  # fmt: skip
_ACKS = {
    "log": "pending_acks", "enabled": True, "max_records": 16, "max_size": 4_194_304, "max_delay_ms": 0,
    "batched": True,
}  # fmt: skip


@routes.get("/v1/batched-writes", requires=(DESCRIBE_CLUSTER,), examples={"200": {"batched_writes": [_LOG, _ACKS]}})
async def list_batched_writes(request: HttpRequest) -> bodies.BatchedWrites:
    """List the thresholds in force for the transaction log and for transactional acknowledgements.

    `coordinators` shows for each coordinator whether this broker writes batched entries.
    """
    found = await request.broker.batched_writes.all()
    return bodies.BatchedWrites(batched_writes=[_to_body(request, log, batched) for log, batched in found.items()])


@routes.put(
    "/v1/batched-writes/{log}",
    requires=(ALTER_CLUSTER,),
    act="batched_write.set",
    examples={
        "request": {"enabled": False},
        "200": {**_LOG, "enabled": False, "batched": False, "coordinators": {"0": False, "1": False}},
    },
)
async def set_batched_write(request: HttpRequest, log: str, body: bodies.SetBatchedWrite) -> bodies.BatchedWrite:
    """Set thresholds of one log; for a null threshold the broker setting applies, omitted thresholds stay.

    The change takes effect on this broker immediately and on the others within a second. Entries of both formats stay
    readable.
    """
    wanted = msgspec.to_builtins(body)
    request.facts = wanted
    return _to_body(request, log, await request.broker.batched_writes.change(log, wanted))


def _to_body(request: HttpRequest, log: str, batched: BatchedWrite) -> bodies.BatchedWrite:
    coordinators = {str(each.number): each.batched.is_batched for each in request.broker.coordinators}
    return bodies.BatchedWrite(
        log=log, enabled=batched.enabled, max_records=batched.max_records, max_size=batched.max_size,
        max_delay_ms=batched.max_delay_ms, batched=batched.is_batched,
        coordinators=coordinators if log == TRANSACTION_LOG else UNSET,
    )  # fmt: skip
