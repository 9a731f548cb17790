"""Bodies of ACLs, tokens, users and the audit log."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from redis_ledger.app.http.schemas.core import NUMBER_MAX, Reply, Request, TimeMs

Operation = Literal[
    "ALL", "READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "CLUSTER_ACTION", "DESCRIBE_CONFIGS",
    "ALTER_CONFIGS", "IDEMPOTENT_WRITE",
]  # fmt: skip
ResourceKind = Literal["TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID"]
Permission = Literal["ALLOW", "DENY"]
Name = Annotated[str, Meta(min_length=1, max_length=255)]
Principal = Annotated[
    str,
    Meta(min_length=6, max_length=255, description="For example User:ada.", extra_json_schema={"pattern": "^User:."}),
]
RulePrincipal = Annotated[
    str,
    Meta(
        max_length=255, description="User:ada, or User:* for all principals.", extra_json_schema={"pattern": "^User:"}
    ),
]
Host = Annotated[str, Meta(min_length=1, max_length=255, description="The client address, or *.")]
Note = Annotated[str, Meta(max_length=200, description="The purpose of the token.")]


class Acl(Request):
    """An ACL. A subscription is a GROUP of its name; the CLUSTER is named kafka-cluster."""

    principal: RulePrincipal
    operation: Operation
    resource: ResourceKind
    name: Annotated[
        str, Meta(max_length=255, description="The resource name; * with the pattern LITERAL: any name.")
    ] = "kafka-cluster"
    pattern: Literal["LITERAL", "PREFIXED"] = "LITERAL"
    permission: Permission = "ALLOW"
    host: Host = "*"


class AclFilter(Request):
    """A filter for ACLs; omitted members match anything. The pattern MATCH: all ACLs that cover the name."""

    principal: RulePrincipal | UnsetType = UNSET
    operation: Operation | UnsetType = UNSET
    resource: ResourceKind | UnsetType = UNSET
    name: Name | UnsetType = UNSET
    pattern: Literal["LITERAL", "PREFIXED", "MATCH"] | UnsetType = UNSET
    permission: Permission | UnsetType = UNSET
    host: Host | UnsetType = UNSET


class Acls(Reply):
    acls: list[Acl]


class AddAcls(Request):
    acls: Annotated[list[Acl], Meta(min_length=1, max_length=1_000)]


class AclsAdded(Reply):
    added: Annotated[int, Meta(description="The ACLs that did not exist before.")]


class DeleteAcls(Request):
    filters: Annotated[list[AclFilter], Meta(min_length=1, max_length=1_000)]


class AclsDeleted(Reply):
    deleted: list[Acl]


class Token(Reply):
    """An API token; its text is returned only when it is created."""

    id: Annotated[str, Meta(description="The part of the token between rl_ and the secret.")]
    principal: str
    created_ms: int
    expires_ms: Annotated[int, Meta(description="0: never.")]
    note: str


class Tokens(Reply):
    tokens: list[Token]


class TokensQuery(Request):
    principal: Annotated[str, Meta(max_length=255, description="Only tokens of this principal.")] | UnsetType = UNSET


class CreateToken(Request):
    principal: Principal
    expires_ms: TimeMs | None = None
    note: Note = ""
    super: Annotated[bool, Meta(description="Add ACLs that allow the principal everything.")] = False


class TokenCreated(Token):
    token: Annotated[str, Meta(description="Only its SHA-256 is stored.")]


class User(Reply):
    user: str
    mechanisms: list[str]


class Users(Reply):
    users: list[User]


class SetUser(Request):
    password: Annotated[str, Meta(min_length=1, max_length=1_000)]


class UserSet(Reply):
    user: str
    new: bool


class AuditQuery(Request):
    limit: Annotated[int, Meta(ge=1, le=1_000, description="Maximum number of entries.")] = 100
    before: Annotated[str, Meta(max_length=50, description="Only entries older than this one.")] | UnsetType = UNSET


class AuditEntry(Reply):
    id: str
    time_ms: Annotated[int, Meta(ge=0, le=NUMBER_MAX)]
    principal: str
    host: str
    act: Annotated[str, Meta(description="topic.delete, acl.add, token.create and so on.")]
    target: str
    outcome: Annotated[str, Meta(description="done, refused or failed")]
    facts: dict[str, Any]


class AuditEntries(Reply):
    entries: list[AuditEntry]
