"""`redis-ledger fsck` of a run: its differences, as facts of notes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable
from typing import Any

from tests.support.processes import ROOT

FSCK_S_MAX = 300.0


async def differences(redis_url: str, settings: Iterable[str], *, is_full: bool) -> list[dict[str, Any]]:
    """settings: of the brokers, as name=value."""
    words = [word for each in settings for word in ("--set", each)]
    main = "from redis_ledger.app.entry import main; main()"
    command = [sys.executable, "-c", main, "fsck", "--json", "--redis", redis_url, *words]
    command += ["--full"] if is_full else []
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(FSCK_S_MAX):
            out, error = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode in (0, 1), f"fsck could not be done: {out.decode()} {error.decode()}"
    return [
        {"difference": each["kind"], "where": each["where"], "detail": each["detail"]}
        for each in json.loads(out)["findings"]
    ]
