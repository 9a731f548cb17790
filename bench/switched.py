"""`serve` with a switch: SIGUSR1 and the broker asks who calls, SIGUSR2 and it does not.

Two processes that do the same differ by a tenth here, by where their memory happens to lie; what the questions cost is
less than that.  One process that is asked both ways in turn differs from itself by nothing else.
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
    module.Security = Switched  # type: ignore[attr-defined]  # what a broker makes
    app()
