"""Console sessions: a signed cookie, and CSRF tokens bound to it.

    cookie   payload "." signature      payload: base64url of {principal, credential, proof, since, nonce}
    csrf     HMAC of the cookie, in every form and in the X-CSRF-Token header of htmx requests

The key is derived from a secret in Redis that all brokers share, so any broker can serve any session.  The cookie name
depends on the key: cookies are shared between ports, and localhost may run consoles of several clusters.  The payload
identifies the credential but does not contain it; `proof` is a digest of the stored verifier, so a session ends when
its token is revoked, its user removed or the password changed.
SameSite=Lax: the cookie is sent when a link on another site is followed, but not with cross-site POSTs.  GET requests
change nothing.
Pure, except for the given time and nonce.
Source: OWASP "Cross-Site Request Forgery Prevention" (signed token bound to the session; Fetch Metadata).
"""

from __future__ import annotations

import base64
import binascii
import hmac
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie

import msgspec

LIFE_S = 8 * 3600
SKEW_S = 300  # tolerated clock skew between brokers
COOKIE_CHARACTERS_MAX = 2_000


class Session(msgspec.Struct, frozen=True):
    """A session.

    credential  "token:<id>", "user:<name>", "bootstrap", or "" before the login
    proof       digest of the stored verifier of the credential
    since       time of the login, Unix seconds
    """

    principal: str
    credential: str
    proof: str
    since: int
    nonce: str


class Signer:
    """Signs and verifies sessions.  secret: shared by all brokers of a cluster."""

    def __init__(self, secret: bytes) -> None:
        self._key = hmac.digest(secret, b"redis-ledger console", "sha256")
        self._decode = msgspec.json.Decoder(Session).decode
        self._cookie = f"rl_console_{self._mark('cookie', '')[:8]}"

    def seal(self, session: Session) -> str:
        payload = base64.urlsafe_b64encode(msgspec.json.encode(session)).decode().rstrip("=")
        return f"{payload}.{self._mark('session', payload)}"

    def open(self, cookie: str, now_s: int) -> Session | None:
        """None for an invalid signature or an expired session."""
        payload, dot, mark = cookie.partition(".")
        if not dot or len(cookie) > COOKIE_CHARACTERS_MAX:
            return None
        if not hmac.compare_digest(mark.encode(), self._mark("session", payload).encode()):
            return None
        try:
            session = self._decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        except (msgspec.DecodeError, binascii.Error, ValueError):
            return None
        return session if -SKEW_S <= now_s - session.since < LIFE_S else None

    def proof(self, verifier: str) -> str:
        """verifier: the stored value that a credential is verified against."""
        return self._mark("proof", verifier)

    def cookie_of(self, header: str | None) -> str:
        """The session cookie of a Cookie header; empty if absent."""
        try:
            found = SimpleCookie(header or "").get(self._cookie)
        except CookieError:
            return ""
        return "" if found is None else found.value

    def set_cookie(self, value: str, *, is_https: bool) -> str:
        """The Set-Cookie header; an empty value deletes the cookie."""
        life = LIFE_S if value else 0
        secure = "; Secure" if is_https else ""
        return f"{self._cookie}={value}; Path=/console; Max-Age={life}; HttpOnly; SameSite=Lax{secure}"

    def csrf(self, session: Session) -> str:
        return self._mark("csrf", self.seal(session))

    def is_valid_csrf(self, session: Session, csrf: str) -> bool:
        return hmac.compare_digest(csrf.encode(), self.csrf(session).encode())

    def _mark(self, what: str, text: str) -> str:
        return hmac.new(self._key, f"{what} {text}".encode(), sha256).hexdigest()
