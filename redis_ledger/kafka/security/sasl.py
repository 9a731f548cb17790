"""SASL authentication: the state of a connection between SaslHandshake and the end of the exchange.

    SaslHandshake 1 ─▶ Login ─▶ SaslAuthenticate ... ─▶ peer.principal = "User:ada"
    SaslHandshake 0 ─▶ Login ─▶ bare tokens instead of requests (clients older than Kafka 1.0, kafka-python 2.0)

A failed login closes the connection, as in Kafka.  With PLAIN, the user "token" and an API token as the password
authenticate the principal of the token.  SASL takes precedence over a client certificate, as a token does over REST.  A
login lasts until the user is removed, its password changes, or the token is revoked or expires
(`kafka/security/session_revocation.py`).
Source: KIP-43, KIP-152; RFC 4616 (PLAIN), RFC 5802 (SCRAM).
"""

from __future__ import annotations

import math
import secrets

from redis_ledger.auth.scram import HASHES, Exchange
from redis_ledger.broker.security.scram_credentials import ScramCredentials
from redis_ledger.broker.security.service import Security
from redis_ledger.errors import AuthenticationFailed, LedgerError
from redis_ledger.kafka.request_context import LoginCredential, Peer
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import RateLimitedLog

PLAIN = "PLAIN"
TOKEN = "token"  # the user whose password is an API token
MECHANISMS = (PLAIN, *HASHES)

_limited_log = RateLimitedLog()


class Login:
    """A SASL exchange.  principal: set when it is authenticated.  proof: the credential that must stay valid."""

    def __init__(self, mechanism: str, users: ScramCredentials, security: Security, *, bare: bool) -> None:
        """mechanism: one of MECHANISMS.  bare: tokens arrive without a request around them."""
        self.mechanism, self.bare = mechanism, bare
        self.principal = ""
        self.credential: LoginCredential | None = None
        self._users, self._security = users, security
        self._mark = ""  # the user's version when the password was read
        self._asked = ""  # user name of a SCRAM client
        self._exchange = None if mechanism == PLAIN else Exchange(mechanism, secrets.token_urlsafe(24))

    async def answer(self, token: bytes, host: str) -> bytes:
        """Returns the next token of the server.  Raises AuthenticationFailed."""
        if self._exchange is None:
            await self._plain(token, host)
            return b""
        if not self._asked:
            self._asked = self._exchange.user_of(token)
            verifier, self._mark = await self._users.verifier(self._asked, self.mechanism)
            return self._exchange.challenge(verifier)
        signature = self._exchange.finish(token)
        self._is(self._asked)
        return signature

    async def _plain(self, token: bytes, host: str) -> None:
        try:
            as_whom, user, password = token.decode().split("\0")
        except ValueError:  # invalid UTF-8, or not three parts
            raise AuthenticationFailed("A PLAIN token must be three texts separated by NUL.") from None
        if as_whom not in ("", user):
            raise AuthenticationFailed("The authorization id must be empty or the user name.")
        if user == TOKEN:
            self.principal, _ = await self._security.recognize(password)
            self.credential = LoginCredential(token=password)
            return
        self._mark = await self._users.check_password(user, password, host)
        self._is(user)

    def _is(self, user: str) -> None:
        self.principal, self.credential = f"User:{user}", LoginCredential(user=user, mark=self._mark)


async def step(login: Login, token: bytes, peer: Peer) -> bytes:
    """Processes one token of the peer's login.  Any exception ends the login and rejects the peer."""
    try:
        answer = await login.answer(token, peer.host)
    except LedgerError as error:
        _limited_log.warning(
            "a Kafka client could not log in", mechanism=login.mechanism, peer=peer.host, reason=error.detail
        )
        metrics.kafka_refused.inc()
        peer.is_refused = True
        raise
    if login.principal:
        peer.principal, peer.is_authenticated, peer.sasl = login.principal, True, None
        peer.credential, peer.until_s = login.credential, math.inf
    return answer
