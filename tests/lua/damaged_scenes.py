"""Calls of scripts that are tried with damaged values: support/damaged_values.py.

Each test is a scene: while it runs, the calls of these scripts are tried with each stored value damaged in turn.  `make
test` does so with the scenes below, `make test-all` with every test of this folder that runs on a single server.
"""

from __future__ import annotations

# Test, and scripts; [evalsha] if it names no variant, [] if it has none.
_TABLE = """
test_broker_heartbeat.py::test_a_broker_whose_address_is_a_part_of_another_s_replaces_none broker/heartbeat
test_broker_replace_user.py::test_user_row_changes_only_if_it_is_as_the_caller_read_it broker/replace_user
test_broker_update_rows.py::test_a_repeated_call_changes_nothing broker/update_rows
test_broker_witness.py::test_a_life_begins_at_the_count_that_it_found broker/witness
test_cursor_ack.py::test_acks_in_order_move_the_mark_and_set_no_bit cursor/ack cursor/create cursor/receive
test_cursor_ack.py::test_nacked_messages_are_redelivered_to_any_consumer cursor/nack
test_cursor_exclusive.py::test_a_consumer_without_the_newest_epoch_gets_nothing cursor/ack_cumulative cursor/claim
test_cursor_extend.py::test_an_extension_renews_the_session_of_a_consumer_without_owner cursor/extend
test_cursor_failover.py::test_an_exclusive_subscription_is_free_as_soon_as_its_consumer_closes cursor/leave
test_cursor_group_offsets.py::test_a_register_has_two_keys cursor/offset_commit
test_cursor_offsets.py::test_a_fetch_fences_the_previous_owner_even_without_a_commit cursor/offset_fetch
test_cursor_offsets.py::test_a_register_with_a_commit_pending_is_not_idle cursor/offset_delete
test_cursor_pages.py::test_no_value_grows_with_what_a_transaction_holds cursor/pending_ack
test_cursor_pending_ack_many.py::test_each_transaction_holds_its_offsets cursor/pending_ack_many
test_cursor_receive.py::test_every_call_is_refused_without_its_topic_or_subscription cursor/delete
test_cursor_restore.py::test_leases_and_transactions_lose_what_they_hold[evalsha-shared] cursor/restore
test_cursor_unacked.py::test_a_seek_leaves_nothing_unacknowledged cursor/seek
test_delay_buckets.py::test_a_loaded_segment_leaves_entries_that_were_moved_where_they_are delay/restore delay/seal
test_delay_buckets.py::test_buckets_of_which_nothing_is_pending_are_replaced_by_nothing delay/replace delay/rotate
test_delay_buckets.py::test_swept_snapshot_is_not_continued delay/write
test_delay_changes.py::test_a_cancelled_entry_goes_with_its_payload_and_never_fires delay/cancel
test_delay_changes.py::test_clearing_cancels_everything_wherever_it_is delay/clear delay/drop_snapshot delay/load
test_delay_changes.py::test_records_scheduled_in_an_aborted_transaction_are_deleted_with_their_payload delay/settle
test_delay_fire.py::test_moved_records_of_one_entry_fire_beside_others_in_due_order delay/fire delay/move
test_delay_recurring.py::test_a_repeating_entry_waits_again_under_its_number_with_the_same_payload delay/rearm
test_delay_schedule.py::test_batches_of_one_call_see_each_other_and_entries_follow_each_other ledger/schedule
test_group.py::test_a_group_that_is_given_up_keeps_its_generation group/release
test_group.py::test_a_repeated_claim_finds_itself_the_owner group/advance group/claim
test_group.py::test_members_are_stored_by_their_owner_alone_and_only_those_that_changed group/store
test_group.py::test_only_its_owner_deletes_a_group group/delete
test_ledger_append.py::test_batches_of_one_call_see_each_other ledger/append ledger/create
test_ledger_cut.py::test_entries_that_were_refused_stay_counted ledger/cut
test_ledger_maintenance.py::test_a_catalog_entry_changes_only_from_what_the_caller_saw ledger/catalog
test_ledger_maintenance.py::test_a_partition_is_closed_first_and_removed_then ledger/delete
test_ledger_maintenance.py::test_a_sealed_ledger_that_never_held_anything_may_go_at_once ledger/drop ledger/roll
test_ledger_maintenance.py::test_aborted_transactions_go_with_their_marker ledger/trim
test_ledger_maintenance.py::test_only_silent_producers_without_an_open_transaction_are_forgotten ledger/forget_producers
test_ledger_reclaim.py::test_ledgers_are_passed_one_after_the_other_and_missing_ones_are_skipped ledger/reclaim
test_ledger_snapshot.py::test_segments_are_added_and_deleted_with_the_index ledger/snapshot
test_offload.py::test_after_an_abandoned_plan_another_is_stored offload/abandon offload/plan
test_offload.py::test_forgotten_segments_leave_and_forgetting_again_changes_nothing offload/forget offload/publish
test_offload.py::test_segments_are_swapped offload/swap
test_receive_key_shared.py::test_markers_aborted_records_and_gaps_are_passed cursor/receive_key_shared
test_sidecar.py::test_a_gap_behind_a_batch_without_offset_is_a_gap_unless_batches_may_be_lost ledger/takeover
test_sidecar.py::test_leftovers_below_a_watermark_are_aborted txn/end
test_sidecar.py::test_the_batches_of_an_aborted_transaction_go_with_their_payload ledger/release_sidecar
test_sidecar.py::test_the_first_batch_makes_the_delay_ledger_and_is_sent_again ledger/append_sidecar
test_slot_queues.py::test_a_trim_far_ahead_removes_all_places cursor/stats
test_takeover.py::test_a_coordinator_continues_above_the_remembered_numbers txn/takeover
test_txn_apply_and_end.py::test_a_repeated_call_or_operation_gets_the_same_answer_and_writes_nothing[] txn/apply_and_end
test_txn_end_damaged.py::test_what_ended_transactions_have_left_there_stays_pending_and_the_call_goes_on txn/end
test_txn_forget.py::test_one_call_forgets_so_many_and_the_oldest_first txn/forget
test_txn_forget.py::test_tombstones_go_by_time_though_an_older_transaction_is_open txn/forget_tombstones
test_txn_log.py::test_a_transaction_that_ends_in_the_call_leaves_the_records_of_others txn/apply txn/open
"""


def _scene(line: str) -> tuple[str, tuple[str, ...]]:
    test, *scripts = line.split()
    return test.removesuffix("[]") if "[" in test else f"{test}[evalsha]", tuple(scripts)


SCENES = dict(_scene(line) for line in _TABLE.split("\n") if line)

NO_SCENE = {
    "broker/release_key": "reads one string, and parses nothing",
    "broker/store_answer": "reads two strings, and parses neither",
    "broker/write_allow_oom": "one command",
    "cursor/key_shares": "writes nothing",
    "delay/set_repeat": "its only write is its last command",
    "fsck/read": "writes nothing",
    "fsck/write": "compares what it changes with what the caller has read, and reads nothing of it",
    "ledger/alter": "its only writes are those of ledger/catalog",
    "offload/read": "writes nothing",
}

# What a test counts, or how long it takes, would be another thing if its calls were carried out more often.
UNSUITED = (
    "test_a_mark_leaps_over_a_billion_acknowledged_offsets_in_a_few_calls",
    "test_readers_are_woken_once_for_all_of_a_call",
    "test_an_append_and_its_wake_up_are_one_step",
    "test_two_brokers_append_at_once_without_a_refusal",
    "test_a_partition_with_thousands_of_keys_can_be_deleted",
    "test_thousands_of_subscriptions_are_listed_and_accepted",
    "test_acknowledgements_stay_pending_until_the_queue_is_put_right",  # it compares dumps itself
    "test_no_marker_of_another_transaction_of_the_call_is_written",
)
