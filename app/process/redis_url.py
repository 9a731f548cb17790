"""Which Redis a command is to use: the option or variable, or a file that holds the URL, so that a password in it is
neither an argument nor in the environment.

    --redis URL                      wins; other users of the machine see it in the process list
    REDIS_LEDGER_REDIS_URL           the same in the environment, which the processes of the same user can read
    REDIS_LEDGER_REDIS_URL_FILE      a file whose only line is the URL: what secrets of Docker and Kubernetes are

The file is read when a process starts; one whose content was changed is taken up by the next start.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from redis_ledger.app.process.startup_error import Refusal
from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.store import Store
from redis_ledger.telemetry.logs import get

URL = "REDIS_LEDGER_REDIS_URL"
FILE = "REDIS_LEDGER_REDIS_URL_FILE"
_log = get()


def given(option: str | None, environ: Mapping[str, str]) -> str | None:
    """The URL; None when none is named, and an embedded server is meant.

    option   --redis, or what the environment has instead of it
    Raises Refusal where the file cannot be used; what is in it is never shown.
    """
    file = environ.get(FILE)
    if not file:
        return option or None
    if option:
        if option == environ.get(URL):
            raise Refusal(f"{URL} and {FILE} are both set: unset one of them.")
        return option
    return _read(Path(file))


def is_from_file(option: str | None, environ: Mapping[str, str]) -> bool:
    """Whether `given` takes it from the file; a child process with the same environment can do so too."""
    return bool(environ.get(FILE)) and not option


async def opened(url: str, *, prefix: str, timeout_ms: int, retry_ms: int) -> Store:
    """A store on the Redis at the URL, wherever it was named.  While it waits it says why.  Raises Refusal when Redis
    cannot be used."""
    try:
        return await Store.open(url, prefix=prefix, timeout_ms=timeout_ms, retry_ms=retry_ms, on_wait=_log.warning)
    except ValueError as error:
        raise Refusal(f"--redis cannot be used: {error} Correct --redis or {URL}.") from error
    except StoreUnavailable as error:
        raise Refusal(f"{error.detail[:1].upper()}{error.detail[1:]}") from error


def _read(path: Path) -> str:
    """Raises Refusal."""
    try:
        lines = path.read_text("ascii").strip().splitlines()
    except OSError as error:
        raise Refusal(
            f"{FILE} names {path}, which cannot be read ({error.strerror}): correct the path, or let "
            f"user id {os.getuid()} read it."
        ) from error
    except UnicodeDecodeError:
        lines = []
    if len(lines) != 1 or "://" not in lines[0] or not lines[0].isprintable():
        raise Refusal(
            f"{FILE} names {path}, whose content is not one line with a URL: write for instance "
            "redis://user:password@host:6379 into it, with %40 for an @ in the password."
        )
    return lines[0]
