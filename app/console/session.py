"""Who is using the console: a signed cookie, and proof that a form came from one of our pages.

    cookie   payload "." signature      payload: base64url of {principal, credential, proof, since, nonce}
    csrf     HMAC of the cookie, in every form and in the header X-CSRF-Token of what htmx sends

The key is derived from a secret in Redis that all brokers share, so a visitor may be served by any of them; the cookie
is named after it, for cookies do not tell ports apart, and localhost may have the consoles of several Redis.  It holds
no secret of the visitor, only which credential was shown and a mark of what that rests on: when the token is revoked,
the user removed or the password changed, the session is over.
It is sent when somebody follows a link from elsewhere (SameSite=Lax), and not with what other sites send: a page that
came without it would give its visitor another one, and so log them out.  Nothing is changed by a GET.
Pure, but for the time and the random nonce it is given.
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
SKEW_S = 300  # by how much the clock of the broker that let somebody in may be ahead
COOKIE_CHARACTERS_MAX = 2_000


class Session(msgspec.Struct, frozen=True):
    """credential: "token:<id>", "user:<name>", "bootstrap", or "" for nobody.  proof: a mark of what that rests on.
    since: Unix time, s."""

    principal: str
    credential: str
    proof: str
    since: int
    nonce: str


class Signer:
    """secret: what all brokers of one Redis share."""

    def __init__(self, secret: bytes) -> None:
        self._key = hmac.digest(secret, b"redis-ledger console", "sha256")
        self._decode = msgspec.json.Decoder(Session).decode
        self._cookie = f"rl_console_{self._mark('cookie', '')[:8]}"

    def seal(self, session: Session) -> str:
        payload = base64.urlsafe_b64encode(msgspec.json.encode(session)).decode().rstrip("=")
        return f"{payload}.{self._mark('session', payload)}"

    def open(self, cookie: str, now_s: int) -> Session | None:
        """None for what we did not seal, and for what is too old."""
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

    def proof(self, rests_on: str) -> str:
        """rests_on: what a credential is checked with; another one when it was changed."""
        return self._mark("proof", rests_on)

    def cookie_of(self, header: str | None) -> str:
        """Our cookie in a Cookie header, "" if there is none."""
        try:
            found = SimpleCookie(header or "").get(self._cookie)
        except CookieError:
            return ""
        return "" if found is None else found.value

    def set_cookie(self, value: str, *, is_https: bool) -> str:
        """The Set-Cookie header; an empty value forgets it."""
        life = LIFE_S if value else 0
        secure = "; Secure" if is_https else ""
        return f"{self._cookie}={value}; Path=/console; Max-Age={life}; HttpOnly; SameSite=Lax{secure}"

    def csrf(self, session: Session) -> str:
        return self._mark("csrf", self.seal(session))

    def is_ours(self, session: Session, csrf: str) -> bool:
        return hmac.compare_digest(csrf.encode(), self.csrf(session).encode())

    def _mark(self, what: str, text: str) -> str:
        return hmac.new(self._key, f"{what} {text}".encode(), sha256).hexdigest()
