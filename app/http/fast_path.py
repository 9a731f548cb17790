"""A front door for the hot operations: bare ASGI straight to the operation, past the framework's own routing.

    request ─▶ Front ──hot operation──▶ Operation.serve
                 └────everything else──▶ FastAPI ─▶ Operation.serve

Both ways end in the same `Operation.serve` of the same table; a test asks both and compares.  Measured with a broker
that does nothing, uvicorn included, CPU of one worker: a commit 33 µs here and 82 µs through the framework, a small
execute 42 and 85 µs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from redis_ledger.app.http.asgi import Receive, Scope, Send
from redis_ledger.app.http.errors import problem
from redis_ledger.app.http.operations import Operation, count_unrouted
from redis_ledger.app.http.origin_check import is_cross_origin, is_rebound
from redis_ledger.app.http.request import Services
from redis_ledger.errors import Forbidden

_PARAMETER = re.compile(r"\\{(\w+)\\}")


# A subscription's name may hold slashes and colons; a transaction's id holds neither, so :commit is never part of it.
ANY = "[^/]+"
SHAPES = {"name": "(?s:.+)", "id": "[^/:]+"}


def pattern(path: str) -> re.Pattern[str]:
    """What a path such as /v1/transactions/{id}:commit matches."""
    shape = _PARAMETER.sub(lambda m: f"(?P<{m[1]}>{SHAPES.get(m[1], ANY)})", re.escape(path))
    return re.compile(shape + r"\Z", re.DOTALL)


_CROSS_ORIGIN = problem(
    Forbidden("A page of another origin asked for this, and may not change anything here. Send a token to be believed.")
)
_REBOUND = problem(
    Forbidden(
        "Nobody is asked who they are here, so this machine is asked by its own names only: use localhost or an "
        "address, or turn auth_required on."
    )
)


class FastPath:
    """The ASGI application.  app: what serves everything that is not hot."""

    def __init__(self, app: Callable[..., object], services: Services, operations: Sequence[Operation]) -> None:
        self._app = app
        self._services = services
        self._hot: dict[str, list[tuple[re.Pattern[str], Operation]]] = {}
        for operation in operations:
            if operation.hot:
                self._hot.setdefault(operation.method, []).append((pattern(operation.path), operation))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if is_cross_origin(scope["method"], scope["headers"], scope.get("scheme", "http")):
                count_unrouted(Forbidden.code)
                await _CROSS_ORIGIN.send(send)
                return
            services = self._services
            if services.has_broker and not services.broker.security.is_on:
                server = scope.get("server")
                if server and is_rebound(str(server[0]), scope["headers"]):
                    count_unrouted(Forbidden.code)
                    await _REBOUND.send(send)
                    return
            path = scope["path"]
            for shape, operation in self._hot.get(scope["method"], ()):
                found = shape.match(path)
                if found is not None:
                    await operation.serve(self._services, scope, receive, send, found.groupdict())
                    return
        await self._app(scope, receive, send)  # type: ignore[misc]  # FastAPI's own type is wider than ours

    def drain(self) -> None:
        """Long polls end, /readyz says 503; requests under way go on.  Called when the process is told to stop."""
        self._services.draining.set()
