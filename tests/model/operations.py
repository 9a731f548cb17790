"""The table of operations, all in one, and what is not in it yet, with reasons.

IN_REST, IN_KAFKA     the product's operations that a row sends: operation id, or API
NOT_YET               the others that change data; tests/tidy/test_model.py compares all three with the product
"""

from __future__ import annotations

from tests.model import rows_consumers, rows_topics, rows_transactions
from tests.model.rows import ROWS, Producer, Row, Session

__all__ = ["IN_KAFKA", "IN_REST", "NOT_YET", "ROWS", "Producer", "Row", "Session", "rows_consumers", "rows_topics",
           "rows_transactions"]  # fmt: skip

IN_REST = {
    "create_topic", "change_topic", "delete_topic", "produce", "schedule", "cancel_scheduled", "reschedule",
    "clear_scheduled", "rebuild_scheduled", "create_subscription", "receive", "ack", "nack", "seek", "begin", "commit",
    "abort", "execute",
}  # fmt: skip
IN_KAFKA = {
    "Produce", "DeleteTopics", "DeleteRecords", "CreatePartitions", "InitProducerId", "AddPartitionsToTxn", "EndTxn",
    "AddOffsetsToTxn", "TxnOffsetCommit", "OffsetCommit", "DeleteGroups",
}  # fmt: skip

_OFFLOAD = "needs a folder for Parquet files, and a reader of offloaded ranges in the model"
_SECURITY = "the model has no principals, and its brokers no authentication"
_MEMBERS = "the model knows groups without members"
_KINDS = "the model has subscriptions of the kind shared, without sessions"
_DEAD = "the model has no retry and dead-letter topics"
_LATER = "has the effect of a row through another door"
NOT_YET = {
    "write_large_message": "the model has no chunks",
    "cancel_many": _LATER, "delete_subscription": "to do", "note_offsets": _LATER,
    "plan_offload": _OFFLOAD, "publish_segments": _OFFLOAD, "abandon_plan": _OFFLOAD, "swap_segments": _OFFLOAD,
    "forget_segments": _OFFLOAD,
    "ack_cumulative": _KINDS, "extend": "leases do not expire in a history", "close_consumer": _KINDS,
    "set_redelivery": _DEAD, "reconsume_later": _DEAD, "dead_letter": _DEAD, "set_dead_letters": _DEAD,
    "put_back": _DEAD,
    "add_partitions": "adds a participant without records", "add_subscriptions": "adds a participant without records",
    "commit_all": "to do", "raise_coordinators": "to do", "set_batched_write": "to do",
    "create_producer": "to do, with produce by producer id and sequence",
    "add_acls": _SECURITY, "delete_acls": _SECURITY, "create_token": _SECURITY, "revoke_token": _SECURITY,
    "set_user": _SECURITY, "remove_user": _SECURITY, "set_quota": _SECURITY, "remove_quota": _SECURITY,
    "CreateTopics": _LATER, "AlterConfigs": _LATER, "IncrementalAlterConfigs": _LATER, "OffsetDelete": "to do",
    "WriteTxnMarkers": "to do", "JoinGroup": _MEMBERS, "SyncGroup": _MEMBERS, "Heartbeat": _MEMBERS,
    "LeaveGroup": _MEMBERS, "ConsumerGroupHeartbeat": _MEMBERS,
    "CreateAcls": _SECURITY, "DeleteAcls": _SECURITY, "AlterClientQuotas": _SECURITY,
    "AlterUserScramCredentials": _SECURITY,
}  # fmt: skip
