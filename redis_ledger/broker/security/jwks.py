"""JSON Web Key Sets: the keys that verify the JSON Web Tokens of callers.

    jwt_jwks a file     read again when it changes
    jwt_jwks a URL      fetched, as a whole within FETCH_S_MAX; again every REFETCH_S, and for a key that is not known,
                        but then not before REFETCH_S_MIN have passed, so that invented key ids do not cause
                        a request each

Known keys stay in effect while the set cannot be fetched.
"""

from __future__ import annotations

import asyncio
import ssl
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from redis_ledger.auth import jwt
from redis_ledger.config import Config
from redis_ledger.errors import InvalidRequest, Unauthenticated
from redis_ledger.telemetry.logs import get

REFETCH_S, REFETCH_S_MIN = 600.0, 30.0
FETCH_S_MAX = 5.0
BYTES_MAX = 1 << 20
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_log = get()


class Jwks:
    """generation: another one when the keys are others."""

    def __init__(self, config: Config) -> None:
        self._source = config.jwt_jwks
        self._expected = jwt.Expected(config.jwt_issuer, config.jwt_audience, config.jwt_principal_claim)
        self._is_url = "://" in self._source
        self._text = b""
        self._keys: dict[str, Any] = {}
        self._seen: tuple[int, int] | None = None
        self._asked_s = -REFETCH_S
        self._fetching: asyncio.Task[None] | None = None
        self.generation = 0

    async def open(self) -> None:
        """Raises InvalidRequest for what can never work: a file that is none, a URL that is not https."""
        if not self._is_url:
            self._read_file()
            return
        parts = urlsplit(self._source)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise InvalidRequest(
                "jwt_jwks is a file or an https:// URL; over plain http anybody could change the keys."
            )
        jwt.library()
        await self._fetch()

    async def look(self) -> None:
        """Called now and then: takes up what changed."""
        if not self._is_url:
            try:
                self._read_file()
            except InvalidRequest as error:
                _log.warning(
                    "the keys of JSON Web Tokens cannot be read; those known go on to count", reason=error.detail
                )
        elif asyncio.get_running_loop().time() - self._asked_s >= (REFETCH_S if self._keys else REFETCH_S_MIN):
            await self._fetch()

    async def identify(self, token: str) -> tuple[str, int]:
        """Whose it is, and when it ends (Unix ms).  Raises Unauthenticated."""
        try:
            try:
                return jwt.verify(token, self._keys, self._expected)
            except jwt.UnknownKey:
                if not self._is_url:
                    raise
                await self._fetch()
                return jwt.verify(token, self._keys, self._expected)
        except jwt.UnknownKey:
            raise Unauthenticated(
                "The JSON Web Token was signed with a key that is not known here. Get another one."
            ) from None

    def _take(self, text: bytes) -> None:
        """Raises InvalidRequest, and keeps what there was."""
        if text == self._text:
            return
        self._keys, self._text = jwt.keys_of(text), text
        self.generation += 1

    def _read_file(self) -> None:
        path = Path(self._source)
        try:
            stat = path.stat()
            seen = (stat.st_mtime_ns, stat.st_size)
            if seen == self._seen:
                return
            with path.open("rb") as file:
                text = file.read(BYTES_MAX + 1)
        except OSError as error:
            raise InvalidRequest(f"jwt_jwks cannot be read ({type(error).__name__}); correct the path.") from None
        if len(text) > BYTES_MAX:
            raise InvalidRequest(
                f"jwt_jwks is a file of more than {BYTES_MAX} bytes; at most {BYTES_MAX} bytes are read."
            )
        self._take(text)
        self._seen = seen

    async def _fetch(self) -> None:
        """Requests that need the keys at once share one fetch; it ends also when the request that began it is
        cancelled."""
        loop = asyncio.get_running_loop()
        if self._fetching is None:
            now = loop.time()
            if now - self._asked_s < REFETCH_S_MIN:
                return
            self._asked_s = now
            self._fetching = loop.create_task(self._fetch_once())
        await asyncio.shield(self._fetching)

    async def _fetch_once(self) -> None:
        try:
            self._take(await _get(self._source))
        except (OSError, ValueError, InvalidRequest) as error:
            _log.warning("the keys of JSON Web Tokens cannot be fetched; those known go on to count", reason=str(error))
        finally:
            self._fetching = None


async def _get(url: str) -> bytes:
    """Raises OSError, InvalidRequest: for whatever is no answer of at most BYTES_MAX within FETCH_S_MAX."""
    # Imported here: a broker that fetches no keys needs none of it.
    import httpx

    # What httpx itself trusts is a list of its own; a provider inside a company is known to the machine's.
    trusted = await asyncio.to_thread(ssl.create_default_context)
    try:
        # A limit of each read alone would let a server that sends a byte at a time hold the fetch for ever.
        async with asyncio.timeout(FETCH_S_MAX), httpx.AsyncClient(verify=trusted, timeout=None) as client:
            # A redirect could lead to plain http, and what is packed could unpack to much more than it is.
            headers = {"accept": "application/json", "accept-encoding": "identity"}
            async with client.stream("GET", url, headers=headers, follow_redirects=False) as answer:
                if answer.status_code != HTTPStatus.OK:
                    raise InvalidRequest(f"jwt_jwks was answered with the status {answer.status_code}.")
                body = bytearray()
                async for piece in answer.aiter_raw():
                    body += piece
                    if len(body) > BYTES_MAX:
                        raise InvalidRequest(f"jwt_jwks was answered with more than {BYTES_MAX} bytes.")
                return bytes(body)
    except TimeoutError:
        raise InvalidRequest(f"jwt_jwks was not answered as a whole within {FETCH_S_MAX:g} s.") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise InvalidRequest(f"jwt_jwks was not answered ({type(error).__name__}: {error}).") from None
