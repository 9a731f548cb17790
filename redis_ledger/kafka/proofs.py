"""Logins that are over: the user was removed, the API token was revoked or has expired.

    every LOOK_EVERY_S of the listener ─▶ connections whose proof holds no more ─▶ closed

Tokens are in this broker's memory, a second old at most.  Users are in Redis: one command asks for all that are logged
in here.  While Redis is away nobody is logged out.
"""

from __future__ import annotations

from collections.abc import Iterable

from redis_ledger.broker.broker import Broker
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.call import Peer, Proof


async def over(peers: Iterable[Peer], broker: Broker) -> set[Proof]:
    """The proofs of peers that hold no more."""
    proven = {peer.proof: peer.principal for peer in peers if peer.proof is not None}
    users = {proof.user for proof in proven if proof.user}
    try:
        there = await broker.users.known(users) if users else set()
    except LedgerError:
        there = users
    return {proof for proof, principal in proven.items() if not _holds(proof, principal, broker, there)}


def _holds(proof: Proof, principal: str, broker: Broker, users: set[str]) -> bool:
    if proof.user:
        return proof.user in users
    try:
        return broker.security.identify(proof.token)[0] == principal
    except LedgerError:
        return False
