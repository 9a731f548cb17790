"""Rules, API tokens and the audit; brokers that do not ask who is calling refuse all of it (SecurityDisabled)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import msgspec

from redis_ledger.client import arguments
from redis_ledger.client._sync.transport import Transport, path
from redis_ledger.client.security_models import Acl, ApiToken, AuditEntry, NewToken

AclList: TypeAlias = list[Acl]
TokenList: TypeAlias = list[ApiToken]
AuditList: TypeAlias = list[AuditEntry]


class _Acls(msgspec.Struct):
    acls: AclList


class _Added(msgspec.Struct):
    added: int


class _Deleted(msgspec.Struct):
    deleted: AclList


class _Tokens(msgspec.Struct):
    tokens: TokenList


class _Audit(msgspec.Struct):
    entries: AuditList


class Acls:
    """client.acls.add([Acl("User:ada", "READ", "TOPIC", "orders")])"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, **wanted: str) -> AclList:
        """Those that fit: by principal, operation, resource, name, pattern (MATCH: what covers the name), permission
        and host.

        client.acls.list(resource="TOPIC", name="orders", pattern="MATCH")
        """
        return (self._transport.call("GET", path("acls"), answer=_Acls, params=wanted)).acls

    def add(self, acls: Sequence[Acl]) -> int:
        """How many are new.  All of them are added, or none.

        client.acls.add([Acl("User:ada", "WRITE", "TOPIC", "orders-", pattern="PREFIXED")])
        """
        body = {"acls": arguments.sequence("acls", acls)}
        return (self._transport.call("POST", path("acls"), body, answer=_Added, idempotency_key=True)).added

    def delete(self, **wanted: str) -> AclList:
        """Deletes those that fit, as `list` says, and tells them; at least one word is needed.

        client.acls.delete(principal="User:ada")
        """
        answer = self._transport.call(
            "POST", path("acls", call=":delete"), {"filters": [wanted]}, answer=_Deleted, idempotency_key=True
        )
        return answer.deleted


class Tokens:
    """(client.tokens.create("User:ada")).token"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, principal: str = "") -> TokenList:
        """One's own, or with DESCRIBE on the cluster all.

        [token.id for token in client.tokens.list("User:ada")]
        """
        params = {"principal": principal} if principal else {}
        return (self._transport.call("GET", path("tokens"), answer=_Tokens, params=params)).tokens

    def create(
        self, principal: str, *, expires_ms: int | None = None, note: str = "", is_super: bool = False
    ) -> NewToken:
        """Creates a token.  Its text is returned only once.  is_super: adds rules that allow the principal everything.

        Raises OutcomeUnknown if the response was lost: an unused token may then exist.

        print((client.tokens.create("User:ada", note="laptop")).token)
        """
        body = {"principal": principal, "expires_ms": expires_ms, "note": note, "super": is_super}
        return self._transport.call("POST", path("tokens"), body, answer=NewToken, repeatable=False)

    def revoke(self, id: str) -> None:
        """client.tokens.revoke("4f2a91c07be3")"""
        self._transport.call("DELETE", path("tokens", id), answer=type(None))


class Audit:
    """(client.audit.list(limit=10))[0].act"""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, limit: int = 100, before: str = "") -> AuditList:
        """Newest first.  before: the id of an entry; those older than it.

        [(entry.principal, entry.act, entry.target) for entry in client.audit.list()]
        """
        params: dict[str, str | int] = {"limit": limit, **({"before": before} if before else {})}
        return (self._transport.call("GET", path("audit"), answer=_Audit, params=params)).entries
