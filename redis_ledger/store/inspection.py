"""Inspects a node on each new connection before the first call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from redis_ledger.errors import StoreUnavailable
from redis_ledger.store.address import Address
from redis_ledger.store.connection import Arg, Connection, ask, handshake
from redis_ledger.store.script_calls import ScriptCalls, load_missing

N_contra = TypeVar("N_contra", contravariant=True)  # a node
Probe = Callable[[Sequence[Sequence[Arg]]], Awaitable[list[Any]]]  # commands to replies; errors are values


class Inspection(Protocol[N_contra]):
    """Decides on each new connection whether its node may serve. `Admission` implements it."""

    def questions(self, node: N_contra, /) -> Sequence[tuple[bytes, ...]]:
        """The commands that a new connection sends before any call."""
        ...

    def take(self, node: N_contra, name: str, asked: Sequence[tuple[bytes, ...]], replies: Sequence[Any], /) -> object:
        """Evaluates the replies to `questions`, in the same order; errors are values."""
        ...

    def claim(self, node: N_contra, /) -> Sequence[tuple[Arg, ...]]:
        """The commands to send to the node after `take`."""
        ...

    async def compare(self, node: N_contra, probe: Probe, /, *, within_s: float) -> None:
        """Compares the node's data with its last known state, if the node may have lost writes. No call is sent to the
        node until it returns. within_s: maximum wait for other brokers; 0 if the node stayed connected."""
        ...


async def greet(
    conn: Connection,
    address: Address,
    node: N_contra,
    inspection: Inspection[N_contra],
    scripts: ScriptCalls,
    *,
    primary_only: Callable[[], bool],
) -> None:
    """Authenticates, loads the scripts and inspects the node. Raises OSError, HiredisError, LedgerError."""
    await handshake(conn, address)
    questions = inspection.questions(node)
    role, *replies = await ask(conn, [(b"ROLE",), *questions])
    pong = replies[0]
    if isinstance(pong, Exception) and not str(pong).startswith("MISCONF"):
        raise pong
    if isinstance(role, list) and role[0] != b"master" and primary_only():
        raise StoreUnavailable(f"Redis at {address.name} is not the primary any more.")
    if broken := next((each for each in replies if isinstance(each, ConnectionError)), None):
        raise broken
    scripts.note(node, address.name, await load_missing(partial(ask, conn)))
    inspection.take(node, address.name, questions, replies)
    await ask(conn, inspection.claim(node))
