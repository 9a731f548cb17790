"""/v1/test: fault points and the clock of this broker.  It exists only while the setting test_hooks is on.

The operations are not in the OpenAPI document: no client of a production broker needs them.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from redis_ledger.app.http.authorization import ALTER_CLUSTER
from redis_ledger.app.http.operations import Routes
from redis_ledger.app.http.request import HttpRequest
from redis_ledger.app.http.schemas import test_hooks as bodies
from redis_ledger.clock import ShiftedClock
from redis_ledger.errors import InvalidRequest
from redis_ledger.store.faults import POINTS, Fault, Faults

ARMED_MAX = 1_000


class Hooks(NamedTuple):
    faults: Faults
    clock: ShiftedClock


def routes(hooks: Hooks) -> Routes:
    """The operations of a broker with these hooks."""
    found = Routes("test")

    def shown() -> bodies.Faults:
        armed = [bodies.Fault(**asdict(each)) for each in hooks.faults.armed]
        return bodies.Faults(points=POINTS, armed=armed)

    def clock() -> bodies.Clock:
        return bodies.Clock(now_ms=hooks.clock.now_ms(), shift_ms=hooks.clock.shift_ms)

    @found.get("/v1/test/faults", requires=(ALTER_CLUSTER,))
    async def list_faults(request: HttpRequest) -> bodies.Faults:
        """List the fault points and the armed faults."""
        return shown()

    @found.post("/v1/test/faults", requires=(ALTER_CLUSTER,), act="test.fault")
    async def arm_fault(request: HttpRequest, body: bodies.Fault) -> bodies.Faults:
        """Crash, fail or delay the next writes at a point."""
        if body.point not in POINTS:
            raise InvalidRequest(f"$.point is {body.point!r}; it can be {', '.join(POINTS)}.")
        if len(hooks.faults.armed) >= ARMED_MAX:
            raise InvalidRequest(f"{ARMED_MAX} faults are armed; delete them first.")
        request.target, request.facts = body.point, {"fault": body.act, "when": body.when}
        hooks.faults.arm(Fault(**msgspec.structs.asdict(body)))
        return shown()

    @found.delete("/v1/test/faults", requires=(ALTER_CLUSTER,), act="test.fault", status=204)
    async def clear_faults(request: HttpRequest) -> None:
        """Disarm all faults."""
        hooks.faults.clear()

    @found.get("/v1/test/clock", requires=(ALTER_CLUSTER,))
    async def get_clock(request: HttpRequest) -> bodies.Clock:
        """Show the clock of this broker."""
        return clock()

    @found.post("/v1/test/clock", requires=(ALTER_CLUSTER,), act="test.clock")
    async def set_clock(request: HttpRequest, body: bodies.SetClock) -> bodies.Clock:
        """Set or advance the clock of this broker; it goes on from there."""
        if (body.now_ms is UNSET) == (body.advance_ms is UNSET):
            raise InvalidRequest("Give now_ms or advance_ms.")
        if body.now_ms is not UNSET:
            hooks.clock.set(body.now_ms)
        elif body.advance_ms is not UNSET:
            hooks.clock.shift_ms += body.advance_ms
        return clock()

    return found
