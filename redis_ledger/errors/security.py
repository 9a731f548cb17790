"""Who is asked to say who they are, who may not do what they asked, and who asks too much."""

from __future__ import annotations

from redis_ledger.errors.base import Conflict, LedgerError, Unavailable


class Unauthenticated(LedgerError):
    """The caller has not proven who it is. Send a valid API token or JWT as "Authorization: Bearer ..."."""

    code, http_status, kafka_code = "unauthenticated", 401, 58


class Forbidden(LedgerError):
    """The caller is known and may not do this. Ask an administrator for a rule that allows it."""

    code, http_status, kafka_code = "forbidden", 403, 31


class TopicForbidden(Forbidden):
    """The caller may not do this with the topic. Ask an administrator for a rule that allows it."""

    code, kafka_code = "topic_forbidden", 29


class GroupForbidden(Forbidden):
    """The caller may not do this with the group or subscription. Ask an administrator for a rule that allows it."""

    code, kafka_code = "group_forbidden", 30


class ClusterForbidden(Forbidden):
    """The caller may not do this with the cluster. Ask an administrator for a rule that allows it."""

    code, kafka_code = "cluster_forbidden", 31


class TransactionForbidden(Forbidden):
    """The caller may not do this with the transaction. Be its owner, or ask for a rule that allows it."""

    code, kafka_code = "transaction_forbidden", 53


class SecurityDisabled(Conflict):
    """Brokers do not ask who is calling. Turn auth_required on, or use the command line on the broker's machine."""

    code, kafka_code = "security_disabled", 54


class QuotaExceeded(Unavailable):
    """The caller has used up its quota for now. Send the request again after the time given in Retry-After."""

    code, http_status, kafka_code = "quota_exceeded", 429, 89


class TransactionQuotaExceeded(QuotaExceeded):
    """The caller has as many open transactions at this broker as it may. Try again when some have ended."""

    code, kafka_code = "transaction_quota_exceeded", 51
