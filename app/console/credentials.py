"""The credential behind a console session: a token, a user or the bootstrap token."""

from __future__ import annotations

from redis_ledger.app.console.session import Session, Signer
from redis_ledger.broker.broker import Broker


async def are_valid(broker: Broker, session: Session, signer: Signer) -> bool:
    """Whether the session's credential is unchanged.  An anonymous session is valid."""
    if not session.credential or not broker.security.is_on:
        return not session.credential
    found = await verifier(broker, session.credential)
    return found is not None and signer.proof(found) == session.proof


async def verifier(broker: Broker, credential: str) -> str | None:
    """The stored value that the credential is verified against; None if it was revoked, removed or has expired."""
    kind, _, name = credential.partition(":")
    if kind == "user":
        return await broker.scram_credentials.mark(name) or None
    if kind == "bootstrap":
        return broker.security.bootstrap
    stored = broker.security.tokens.get(name)
    return None if stored is None or stored.is_over(broker.clock.now_ms()) else f"{stored.principal} {stored.digest}"
