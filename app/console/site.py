"""The console as an ASGI application, mounted at /console.

    session ─▶ page or action ─▶ requirements ─▶ function ─▶ HTML, JSON or 303

Without auth_required every caller is User:ANONYMOUS.  app/http/origin_check.py rejects cross-origin requests before
they get here; forms carry a CSRF token in addition.
"""

from __future__ import annotations

import mimetypes
from http import HTTPStatus
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, quote

import msgspec

from redis_ledger.app.console import login, views
from redis_ledger.app.console.pages import ACTIONS, PAGES, ActionResult, Page
from redis_ledger.app.console.rendering import render
from redis_ledger.app.console.request import MESSAGE_CHARACTERS_MAX, MESSAGE_COOKIE, ConsoleRequest
from redis_ledger.app.console.session import Signer
from redis_ledger.app.http import errors
from redis_ledger.app.http.asgi import Receive, Scope, Send
from redis_ledger.app.http.request import HttpRequest, HttpResponse, Services
from redis_ledger.errors import LedgerError, RouteNotFound, Unauthenticated, Unavailable
from redis_ledger.telemetry import metrics

views.load()

HTML = b"text/html; charset=utf-8"
STATIC_CACHE = b"max-age=2592000, immutable"  # the URL contains a digest
RETRY_S = 5  # reload interval of an error page
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
        request: ConsoleRequest | None = None
        try:
            request = await self._visitor(scope, receive)
            request.admit()
            answer = await self._route(request, path, wants_json)
            request.pay(answer)
            _counted("ok")
        except Exception as error:  # noqa: BLE001 - an unhandled exception would drop the connection
            answer = self._error(error, scope, wants_json, request)
        finally:
            if request is not None:
                request.http.end()
        answer.headers += HEADERS
        if request is not None and request.cookie is not None:
            answer.headers.append((b"set-cookie", request.cookie.encode()))
        return answer

    async def _visitor(self, scope: Scope, receive: Receive) -> ConsoleRequest:
        http = HttpRequest(self._services, scope, receive)
        if self._signer is None:
            self._signer = Signer(await http.broker.scram_credentials.secret())
        return await ConsoleRequest.of(http, self._signer)

    async def _route(self, request: ConsoleRequest, path: str, wants_json: bool) -> HttpResponse:
        method = request.http.scope["method"]
        if path in ("login", "logout"):
            return await login.answer(request, path)
        if method == "POST" and path in ACTIONS:
            return await self._action(request, ACTIONS[path])
        if method not in ("GET", "HEAD") or path not in PAGES:
            raise RouteNotFound(f"The console has no page {path[:100]!r}.")
        request.check_known()
        found = PAGES[path]
        query = request.http.scope["query_string"].decode("ascii", "replace")
        query_values = found.read(dict(parse_qsl(query, keep_blank_values=True)))
        context = request.page_context()
        found.check(context, query_values)
        data = await found.handler(context, query_values)
        if wants_json:
            return HttpResponse(200, msgspec.json.encode(data) + b"\n")
        message = request.message()
        if message:
            request.cookies_out.append(f"{MESSAGE_COOKIE}=; Path=/console; Max-Age=0; HttpOnly; SameSite=Strict")
        page = render(found.template, request.common(found) | {"page": data, "query": query_values, "message": message})
        return request.with_cookies(HttpResponse(200, page.encode(), HTML))

    async def _action(self, request: ConsoleRequest, found: Page) -> HttpResponse:
        form = await request.form()
        request.check_known()
        form_values = found.read({name: value for name, value in form.items() if name != "csrf"})
        context = request.page_context()
        audit = context.broker.audit
        try:
            found.check(context, form_values)
            done: ActionResult = await found.handler(context, form_values)
        except LedgerError as error:
            if found.audit_action:
                await audit.failed(context.caller, found.audit_action, found.target(form_values), error)
            raise
        if found.audit_action and done.facts is not None:
            await audit.note(context.caller, found.audit_action, found.target(form_values), **done.facts)
        if done.secret:  # shown once; never in a cookie or a URL
            page = render("done.html", request.common(found) | {"done": done})
            return HttpResponse(200, page.encode(), HTML)
        message = quote(done.message[:MESSAGE_CHARACTERS_MAX])
        request.cookies_out.append(f"{MESSAGE_COOKIE}={message}; Path=/console; Max-Age=60; HttpOnly; SameSite=Strict")
        answer = HttpResponse(303, b"", HTML, [(b"location", done.location.encode("ascii"))])
        return request.with_cookies(answer)

    def _error(self, error: Exception, scope: Scope, wants_json: bool, request: ConsoleRequest | None) -> HttpResponse:
        """request: None if the session could not be determined."""
        known = errors.from_exception(error)
        if known is None:
            errors.internal_error(error, f"console {scope['path'][:60]}")
            known = LedgerError("Internal error; see the broker's log.")
        _counted(known.code)
        if wants_json:
            return errors.problem(known)
        if isinstance(known, Unauthenticated) and request is not None:
            return redirect_to_login(request)
        status = type(known).http_status
        broker = self._services.broker
        name = "" if broker is None else broker.name
        common = anonymous_frame(name) if request is None else request.common(None)
        facts = {
            "status": status,
            "phrase": HTTPStatus(status).phrase,
            "title": type(known).title(),
            "detail": known.detail,
            "again_s": RETRY_S if isinstance(known, Unavailable) and scope["method"] == "GET" else 0,
        }
        return HttpResponse(status, render("error.html", common | facts).encode(), HTML)


def redirect_to_login(request: ConsoleRequest) -> HttpResponse:
    """Redirects to the login page; htmx redirects the whole page.  After an action the login leads to the overview."""
    target = "/console" if request.http.scope["method"] == "POST" else request.target()
    to = f"/console/login?to={quote(target, safe='')}".encode()
    if request.http.header(b"hx-request") is not None:
        return HttpResponse(401, b"", HTML, [(b"hx-redirect", to)])
    return HttpResponse(303, b"", HTML, [(b"location", to)])


def anonymous_frame(broker_name: str) -> dict[str, Any]:
    """The page frame without a session."""
    nothing = dict.fromkeys(("title", "nav", "principal", "csrf", "message"), "")
    return nothing | {"auth_required": True, "broker_name": broker_name, "may": lambda *_: False, "now_ms": 0}


def static(name: str) -> HttpResponse:
    """Serves a static file."""
    root = files("redis_ledger.app.console") / "static"
    if not all(part and not part.startswith(".") for part in name.split("/")) or "\\" in name:
        return errors.no_route(f"/console/static/{name}")
    found = root.joinpath(*name.split("/"))
    if not found.is_file():
        return errors.no_route(f"/console/static/{name}")
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    return HttpResponse(200, found.read_bytes(), f"{kind}{charset}".encode(), cache=STATIC_CACHE)
