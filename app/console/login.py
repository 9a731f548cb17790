"""Logging in to the console: by an API token, or by a user's name and password, as Kafka clients have.

A login that fails says no more than that.  Logging out forgets the cookie; the credential stays valid elsewhere.
"""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from redis_ledger.app.console.rendering import render
from redis_ledger.app.console.session import Session, Signer
from redis_ledger.app.http.request import HttpResponse
from redis_ledger.auth import tokens
from redis_ledger.broker.broker import Broker
from redis_ledger.errors import AuthenticationFailed, MethodNotAllowed, Unauthenticated
from redis_ledger.telemetry.logs import Seldom

if TYPE_CHECKING:
    from redis_ledger.app.console.site import Visitor

HTML = b"text/html; charset=utf-8"
_seldom = Seldom()


async def answer(visitor: Visitor, path: str) -> HttpResponse:
    method = visitor.call.scope["method"]
    if path == "login" and method in ("GET", "HEAD"):
        return HttpResponse(200, _page(visitor, "").encode(), HTML)
    if method != "POST":
        raise MethodNotAllowed("Logging in and out takes a form.")
    form = await visitor.form()
    if path == "logout":
        visitor.cookie = visitor.signer.set_cookie("", is_https=visitor.is_https)
        return HttpResponse(303, b"", HTML, [(b"location", b"/console/login")])
    try:
        principal, credential = await prove(visitor, form)
        proof = visitor.signer.proof(await rests_on(visitor.call.broker, credential) or "")
    except (Unauthenticated, AuthenticationFailed):
        _seldom.warning("a login to the console failed", peer=visitor.visit().caller.host)
        return HttpResponse(401, _page(visitor, "That did not work. Check what you entered.").encode(), HTML)
    session = Session(principal, credential, proof, int(time.time()), secrets.token_hex(8))
    visitor.cookie = visitor.signer.set_cookie(visitor.signer.seal(session), is_https=visitor.is_https)
    return HttpResponse(303, b"", HTML, [(b"location", _target(visitor).encode("ascii", "ignore"))])


async def prove(visitor: Visitor, form: dict[str, str]) -> tuple[str, str]:
    """Principal and credential.  Raises Unauthenticated, AuthenticationFailed."""
    broker = visitor.call.broker
    if token := form.get("token", "").strip():
        principal = broker.security.principal_of(token)
        shown = tokens.read(token)
        is_stored = shown is not None and shown.id in broker.security.tokens
        return principal, f"token:{shown.id}" if shown is not None and is_stored else "bootstrap"
    user = form.get("user", "").strip()
    await broker.scram_credentials.check_password(user, form.get("password", ""), visitor.visit().caller.host)
    return f"User:{user}", f"user:{user}"


async def still_holds(broker: Broker, session: Session, signer: Signer) -> bool:
    """Whether the credential that was shown is still what it was; nobody's session holds until it has to log in."""
    if not session.credential or not broker.security.is_on:
        return not session.credential
    found = await rests_on(broker, session.credential)
    return found is not None and signer.proof(found) == session.proof


async def rests_on(broker: Broker, credential: str) -> str | None:
    """What a credential is checked with, and none of what proves it; None when it is none any more."""
    kind, _, name = credential.partition(":")
    if kind == "user":
        return await broker.scram_credentials.mark(name) or None
    if kind == "bootstrap":
        return broker.security.bootstrap
    stored = broker.security.tokens.get(name)
    return None if stored is None or stored.is_over(broker.clock.now_ms()) else f"{stored.principal} {stored.digest}"


def _page(visitor: Visitor, wrong: str) -> str:
    return render("login.html", visitor.common(None) | {"wrong": wrong, "to": _target(visitor)})


def _target(visitor: Visitor) -> str:
    """Where the visitor was going: a page of the console, and nowhere else."""
    query = parse_qs(visitor.call.scope["query_string"].decode("ascii", "replace"))
    wanted = query.get("to", ["/console"])[0]
    is_ours = wanted == "/console" or wanted.startswith(("/console/", "/console?"))
    return wanted if is_ours and wanted.isprintable() and wanted.isascii() and "\\" not in wanted else "/console"
