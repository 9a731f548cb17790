"""Examples of the bodies of ACLs, tokens, users and the audit log."""

from __future__ import annotations

from typing import Final

from redis_ledger.app.http.schemas.examples import Examples

_ACL: Final = {
    "principal": "User:ada", "operation": "WRITE", "resource": "TOPIC", "name": "orders-", "pattern": "PREFIXED",
    "permission": "ALLOW", "host": "*",
}  # fmt: skip
_TOKEN: Final = {
    "id": "4f2a91c07be3", "principal": "User:ada", "created_ms": 1_763_720_931_000, "expires_ms": 0, "note": "laptop",
}  # fmt: skip

LIST_ACLS: Examples = {"200": {"acls": [_ACL]}, "query": {"principal": "User:ada", "resource": "TOPIC"}}
ADD_ACLS: Examples = {
    "request": {"acls": [{"principal": "User:ada", "operation": "WRITE", "resource": "TOPIC", "name": "orders-",
                          "pattern": "PREFIXED"}]},
    "200": {"added": 1},
}  # fmt: skip
DELETE_ACLS: Examples = {"request": {"filters": [{"principal": "User:ada"}]}, "200": {"deleted": [_ACL]}}
LIST_TOKENS: Examples = {"200": {"tokens": [_TOKEN]}, "query": {"principal": "User:ada"}}
CREATE_TOKEN: Examples = {
    "request": {"principal": "User:ada", "note": "laptop"},
    "201": {**_TOKEN, "token": "rl_4f2a91c07be3_" + 16 * "5e1c"},
}
LIST_USERS: Examples = {"200": {"users": [{"user": "ada", "mechanisms": ["SCRAM-SHA-256", "SCRAM-SHA-512"]}]}}
SET_USER: Examples = {"request": {"password": "correct horse battery staple"}, "200": {"user": "ada", "new": True}}
AUDIT: Examples = {
    "200": {
        "entries": [
            {
                "id": "1763720931000-0", "time_ms": 1_763_720_931_000, "principal": "User:admin", "host": "10.0.0.7",
                "act": "topic.delete", "target": "orders", "outcome": "done", "facts": {},
            }
        ]
    },
    "query": {"limit": "50"},
}  # fmt: skip
