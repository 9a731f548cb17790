"""`serve` with a switch: SIGUSR1 enables authentication, SIGUSR2 disables it.

Two equal processes differ by a tenth here, depending on where their memory lies, which is more than authentication
costs.  So one process is measured both ways, in turns.
"""

from __future__ import annotations

import asyncio
import signal

from redis_ledger.app.cli.main import app
from redis_ledger.broker import broker as module
from redis_ledger.broker.security.service import Security


class Switched(Security):
    async def open(self) -> None:
        await super().open()
        loop = asyncio.get_running_loop()
        for number, is_on in ((signal.SIGUSR1, True), (signal.SIGUSR2, False)):
            loop.add_signal_handler(number, setattr, self, "is_on", is_on)


if __name__ == "__main__":
    module.Security = Switched  # type: ignore[attr-defined]  # the class that a broker creates
    app()
