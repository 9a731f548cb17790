"""Owners of transactions: the principal that began a transaction may use, end and describe it.

    begun by REST, rules on         principal + label           that principal
    begun by REST, rules off        label                       no owner, once rules are on
    of a Kafka transactional id     the id                      principals with WRITE on the TRANSACTIONAL_ID

The label is chosen by the client and only displayed.  ALTER on the cluster permits ending any transaction, DESCRIBE
reading any.  Owners of transactions that began at this broker are cached; those of others are read from Redis once.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from redis_ledger.auth.acl import CLUSTER_NAME, Caller, Op, Resource
from redis_ledger.broker.security.service import Security
from redis_ledger.errors import TransactionForbidden
from redis_ledger.ids import TxnId
from redis_ledger.txn.coordinator import Coordinators, TransactionRecord

REMEMBERED_MAX = 50_000  # an evicted owner is read again
_MARK = "\x01"  # prefix of a principal; no name contains it


class Owner(NamedTuple):
    """principal "": no owner.  transactional_id: set for a Kafka client's transaction, which has no principal."""

    principal: str
    transactional_id: str | None = None


def written(principal: str, label: str) -> str:
    """As the coordinator keeps it."""
    label = label.lstrip(_MARK)
    return f"{_MARK}{principal}{_MARK}{label}" if principal else label


def read(text: str) -> tuple[str, str]:
    """Principal and label."""
    if not text.startswith(_MARK):
        return "", text
    principal, _, label = text[1:].partition(_MARK)
    return principal, label


def owner_of(record: TransactionRecord) -> Owner:
    if record.producer is not None:
        return Owner("", record.producer.transactional_id)
    return Owner(read(record.owner)[0])


class TransactionOwners:
    def __init__(self, coordinators: Coordinators, security: Security) -> None:
        self._coordinators, self._security = coordinators, security
        self._known: OrderedDict[TxnId, Owner] = OrderedDict()

    def remember(self, txn: TxnId, owner: Owner) -> None:
        self._known[txn] = owner
        if len(self._known) > REMEMBERED_MAX:
            self._known.popitem(last=False)

    async def of(self, txn: TxnId) -> Owner:
        """Raises TransactionNotFound, CoordinatorNotFound.  Cost: one read for what this broker does not remember."""
        owner = self._known.get(txn)
        if owner is None:
            owner = owner_of(await self._coordinators.get(txn))
            self.remember(txn, owner)
        return owner

    async def check(self, caller: Caller, txn: TxnId, otherwise: Op | None = None) -> bool:
        """Whether it is the caller's own.  otherwise: who may do this on the cluster may, too.
        Raises TransactionForbidden, and what `of` raises."""
        if not self._security.is_on:
            return True
        owner = await self.of(txn)
        if self.is_own(caller, owner, Op.WRITE):
            return True
        if otherwise is not None and self.may(caller, owner, otherwise):
            return False
        raise TransactionForbidden(
            f"Transaction {txn} was not begun by {caller.principal}, and only its owner may do this.",
            transaction=str(txn),
        )

    def may(self, caller: Caller, owner: Owner, operation: Op) -> bool:
        """Returns whether the caller may do this without owning the transaction."""
        if self._security.allows(caller, operation, Resource.CLUSTER, CLUSTER_NAME):
            return True
        return operation is Op.DESCRIBE and self.is_own(caller, owner, Op.DESCRIBE)

    def is_own(self, caller: Caller, owner: Owner, operation: Op) -> bool:
        name = owner.transactional_id
        if name is not None:
            return self._security.allows(caller, operation, Resource.TRANSACTIONAL_ID, name)
        return owner.principal == caller.principal

    def sees(self, caller: Caller, record: TransactionRecord) -> bool:
        """Whether the caller is shown a transaction."""
        return not self._security.is_on or self._sees(caller, owner_of(record))

    async def is_shown(self, caller: Caller, txn: TxnId) -> bool:
        """As `sees`, of one that is known by its id.  Raises what `of` raises."""
        return not self._security.is_on or self._sees(caller, await self.of(txn))

    def _sees(self, caller: Caller, owner: Owner) -> bool:
        return self.is_own(caller, owner, Op.WRITE) or self.may(caller, owner, Op.DESCRIBE)
