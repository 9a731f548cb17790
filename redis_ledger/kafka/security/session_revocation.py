"""Session revocation: closes connections whose user was removed or changed, or whose token was revoked or expired.

    every CHECK_EVERY_S ─▶ connections whose credentials are no longer valid ─▶ closed

Tokens are cached by this broker for at most a second.  Users are in Redis: one command reads all users with a
connection to this broker.  While Redis is unavailable, no user is logged out.
"""

from __future__ import annotations

from collections.abc import Iterable

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.request_context import Peer, Proof


async def over(peers: Iterable[Peer], broker: Broker) -> set[Proof]:
    """Returns the proofs that are no longer valid."""
    proven = {peer.proof: peer.principal for peer in peers if peer.proof is not None}
    users = {proof.user for proof in proven if proof.user}
    marks: dict[str, str] | None = {}
    try:
        marks = await broker.scram_credentials.marks(users) if users else {}
    except LedgerError:
        marks = None
    return {proof for proof, principal in proven.items() if not _holds(proof, principal, broker, marks)}


def _holds(proof: Proof, principal: str, broker: Broker, marks: dict[str, str] | None) -> bool:
    """marks: user versions; None while they cannot be read."""
    if proof.user:
        return marks is None or marks.get(proof.user) == proof.mark
    try:
        return broker.security.identify(proof.token)[0] == principal
    except LedgerError:
        return False
