"""What pages and actions of one group or subscription require, and name in the audit log."""

from __future__ import annotations

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.auth.requirement import named

ONE = ("topic", "name")
READS = (named(Op.READ, Resource.TOPIC, "topic"), named(Op.READ, Resource.GROUP, "name"))
DESCRIBES = (named(Op.DESCRIBE, Resource.TOPIC, "topic"), named(Op.DESCRIBE, Resource.GROUP, "name"))
