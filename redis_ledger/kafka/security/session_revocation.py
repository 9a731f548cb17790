"""Session revocation: closes connections whose user was removed or changed, or whose token was revoked or expired.

    every CHECK_EVERY_S ─▶ connections whose credentials are no longer valid ─▶ closed

Tokens are cached by this broker for at most a second.  Users are in Redis: one command reads all users with a
connection to this broker.  While Redis is unavailable, no user is logged out.
"""

from __future__ import annotations

from collections.abc import Iterable

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.request_context import LoginCredential, Peer


async def over(peers: Iterable[Peer], broker: Broker) -> set[LoginCredential]:
    """Returns the proofs that are no longer valid."""
    proven = {peer.credential: peer.principal for peer in peers if peer.credential is not None}
    users = {credential.user for credential in proven if credential.user}
    marks: dict[str, str] | None = {}
    try:
        marks = await broker.scram_credentials.marks(users) if users else {}
    except LedgerError:
        marks = None
    return {credential for credential, principal in proven.items() if not _holds(credential, principal, broker, marks)}


def _holds(credential: LoginCredential, principal: str, broker: Broker, marks: dict[str, str] | None) -> bool:
    """marks: user versions; None while they cannot be read."""
    if credential.user:
        return marks is None or marks.get(credential.user) == credential.mark
    try:
        return broker.security.identify(credential.token)[0] == principal
    except LedgerError:
        return False
