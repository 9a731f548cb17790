"""`serve --brokers N`: a supervisor of N broker processes on one Redis.

    serve --brokers 3 ─┬─ serve --http 127.0.0.1:8080     each is a complete broker
                       ├─ serve --http 127.0.0.1:8081     a dead process is restarted on its port
                       └─ serve --http 127.0.0.1:8082     SIGTERM is forwarded to all

Children watch for the end of stdin: if the supervisor is killed, the pipe closes and they drain and exit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from redis_ledger.app.process import python
from redis_ledger.app.process.addresses import HostPort
from redis_ledger.app.process.command_error import CommandError
from redis_ledger.app.process.redis_url import FILE, URL
from redis_ledger.telemetry import logs

READY_S_MAX = 60.0
DRAIN_S_MAX = 45.0
RESTART_PAUSE_S = (0.1, 5.0)  # first, and at most
STEADY_S = 10.0  # a child that ran this long is restarted without backoff

_log = logs.get()


class Child:
    """One broker process, restarted until `stop`."""

    def __init__(
        self, http: HostPort, kafka: HostPort | None, arguments: Sequence[str], environ: dict[str, str]
    ) -> None:
        self.http, self.kafka = http, kafka
        self._arguments = arguments
        self._environ = environ
        self._process: asyncio.subprocess.Process | None = None
        self._stopping = False

    async def start(self) -> str:
        """Returns the ready line.  Raises CommandError if the process exits; its stderr has the reason."""
        command = [
            *python.command("redis_ledger.app.cli.main"),
            "serve",
            "--http",
            str(self.http),
            "--kafka",
            "off" if self.kafka is None else str(self.kafka),
            "--exit-with-stdin",
            *self._arguments,
        ]
        pipe = asyncio.subprocess.PIPE
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=pipe,
            stdout=pipe,
            env=self._environ,
            start_new_session=True,  # Ctrl-C reaches only the supervisor, which forwards it
        )
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(READY_S_MAX):
                line = (await self._process.stdout.readline()).decode()
        except TimeoutError:
            line = ""
        if not line.startswith("ready "):
            await self._end()
            raise CommandError(f"The broker for {self.http} did not start; see its message above.")
        self.http = self.http._replace(port=int(field(line, "http").rstrip("/").rpartition(":")[2]))
        if self.kafka is not None:
            self.kafka = self.kafka._replace(port=int(field(line, "kafka").rpartition(":")[2]))
        return line

    async def keep(self) -> None:
        """Restarts the process when it exits.  Returns after `stop`."""
        pause_s, most_s = RESTART_PAUSE_S
        assert self._process is not None
        while True:
            began_s = time.monotonic()
            status = await self._process.wait()
            if self._stopping:
                return
            pause_s = RESTART_PAUSE_S[0] if time.monotonic() - began_s > STEADY_S else min(pause_s * 2, most_s)
            _log.warning("broker process exited, restarting", http=str(self.http), status=status)
            await asyncio.sleep(pause_s)
            if self._stopping:
                return
            try:
                await self.start()
            except CommandError as refusal:
                _log.error("broker process did not start", http=str(self.http), reason=str(refusal))

    async def stop(self) -> None:
        self._stopping = True
        await self._end()

    async def _end(self) -> None:
        if self._process is None or self._process.returncode is not None:
            return
        self._process.terminate()
        try:
            async with asyncio.timeout(DRAIN_S_MAX):
                await self._process.wait()
        except TimeoutError:
            _log.error("broker process did not drain in time, killing it", http=str(self.http), pid=self._process.pid)
            self._process.kill()
            await self._process.wait()


def field(ready_line: str, name: str) -> str:
    """The value of one field of `ready http=… kafka=… redis=…`."""
    return next(word.partition("=")[2] for word in ready_line.split() if word.startswith(f"{name}="))


async def supervise(
    first: HostPort,
    first_kafka: HostPort | None,
    brokers: int,
    arguments: Sequence[str],
    redis_url: str | None,
    say_ready: Callable[[str], None],
) -> None:
    """Runs until cancelled; then every child has ended.

    first, first_kafka  the addresses of the first broker; the others use the following ports, or free ones if its port
                        is 0
    arguments           of `serve`, the same for all
    redis_url           passed in the environment, because it may contain a password; None: read from the same file

    Raises CommandError if a broker does not start.
    """
    environ = python.environ()
    if redis_url is not None:
        environ |= {URL: redis_url, FILE: ""}

    def at(address: HostPort, index: int) -> HostPort:
        return address._replace(port=address.port + index if address.port else 0)

    children = [
        Child(at(first, index), None if first_kafka is None else at(first_kafka, index), arguments, environ)
        for index in range(brokers)
    ]
    try:
        # One after the other: the first starts the embedded server, which the others share.
        lines = [await child.start() for child in children]
        say_ready(
            f"ready http={','.join(field(line, 'http') for line in lines)} "
            f"kafka={','.join(field(line, 'kafka') for line in lines)} redis={field(lines[0], 'redis')}"
        )
        async with asyncio.TaskGroup() as group:
            for child in children:
                group.create_task(child.keep())
    finally:
        await asyncio.gather(*(child.stop() for child in children))
