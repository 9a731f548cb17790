"""Which of these tests are part of `make test`: of every feature at least one, all of them in a few minutes.

All other tests are marked `slow`; `scripts/check.py spark` runs them
too.  A file that marks its own says ALL.
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
    "test_guide.py": frozenset({"test_the_python_of_the_guide_prints_what_the_guide_says"}),
    "test_secured.py": frozenset({
        "test_a_running_stream_goes_on_with_the_token_that_its_file_holds_by_now",
    }),
    "test_stream.py": frozenset({
        "test_what_is_available_is_read_once_and_the_next_run_goes_on_from_there",
        "test_a_running_stream_sees_new_records_partitions_and_topics",
        "test_what_an_option_of_a_stream_lacks_is_told",
    }),
    "test_offload.py": frozenset({
        "test_what_is_read_is_the_same_before_and_after_and_redis_holds_less",
        "test_a_query_reads_files_below_and_brokers_above_without_a_gap",
    }),
    "test_offload_tasks.py": frozenset({"test_two_attempts_of_a_task_at_once_write_one_file_and_say_the_same"}),
    "test_compact.py": frozenset({"test_the_last_record_of_each_key_stays_where_it_was"}),
    "test_reconcile.py": frozenset({
        "test_a_topic_and_its_copy_are_the_same_and_aborted_records_are_no_loss",
        "test_records_that_are_missing_are_counted_and_shown",
    }),
    "test_replay.py": frozenset({"test_a_range_is_replayed_with_all_that_records_have_in_their_order_and_once"}),
    "test_transform.py": frozenset({"test_a_query_over_two_topics_is_written_once"}),
}  # fmt: skip


def is_quick(file: str, test: str) -> bool:
    return file in QUICK and (QUICK[file] is ALL or test in QUICK[file])
