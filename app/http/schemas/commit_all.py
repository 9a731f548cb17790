"""Bodies of transactions that are committed together."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType, field

from redis_ledger.app.http.schemas.core import Reply, Request, TxnIdText
from redis_ledger.txn.commit_all import NAME_LENGTH_MAX, NUMBER_MAX, TRANSACTIONS_MAX

Name = Annotated[
    str, Meta(min_length=1, max_length=NAME_LENGTH_MAX, description="The name of the numbered steps; any text.")
]
Number = Annotated[
    int, Meta(ge=0, le=NUMBER_MAX, description="The number of the step; later steps have higher numbers.")
]


class Once(Request):
    """Commit only if no equal or higher number was committed under this name."""

    name: Name
    number: Number


class CommitAll(Request):
    """Transactions that were begun with the same `together`, which is also the name of `once`."""

    transactions: Annotated[list[TxnIdText], Meta(max_length=TRANSACTIONS_MAX)] = field(default_factory=list)
    once: Once | UnsetType = UNSET
    wait: Literal["all", "logged"] = "all"


class CommittedAll(Reply):
    """already: nothing was committed, because `number` was committed before; abort the transactions."""

    status: Literal["committed", "committing", "already"]
    number: Number | UnsetType = UNSET


class OnceQuery(Request):
    name: Annotated[str, Meta(min_length=1, max_length=NAME_LENGTH_MAX, description="The name given to commitAll.")]


class OnceNumber(Reply):
    """number: null if no commit under the name is known."""

    name: str
    number: Number | None
