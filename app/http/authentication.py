"""Authentication of HTTP requests: bearer token or client certificate.

    Authorization: Bearer rl_...      an API token, or the bootstrap token      ─▶ broker.security
    Authorization: Bearer a.b.c       a JSON Web Token, where jwt_jwks is set   ─▶ broker.security.jwts
    no such header                    the principal of the client certificate, if there is one

A token takes precedence over a certificate, which may be a proxy's.  The result is cached per header until it expires
or any credential changes, so the hot path costs one dict lookup.  Tokens in the query string are rejected: they
would end up in logs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from redis_ledger.app.http.asgi import Scope
from redis_ledger.auth.acl import Caller
from redis_ledger.errors import Unauthenticated

if TYPE_CHECKING:
    from redis_ledger.broker.broker import Broker

PEER = "redis_ledger.principal"  # key in the ASGI scope: principal of the client certificate
KNOWN = "redis_ledger.known"  # the same: called when a request of a new connection is authenticated
REMEMBERED_MAX = 10_000
HEADER_BYTES_MAX = 8_192
_IN_QUERY = re.compile(rb"(?:\A|&)(?:access_token|token|bearer|api_key|authorization)=", re.IGNORECASE)
_HOW = 'Send a valid API token or JWT as "Authorization: Bearer ...".'


class Authenticator:
    """Authenticates requests and caches the results per Authorization header."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[Caller, int]] = {}  # header → caller, expiry (ms; 0: never)
        self._generation = -1

    def remembered(self, broker: Broker, scope: Scope) -> Caller | None:
        """The cached caller; None if it is not cached or has expired."""
        if broker.security.generation != self._generation:
            return None
        given: bytes | None = None
        for name, value in scope["headers"]:
            if name == b"authorization":
                if given is not None:
                    return None
                given = value
        known = None if given is None else self._known.get(given)
        if known is None:
            return None
        caller, until_ms = known
        if until_ms and broker.clock.now_ms() >= until_ms:
            return None
        host = address_of(scope)
        return caller if caller.host == host else Caller(caller.principal, host)

    async def caller(self, broker: Broker, scope: Scope) -> Caller:
        """Raises Unauthenticated."""
        if (known := self.remembered(broker, scope)) is not None:
            return known
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) > 1:
            raise Unauthenticated("The header authorization was sent twice; send it once.")
        host = address_of(scope)
        if not given:
            peer = scope.get(PEER)
            if isinstance(peer, str) and peer:
                return Caller(peer, host)
            raise Unauthenticated(_missing_token(scope["query_string"]))
        security = broker.security
        if security.generation != self._generation:
            self._known.clear()
            self._generation = security.generation
        principal, until_ms = await _identify(broker, given[0])
        caller = Caller(principal, host)
        if security.generation == self._generation:
            if len(self._known) >= REMEMBERED_MAX:
                self._known.clear()
            self._known[given[0]] = caller, until_ms
        return caller


def connection_is_known(scope: Scope) -> None:
    """Call it when the request is authenticated: its connection may then keep others out (`connection_limits.py`)."""
    if (known := scope.get(KNOWN)) is not None:
        known()


def address_of(scope: Scope) -> str:
    """The client address; empty for a Unix socket."""
    client = scope.get("client")
    return client[0] if client else ""


async def _identify(broker: Broker, header: bytes) -> tuple[str, int]:
    scheme, _, text = header.decode("latin-1").partition(" ")
    token = text.strip()
    if scheme.lower() != "bearer" or not token or len(header) > HEADER_BYTES_MAX:
        raise Unauthenticated(f"The Authorization header is not a valid bearer token. {_HOW}")
    jwts = broker.security.jwts
    if jwts is not None and token.count(".") == 2:
        return await jwts.identify(token)
    return await broker.security.recognize(token)


def _missing_token(query: bytes) -> str:
    if _IN_QUERY.search(query):
        return f"A token in the query is not accepted: queries end up in logs. {_HOW}"
    return f"Authentication is required. {_HOW}"
