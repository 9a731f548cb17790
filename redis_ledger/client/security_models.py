"""Rules and API tokens, as the client takes and returns them."""

from __future__ import annotations

from typing import Literal

import msgspec

TOKEN_VARIABLE, TOKEN_FILE_VARIABLE = "REDIS_LEDGER_TOKEN", "REDIS_LEDGER_TOKEN_FILE"
Operation = Literal[
    "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS", "IDEMPOTENT_WRITE",
]  # fmt: skip
Resource = Literal["TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID"]


class Acl(msgspec.Struct, frozen=True):
    """A rule, in Kafka's words.  A subscription is a GROUP of its name.

    Acl("User:ada", "WRITE", "TOPIC", "orders-", pattern="PREFIXED")
    """

    principal: str
    operation: Operation
    resource: Resource
    name: str = "kafka-cluster"
    pattern: Literal["LITERAL", "PREFIXED"] = "LITERAL"
    permission: Literal["ALLOW", "DENY"] = "ALLOW"
    host: str = "*"


class ApiToken(msgspec.Struct, frozen=True):
    """What is known of a token; not its secret.  expires_ms 0: never."""

    id: str
    principal: str
    created_ms: int
    expires_ms: int
    note: str


class NewToken(ApiToken, frozen=True):
    """token: the text, which is not stored."""

    token: str = ""

    def __repr__(self) -> str:
        return f"NewToken({self.id!r}, {self.principal!r})"


class AuditEntry(msgspec.Struct, frozen=True):
    """An administrative act: who did what to what, from where, and how it ended."""

    id: str
    time_ms: int
    principal: str
    host: str
    act: str
    target: str
    outcome: str
    facts: dict[str, object]
