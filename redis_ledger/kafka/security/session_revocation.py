"""Logins that are over: the user was removed or its password changed, the API token was revoked or has expired.

    every LOOK_EVERY_S of the listener ─▶ connections whose proof holds no more ─▶ closed

Tokens are in this broker's memory, a second old at most.  Users are in Redis: one command asks for all that are logged
in here.  While Redis is away nobody is logged out.
"""

from __future__ import annotations

from collections.abc import Iterable

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.request_context import Peer, Proof


async def over(peers: Iterable[Peer], broker: Broker) -> set[Proof]:
    """The proofs of peers that hold no more."""
    proven = {peer.proof: peer.principal for peer in peers if peer.proof is not None}
    users = {proof.user for proof in proven if proof.user}
    marks: dict[str, str] | None = {}
    try:
        marks = await broker.scram_credentials.marks(users) if users else {}
    except LedgerError:
        marks = None
    return {proof for proof, principal in proven.items() if not _holds(proof, principal, broker, marks)}


def _holds(proof: Proof, principal: str, broker: Broker, marks: dict[str, str] | None) -> bool:
    """marks: None while they cannot be read."""
    if proof.user:
        return marks is None or marks.get(proof.user) == proof.mark
    try:
        return broker.security.identify(proof.token)[0] == principal
    except LedgerError:
        return False
