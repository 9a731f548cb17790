"""Every administrative REST operation has a verb on the command line."""

from __future__ import annotations

from typing import Any

import typer

from redis_ledger.app.cli import main
from redis_ledger.app.http.application import OPERATIONS

# operation → command
VERBS = {
    "create_topic": "topics create",
    "list_topics": "topics list",
    "describe_topic": "topics describe",
    "change_topic": "topics grow",
    "delete_topic": "topics delete",
    "find_offset": "topics offset-at",
    "describe_offloaded": "topics offloaded",
    "describe_partition_transactions": "topics transactions",
    "get_partition_transaction": "topics transaction",
    "create_subscription": "subscriptions create",
    "list_subscriptions": "subscriptions list",
    "describe_subscription": "subscriptions describe",
    "delete_subscription": "subscriptions delete",
    "seek": "subscriptions seek",
    "snapshot": "subscriptions snapshot",
    "extend": "subscriptions extend",
    "set_dead_letters": "subscriptions dead-letters",
    "set_redelivery": "subscriptions redelivery",
    "put_back": "subscriptions put-back",
    "note_offsets": "subscriptions note-offsets",
    "pending_acknowledgements": "subscriptions pending",
    "record_state": "subscriptions record",
    "analyze_backlog": "subscriptions analyze-backlog",
    "list_transactions": "txns list",
    "get_transaction": "txns show",
    "get_participants": "txns show",
    "why": "txns why",
    "list_coordinators": "coordinators list",
    "get_coordinator": "coordinators show",
    "coordinator_log": "txns log",
    "raise_coordinators": "coordinators raise",
    "get_lag": "subscriptions lag",
    "list_lags": "subscriptions lags",
    "commit": "txns commit",
    "abort": "txns abort",
    "schedule": "scheduled create",
    "list_scheduled": "scheduled list",
    "get_scheduled": "scheduled get",
    "cancel_scheduled": "scheduled cancel",
    "cancel_many": "scheduled cancel",
    "reschedule": "scheduled reschedule",
    "clear_scheduled": "scheduled clear",
    "delay_stats": "scheduled stats",
    "delay_histogram": "scheduled histogram",
    "rebuild_scheduled": "scheduled rebuild",
    "list_acls": "acls list",
    "add_acls": "acls add",
    "delete_acls": "acls remove",
    "list_tokens": "tokens list",
    "create_token": "tokens create",
    "revoke_token": "tokens revoke",
    "list_users": "users list",
    "set_user": "users add",
    "remove_user": "users remove",
    "list_quotas": "quotas list",
    "set_quota": "quotas set",
    "remove_quota": "quotas remove",
    "list_audit": "audit",
    "list_batched_writes": "batching list",
    "set_batched_write": "batching set",
    "livez": "health",
    "readyz": "health",
}
# What applications, jobs and probes call: no administration.
OTHERS = {
    "records and messages of an application": {
        "produce", "fetch", "create_producer", "receive", "ack", "ack_cumulative", "nack", "close_consumer",
        "reconsume_later", "dead_letter",
        "write_large_message", "read_large_message",
    },
    "a step of an application's transaction": {
        "begin", "add_partitions", "add_subscriptions", "commit_all", "once", "execute",
    },
    "a step of an offload job": {
        "plan_offload", "publish_segments", "abandon_plan", "swap_segments", "forget_segments",
    },
    "for browsers and scrapers": {"entry", "show_metrics"},
}  # fmt: skip


def test_every_administrative_operation_has_a_command():
    """OB-29: a new operation needs a command, or a reason why it is none of an administrator."""
    listed = [*VERBS, *(name for names in OTHERS.values() for name in names)]
    assert sorted(listed) == sorted(operation.id for operation in OPERATIONS)


def test_every_listed_command_exists():
    """OB-29"""

    def find(words: list[str]) -> object:
        found: Any = typer.main.get_command(main.app)
        for word in words:
            found = found.get_command(None, word) if hasattr(found, "get_command") else None
        return found

    assert [verb for verb in VERBS.values() if find(verb.split()) is None] == []
