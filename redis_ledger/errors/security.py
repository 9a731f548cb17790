"""Who is asked to say who they are, who may not do what they asked, and who asks too much."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict, LedgerError, Unavailable


class Unauthenticated(LedgerError):
    """The caller is not authenticated. Send a valid API token or JWT as "Authorization: Bearer ..."."""

    code, http_status, kafka_code = "unauthenticated", 401, 58


class Forbidden(LedgerError):
    """The caller is not authorized. Ask an administrator for an ACL that allows it."""

    code, http_status, kafka_code = "forbidden", 403, 31


class TopicForbidden(Forbidden):
    """The caller is not authorized to access the topic. Ask an administrator for an ACL that allows it."""

    code, kafka_code = "topic_forbidden", 29


class GroupForbidden(Forbidden):
    """The caller is not authorized to access the group or subscription. Ask an administrator for an ACL."""

    code, kafka_code = "group_forbidden", 30


class ClusterForbidden(Forbidden):
    """The caller is not authorized to access the cluster. Ask an administrator for an ACL that allows it."""

    code, kafka_code = "cluster_forbidden", 31


class TransactionForbidden(Forbidden):
    """The caller is not authorized to access the transaction. Use its owner's credentials or ask for an ACL."""

    code, kafka_code = "transaction_forbidden", 53


class SecurityDisabled(Conflict):
    """Authentication is disabled. Set auth_required, or use the command line on the broker's machine."""

    code, kafka_code = "security_disabled", 54


class QuotaExceeded(Unavailable):
    """The caller has exceeded its quota. Send the request again after the time in Retry-After."""

    code, http_status, kafka_code = "quota_exceeded", 429, 89


class TransactionQuotaExceeded(QuotaExceeded):
    """The caller has reached its maximum number of open transactions on this broker. End one, then try again."""

    code, kafka_code = "transaction_quota_exceeded", 51
