"""Console login with an API token, or with the name and password of a user.

A failed login does not state the reason.  Logout deletes the cookie; the credential stays valid.
"""

from __future__ import annotations

import secrets
import time
from urllib.parse import parse_qs

from redis_ledger.app.console import credentials
from redis_ledger.app.console.rendering import render
from redis_ledger.app.console.request import ConsoleRequest
from redis_ledger.app.console.session import Session
from redis_ledger.app.http.request import HttpResponse
from redis_ledger.auth import tokens
from redis_ledger.errors import AuthenticationFailed, MethodNotAllowed, Unauthenticated
from redis_ledger.telemetry.logs import RateLimitedLog

HTML = b"text/html; charset=utf-8"
_limited_log = RateLimitedLog()


async def answer(request: ConsoleRequest, path: str) -> HttpResponse:
    method = request.http.scope["method"]
    if path == "login" and method in ("GET", "HEAD"):
        return HttpResponse(200, _page(request, "").encode(), HTML)
    if method != "POST":
        raise MethodNotAllowed("Login and logout take a POST form.")
    form = await request.form()
    if path == "logout":
        request.cookie = request.signer.set_cookie("", is_https=request.is_https)
        return HttpResponse(303, b"", HTML, [(b"location", b"/console/login")])
    try:
        principal, credential = await prove(request, form)
        proof = request.signer.proof(await credentials.verifier(request.http.broker, credential) or "")
    except (Unauthenticated, AuthenticationFailed):
        _limited_log.warning("a login to the console failed", peer=request.page_context().caller.host)
        return HttpResponse(401, _page(request, "Login failed. Check your input.").encode(), HTML)
    session = Session(principal, credential, proof, int(time.time()), secrets.token_hex(8))
    request.cookie = request.signer.set_cookie(request.signer.seal(session), is_https=request.is_https)
    return HttpResponse(303, b"", HTML, [(b"location", _target(request).encode("ascii", "ignore"))])


async def prove(request: ConsoleRequest, form: dict[str, str]) -> tuple[str, str]:
    """Principal and credential.  Raises Unauthenticated, AuthenticationFailed."""
    broker = request.http.broker
    if token := form.get("token", "").strip():
        principal = broker.security.principal_of(token)
        shown = tokens.read(token)
        is_stored = shown is not None and shown.id in broker.security.tokens
        return principal, f"token:{shown.id}" if shown is not None and is_stored else "bootstrap"
    user = form.get("user", "").strip()
    await broker.scram_credentials.check_password(user, form.get("password", ""), request.page_context().caller.host)
    return f"User:{user}", f"user:{user}"


def _page(request: ConsoleRequest, wrong: str) -> str:
    return render("login.html", request.common(None) | {"wrong": wrong, "to": _target(request)})


def _target(request: ConsoleRequest) -> str:
    """The page to show after the login; restricted to the console."""
    query = parse_qs(request.http.scope["query_string"].decode("ascii", "replace"))
    wanted = query.get("to", ["/console"])[0]
    is_ours = wanted == "/console" or wanted.startswith(("/console/", "/console?"))
    return wanted if is_ours and wanted.isprintable() and wanted.isascii() and "\\" not in wanted else "/console"
