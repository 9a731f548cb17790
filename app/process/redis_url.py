"""The Redis URL of a command: option, environment variable or file.

    --redis URL                      takes precedence; visible in the process list
    REDIS_LEDGER_REDIS_URL           visible to processes of the same user
    REDIS_LEDGER_REDIS_URL_FILE      a file with the URL, such as a Docker or Kubernetes secret

The file is read at start-up only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from redis_ledger.app.process.command_error import CommandError
from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.copies import CopiesRequired
from redis_ledger.store.store import Store
from redis_ledger.telemetry.logs import get

URL = "REDIS_LEDGER_REDIS_URL"
FILE = "REDIS_LEDGER_REDIS_URL_FILE"
_log = get()


def given(option: str | None, environ: Mapping[str, str]) -> str | None:
    """The URL, or None for the embedded server.

    option   --redis or REDIS_LEDGER_REDIS_URL
    Raises CommandError if the file is unusable; the message never contains its content.
    """
    file = environ.get(FILE)
    if not file:
        return option or None
    if option:
        if option == environ.get(URL):
            raise CommandError(f"{URL} and {FILE} are both set: unset one of them.")
        return option
    return _read(Path(file))


def is_from_file(option: str | None, environ: Mapping[str, str]) -> bool:
    """Whether `given` reads the file; child processes then read it too."""
    return bool(environ.get(FILE)) and not option


async def opened(
    url: str, *, prefix: str, timeout_ms: int, retry_ms: int, copies: CopiesRequired | None = None,
    kind: type[Store] = Store,
) -> Store:  # fmt: skip
    """Opens a store; logs the reason while it waits for Redis.  Raises CommandError if Redis cannot be used."""
    try:
        return await kind.open(
            url, prefix=prefix, timeout_ms=timeout_ms, retry_ms=retry_ms, copies=copies, on_wait=_log.warning
        )
    except ValueError as error:
        raise CommandError(f"--redis cannot be used: {error} Correct --redis or {URL}.") from error
    except StoreUnavailable as error:
        raise CommandError(f"{error.detail[:1].upper()}{error.detail[1:]}") from error


def _read(path: Path) -> str:
    """Raises CommandError."""
    try:
        lines = path.read_text("ascii").strip().splitlines()
    except OSError as error:
        raise CommandError(
            f"{FILE} is {path}, which cannot be read ({error.strerror}): correct the path, or let "
            f"user id {os.getuid()} read it."
        ) from error
    except UnicodeDecodeError:
        lines = []
    if len(lines) != 1 or "://" not in lines[0] or not lines[0].isprintable():
        raise CommandError(
            f"{FILE} is {path}, which must contain one line with a URL: for example "
            "redis://user:password@host:6379, with %40 for an @ in the password."
        )
    return lines[0]
