"""The console as an ASGI application, mounted at /console.

    session ─▶ page or act ─▶ what it needs ─▶ its function ─▶ HTML, JSON or 303

Without auth_required everybody is User:ANONYMOUS.  What other sites make a browser send is refused ahead of this, as
through every other door (app/http/origin_check.py); a form of ours has its proof besides.
"""

from __future__ import annotations

import mimetypes
import secrets
import time
from http import HTTPStatus
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, quote, unquote

import msgspec

from redis_ledger.app.console import login, views
from redis_ledger.app.console.pages import ACTS, PAGES, Done, Page, Visit
from redis_ledger.app.console.rendering import render
from redis_ledger.app.console.session import Session, Signer
from redis_ledger.app.http import errors
from redis_ledger.app.http.asgi import Receive, Scope, Send
from redis_ledger.app.http.authentication import PEER
from redis_ledger.app.http.request import HttpRequest, HttpResponse, Services
from redis_ledger.auth.acl import ANONYMOUS, Caller
from redis_ledger.errors import Forbidden, InvalidRequest, LedgerError, RouteNotFound, Unauthenticated, Unavailable
from redis_ledger.telemetry import metrics

views.load()

HTML = b"text/html; charset=utf-8"
FORM_FIELDS_MAX = 200
SAID_COOKIE = "rl_said"
SAID_CHARACTERS_MAX = 1_000
STATIC_CACHE = b"max-age=2592000, immutable"  # their address has a digest of them
AGAIN_S = 5  # a page that could not be made for now is asked for again after this
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
]


def _counted(outcome: str) -> None:
    metrics.http_requests.labels("console", outcome).inc()


class Console:
    def __init__(self, services: Services) -> None:
        self._services = services
        self._signer: Signer | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        answer = await self._answer(scope, receive)
        if scope["method"] == "HEAD":
            answer.body = b""
        await answer.send(send)

    async def _answer(self, scope: Scope, receive: Receive) -> HttpResponse:
        path = scope["path"].removeprefix(scope.get("root_path", "")).removeprefix("/console").strip("/")
        if path.startswith("static/") and scope["method"] in ("GET", "HEAD"):
            return static(path.removeprefix("static/"))
        wants_json = path.endswith(".json")
        path = path.removesuffix(".json") or "overview"
        visitor: Visitor | None = None
        try:
            visitor = await self._visitor(scope, receive)
            visitor.admit()
            answer = await self._found(visitor, path, wants_json)
            visitor.pay(answer)
            _counted("ok")
        except Exception as error:  # noqa: BLE001 - the last door: what gets past here is a dropped connection
            answer = self._told(error, scope, wants_json, visitor)
        finally:
            if visitor is not None:
                visitor.call.end()
        answer.headers += HEADERS
        if visitor is not None and visitor.cookie is not None:
            answer.headers.append((b"set-cookie", visitor.cookie.encode()))
        return answer

    async def _visitor(self, scope: Scope, receive: Receive) -> Visitor:
        if self._signer is None:
            self._signer = Signer(await self._services.broker.scram_credentials.secret())
        return await Visitor.of(HttpRequest(self._services, scope, receive), self._signer)

    async def _found(self, visitor: Visitor, path: str, wants_json: bool) -> HttpResponse:
        method = visitor.call.scope["method"]
        if path in ("login", "logout"):
            return await login.answer(visitor, path)
        if method == "POST" and path in ACTS:
            return await self._act(visitor, ACTS[path])
        if method not in ("GET", "HEAD") or path not in PAGES:
            raise RouteNotFound(f"The console has no page {path[:100]!r}.")
        visitor.check_known()
        found = PAGES[path]
        query = visitor.call.scope["query_string"].decode("ascii", "replace")
        asked = found.read(dict(parse_qsl(query, keep_blank_values=True)))
        visit = visitor.visit()
        found.check(visit, asked)
        data = await found.make(visit, asked)
        if wants_json:
            return HttpResponse(200, msgspec.json.encode(data) + b"\n")
        said = visitor.said()
        if said:
            visitor.cookies_out.append(f"{SAID_COOKIE}=; Path=/console; Max-Age=0; HttpOnly; SameSite=Strict")
        page = render(found.template, visitor.common(found) | {"page": data, "asked": asked, "said": said})
        return visitor.with_cookies(HttpResponse(200, page.encode(), HTML))

    async def _act(self, visitor: Visitor, found: Page) -> HttpResponse:
        form = await visitor.form()
        visitor.check_known()
        asked = found.read({name: value for name, value in form.items() if name != "csrf"})
        visit = visitor.visit()
        audit = visit.broker.audit
        try:
            found.check(visit, asked)
            done: Done = await found.make(visit, asked)
        except LedgerError as error:
            if found.noted:
                await audit.failed(visit.caller, found.noted, found.target(asked), error)
            raise
        if found.noted and done.facts is not None:
            await audit.note(visit.caller, found.noted, found.target(asked), **done.facts)
        if done.told:  # shown once, and never in a cookie or an address
            page = render("told.html", visitor.common(found) | {"done": done})
            return HttpResponse(200, page.encode(), HTML)
        said = quote(done.sentence[:SAID_CHARACTERS_MAX])
        visitor.cookies_out.append(f"{SAID_COOKIE}={said}; Path=/console; Max-Age=60; HttpOnly; SameSite=Strict")
        answer = HttpResponse(303, b"", HTML, [(b"location", done.go_to.encode("ascii"))])
        return visitor.with_cookies(answer)

    def _told(self, error: Exception, scope: Scope, wants_json: bool, visitor: Visitor | None) -> HttpResponse:
        """visitor: None where it could not even be found out who that is."""
        known = errors.understood(error)
        if known is None:
            errors.unforeseen(error, f"console {scope['path'][:60]}")
            known = LedgerError("Something went wrong inside the broker; its log has the details.")
        _counted(known.code)
        if wants_json:
            return errors.problem(known)
        if isinstance(known, Unauthenticated) and visitor is not None:
            return to_login(visitor)
        status = type(known).http_status
        common = bare(self._services.broker.name) if visitor is None else visitor.common(None)
        facts = {
            "status": status,
            "phrase": HTTPStatus(status).phrase,
            "title": type(known).title(),
            "detail": known.detail,
            "again_s": AGAIN_S if isinstance(known, Unavailable) and scope["method"] == "GET" else 0,
        }
        return HttpResponse(status, render("error.html", common | facts).encode(), HTML)


def to_login(visitor: Visitor) -> HttpResponse:
    """A part of a page that is refreshed must not become the login: the page as a whole goes there.  An act is no page
    to come back to."""
    target = "/console" if visitor.call.scope["method"] == "POST" else visitor.target()
    to = f"/console/login?to={quote(target, safe='')}".encode()
    if visitor.call.header(b"hx-request") is not None:
        return HttpResponse(401, b"", HTML, [(b"hx-redirect", to)])
    return HttpResponse(303, b"", HTML, [(b"location", to)])


def bare(broker_name: str) -> dict[str, Any]:
    """A frame for whoever it is."""
    nothing = dict.fromkeys(("title", "nav", "principal", "csrf", "said"), "")
    return nothing | {"auth_required": True, "broker_name": broker_name, "may": lambda *_: False, "now_ms": 0}


class Visitor:
    """Who asks: by a bearer token or a client certificate, as through every other door, or else by the cookie it has.
    One without a cookie gets one: forms are bound to it, whoever sends them."""

    def __init__(self, call: HttpRequest, signer: Signer, session: Session) -> None:
        """cookie: to be set with the answer."""
        self.call, self.signer, self.session = call, signer, session
        self.cookie: str | None = None
        self.principal = session.principal
        self.is_known = bool(session.credential) or not call.broker.security.is_on
        self.cookies_out: list[str] = []

    @classmethod
    async def of(cls, call: HttpRequest, signer: Signer) -> Visitor:
        """Raises Unauthenticated for a wrong token."""
        broker = call.broker
        now_s = int(time.time())
        session = signer.open(signer.cookie_of(call.header(b"cookie")), now_s)
        if session is not None and not await login.still_holds(broker, session, signer):
            session = None
        is_new, session = session is None, session or Session(ANONYMOUS, "", "", now_s, secrets.token_hex(8))
        visitor = cls(call, signer, session)
        if is_new and call.scope["method"] != "POST":  # what another site sends comes without the cookie that is there
            visitor.cookie = signer.set_cookie(signer.seal(session), is_https=visitor.is_https)
        if broker.security.is_on and (PEER in call.scope or call.header(b"authorization") is not None):
            await call.identify()
            visitor.principal, visitor.is_known = call.caller.principal, True
        return visitor

    def check_known(self) -> None:
        """Raises Unauthenticated where a login is needed."""
        if not self.is_known:
            raise Unauthenticated("Log in to use the console.")

    def admit(self) -> None:
        """As an operation of REST: one request of whoever is known.  Raises QuotaExceeded."""
        if self.is_known:
            self.call.broker.quotas.admit(self.principal)

    def pay(self, answer: HttpResponse) -> None:
        if self.is_known:
            read, shown = self.call.body_bytes, max(len(answer.body) - self.call.decoded_bytes, 0)
            self.call.broker.quotas.charge(self.principal, bytes_in=read, bytes_out=shown)

    def charge_decoded(self, count: int) -> None:
        self.call.decoded_bytes += count
        self.call.broker.quotas.charge(self.principal, bytes_out=count)

    @property
    def is_https(self) -> bool:
        """As far as the browser goes: a proxy may end TLS before us.  Only a cookie depends on it."""
        return self.call.scope["scheme"] == "https" or self.call.header(b"x-forwarded-proto") == "https"

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self.call.scope["headers"]}

    async def form(self) -> dict[str, str]:
        """The fields of a form of ours.  Raises Forbidden for one that is not."""
        kind = self.call.content_type()
        if kind != "application/x-www-form-urlencoded":
            raise InvalidRequest(f"A form is application/x-www-form-urlencoded, not {kind[:80]!r}.")
        text = (await self.call.body()).decode("utf-8", "strict")
        fields = dict(parse_qsl(text, keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX))
        if not self.signer.is_ours(self.session, self.headers.get("x-csrf-token") or fields.get("csrf", "")):
            raise Forbidden("The form has expired or is not ours; nothing was done. Reload the page and try again.")
        return fields

    def visit(self) -> Visit:
        client = self.call.scope.get("client")
        broker = self.call.broker
        return Visit(
            broker, Caller(self.principal, client[0] if client else "unix"), broker.clock.now_ms(), self.charge_decoded
        )

    def common(self, found: Page | None) -> dict[str, Any]:
        """What the frame of every page shows."""
        broker = self.call.broker
        return {
            "title": found.title if found else "",
            "nav": found.nav if found else "",
            "principal": self.principal if self.is_known and broker.security.is_on else "",
            "auth_required": broker.security.is_on,
            "csrf": self.signer.csrf(self.session),
            "broker_name": broker.name,
            "may": self.visit().may,
            "now_ms": broker.clock.now_ms(),
            "said": "",
        }

    def said(self) -> str:
        """What the act before said."""
        for part in self.headers.get("cookie", "").split(";"):
            name, _, value = part.strip().partition("=")
            if name == SAID_COOKIE:
                return unquote(value)[:SAID_CHARACTERS_MAX]
        return ""

    def target(self) -> str:
        query = self.call.scope["query_string"].decode("latin-1")
        return f"{self.call.scope['path']}{'?' if query else ''}{query}"

    def with_cookies(self, answer: HttpResponse) -> HttpResponse:
        answer.headers += [(b"set-cookie", each.encode()) for each in self.cookies_out]
        return answer


def static(name: str) -> HttpResponse:
    """A file that belongs to the pages."""
    root = files("redis_ledger.app.console") / "static"
    if not all(part and not part.startswith(".") for part in name.split("/")) or "\\" in name:
        return errors.no_route(f"/console/static/{name}")
    found = root.joinpath(*name.split("/"))
    if not found.is_file():
        return errors.no_route(f"/console/static/{name}")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    return HttpResponse(200, found.read_bytes(), f"{kind}{charset}".encode(), cache=STATIC_CACHE)
