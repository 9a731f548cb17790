"""The HTTP server: uvicorn with uvloop, corked and guarded httptools, own signal handling and TLS.

server = HttpServer(app, "127.0.0.1", 8080)      port 0: any free one
await server.start()                             server.address == "http://127.0.0.1:8080"
await server.stop()                              no new connections; long polls end; running requests finish
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
from collections.abc import Iterator
from functools import partial

import uvicorn

from redis_ledger.app.http.connection_limits import GuardedProtocol, Limits, watch
from redis_ledger.app.http.fast_path import FastPath
from redis_ledger.app.process.tls import CLOSING_S_MAX, HANDSHAKE_S_MAX

BACKLOG = 4_096
KEEP_ALIVE_S = 75  # longer than common client pools, so that the client closes the connection


logging.getLogger("uvicorn.error").setLevel(logging.ERROR)  # connection_limits logs client errors


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, tls: ssl.SSLContext | None, limits: Limits) -> None:
        super().__init__(config)
        self.tls, self.limits = tls, limits

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """uvicorn's startup, with time limits for TLS handshakes."""
        await super().startup(sockets=[])
        self.started = False
        handshake_s, closing_s = (None, None) if self.tls is None else (HANDSHAKE_S_MAX, CLOSING_S_MAX)
        made = partial(GuardedProtocol, self.config, self.server_state, self.lifespan.state, limits=self.limits)
        for each in sockets or ():
            server = await asyncio.get_running_loop().create_server(
                made, sock=each, ssl=self.tls, backlog=BACKLOG,
                ssl_handshake_timeout=handshake_s, ssl_shutdown_timeout=closing_s,
            )  # fmt: skip
            self.servers.append(server)
        self.started = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves signals to the process."""
        yield


class HttpServer:
    """The HTTP server.

    drain_s    time for running requests at stop()
    listening  a bound socket
    tls        serve https only
    """

    def __init__(
        self,
        app: FastPath,
        host: str,
        port: int,
        *,
        drain_s: int = 10,
        listening: socket.socket | None = None,
        limits: Limits | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._app, self._host, self._port, self._listening = app, host, port, listening
        config = uvicorn.Config(
            app, loop="none", http=GuardedProtocol, ws="none", lifespan="on", log_config=None, access_log=False,
            server_header=False, date_header=True, backlog=BACKLOG, timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=drain_s,
            proxy_headers=False,  # clients can forge X-Forwarded-For; ACLs use the connection's address
        )  # fmt: skip
        self._server = _Server(config, tls, limits or Limits())
        self._scheme = "http" if tls is None else "https"
        self._task: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self.address = ""

    async def start(self) -> None:
        """Raises OSError if it cannot listen, and the errors of opening the broker."""
        listening = self._listening or self._listen()
        host, port = listening.getsockname()[:2]
        self.address = f"{self._scheme}://[{host}]:{port}" if ":" in host else f"{self._scheme}://{host}:{port}"
        self._task = asyncio.create_task(self._server.serve([listening]), name="http server")
        while not self._server.started:
            done, _ = await asyncio.wait((self._task,), timeout=0.01)
            if done:
                self._task.result()
                raise RuntimeError("the HTTP server stopped during start-up; see the log")
        limits = self._server.limits
        self._watch = asyncio.create_task(
            watch(self._server.server_state.connections, limits.memory, limits.unpacked), name="http guard"
        )

    async def stop(self) -> None:
        if self._task is None:
            return
        self._app.drain()
        self._server.should_exit = True
        await self._task
        self._task = None
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)

    async def wait(self) -> None:
        """Returns when the server has stopped."""
        if self._task is not None:
            await asyncio.shield(self._task)

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            listening.bind((self._host, self._port))
            listening.listen(BACKLOG)
            listening.setblocking(False)
        except OSError:
            listening.close()
            raise
        return listening
