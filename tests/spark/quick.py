"""Selection of tests for `make test`: at least one for every feature, all of them within a few minutes.

All other tests are marked `slow`; `scripts/check.py spark` runs those as well.  A file that marks its own has ALL.
"""

from __future__ import annotations

from collections.abc import Mapping

ALL: frozenset[str] = frozenset()

QUICK: Mapping[str, frozenset[str]] = {
    "test_batch.py": ALL,
    "test_fields.py": ALL,
    "test_matrix.py": ALL,
    "test_arrow_accumulator.py": ALL,
    "test_sink.py": ALL,
    "test_guide.py": frozenset({"test_the_python_of_the_guide_prints_the_output_on_the_page"}),
    "test_secured.py": frozenset({
        "test_a_running_stream_uses_a_renewed_token_file",
    }),
    "test_stream.py": frozenset({
        "test_available_now_reads_once_and_the_next_run_continues",
        "test_a_running_stream_reads_new_records_partitions_and_topics",
        "test_invalid_options_of_a_stream_are_refused",
    }),
    "test_offload.py": frozenset({
        "test_reads_are_unchanged_by_offloading_and_redis_holds_less",
        "test_a_query_reads_files_below_and_brokers_above_without_a_gap",
    }),
    "test_offload_tasks.py": frozenset({"test_two_concurrent_attempts_write_one_file_and_return_the_same"}),
    "test_compact.py": frozenset({
        "test_the_last_record_of_each_key_keeps_its_offset",
        "test_only_committed_records_are_compacted_despite_markers_and_open_transactions",
    }),
    "test_reconcile.py": frozenset({
        "test_a_topic_and_its_copy_are_the_same_and_aborted_records_are_no_loss",
        "test_missing_records_are_counted_and_shown",
    }),
    "test_replay.py": frozenset({"test_replay_copies_all_fields_in_order_and_once"}),
    "test_transform.py": frozenset({"test_a_query_over_two_topics_is_written_once"}),
}  # fmt: skip


def is_quick(file: str, test: str) -> bool:
    return file in QUICK and (QUICK[file] is ALL or test in QUICK[file])
