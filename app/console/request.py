"""A request to the console: the session, the authenticated principal, the form and the frame of the page."""

from __future__ import annotations

import secrets
import time
from typing import Any
from urllib.parse import parse_qsl, unquote

from redis_ledger.app.console import credentials
from redis_ledger.app.console.pages import Page, PageContext
from redis_ledger.app.console.session import Session, Signer
from redis_ledger.app.http.authentication import PEER, connection_is_known
from redis_ledger.app.http.request import HttpRequest, HttpResponse
from redis_ledger.auth.acl import ANONYMOUS, Caller
from redis_ledger.errors import Forbidden, InvalidRequest, Unauthenticated

FORM_FIELDS_MAX = 200
LOGIN_BYTES_MAX = 16 << 10  # of a form before login
MESSAGE_COOKIE = "rl_message"
MESSAGE_CHARACTERS_MAX = 1_000


class ConsoleRequest:
    """A request to the console, authenticated by a bearer token, a client certificate or the session cookie.

    A request without a session cookie gets one: CSRF tokens are bound to it.
    """

    def __init__(self, http: HttpRequest, signer: Signer, session: Session) -> None:
        self.http, self.signer, self.session = http, signer, session
        self.cookie: str | None = None
        self.principal = session.principal
        self.is_known = bool(session.credential) or not http.broker.security.is_on
        self.cookies_out: list[str] = []

    @classmethod
    async def of(cls, http: HttpRequest, signer: Signer) -> ConsoleRequest:
        """Raises Unauthenticated for a wrong token."""
        broker = http.broker
        now_s = int(time.time())
        session = signer.open(signer.cookie_of(http.header(b"cookie")), now_s)
        if session is not None and not await credentials.are_valid(broker, session, signer):
            session = None
        is_new, session = session is None, session or Session(ANONYMOUS, "", "", now_s, secrets.token_hex(8))
        request = cls(http, signer, session)
        if is_new and http.scope["method"] != "POST":  # a cross-site POST lacks the existing cookie
            request.cookie = signer.set_cookie(signer.seal(session), is_https=request.is_https)
        if broker.security.is_on and (PEER in http.scope or http.header(b"authorization") is not None):
            await http.identify()
            request.principal, request.is_known = http.caller.principal, True
        if request.is_known:
            connection_is_known(http.scope)
        return request

    def check_known(self) -> None:
        """Raises Unauthenticated if a login is required."""
        if not self.is_known:
            raise Unauthenticated("Log in to use the console.")

    def admit(self) -> None:
        """Counts the request against the principal's quota, as for REST.  Raises QuotaExceeded."""
        if self.is_known:
            self.http.broker.quotas.admit(self.principal)

    def pay(self, answer: HttpResponse) -> None:
        if self.is_known:
            read, shown = self.http.body_bytes, max(len(answer.body) - self.http.decoded_bytes, 0)
            self.http.broker.quotas.charge(self.principal, bytes_in=read, bytes_out=shown)

    def charge_decoded(self, count: int) -> None:
        self.http.decoded_bytes += count
        self.http.broker.quotas.charge(self.principal, bytes_out=count)

    @property
    def is_https(self) -> bool:
        """Whether the browser uses https; a proxy may terminate TLS.  Used for the cookie's Secure flag only."""
        return self.http.scope["scheme"] == "https" or self.http.header(b"x-forwarded-proto") == "https"

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self.http.scope["headers"]}

    async def form(self) -> dict[str, str]:
        """The fields of the form.  Raises Forbidden without a valid CSRF token."""
        kind = self.http.content_type()
        if kind != "application/x-www-form-urlencoded":
            raise InvalidRequest(f"The content type must be application/x-www-form-urlencoded, not {kind[:80]!r}.")
        text = (await self.http.body(None if self.is_known else LOGIN_BYTES_MAX)).decode("utf-8", "strict")
        fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX))
        if not self.signer.is_valid_csrf(self.session, self.headers.get("x-csrf-token") or fields.get("csrf", "")):
            raise Forbidden("The form has expired. Reload the page and try again.")
        return fields

    def page_context(self) -> PageContext:
        client = self.http.scope.get("client")
        broker = self.http.broker
        return PageContext(
            broker, Caller(self.principal, client[0] if client else "unix"), broker.clock.now_ms(), self.charge_decoded
        )

    def common(self, found: Page | None) -> dict[str, Any]:
        """The template values of the page frame."""
        broker = self.http.broker
        return {
            "title": found.title if found else "",
            "nav": found.nav if found else "",
            "principal": self.principal if self.is_known and broker.security.is_on else "",
            "auth_required": broker.security.is_on,
            "csrf": self.signer.csrf(self.session),
            "broker_name": broker.name,
            "may": self.page_context().may,
            "now_ms": broker.clock.now_ms(),
            "message": "",
        }

    def message(self) -> str:
        """The message of the previous action."""
        for part in self.headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == MESSAGE_COOKIE:
                return unquote(value)[:MESSAGE_CHARACTERS_MAX]
        return ""

    def target(self) -> str:
        query = self.http.scope["query_string"].decode("latin-1")
        return f"{self.http.scope['path']}{'?' if query else ''}{query}"

    def with_cookies(self, answer: HttpResponse) -> HttpResponse:
        answer.headers += [(b"set-cookie", each.encode()) for each in self.cookies_out]
        return answer
