"""Each rule finds what is wrong in a history written by hand, and finds nothing in its neighbour that is right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.sim import delivery_stories, loss_stories, ordering_stories, stories
from tests.sim.checker import RULES, check, explain
from tests.sim.story import Story

Write = Callable[[Story], None]

# Rule → histories that break it, and histories that keep every rule.
CASES: dict[str, tuple[list[Write], list[Write]]] = {
    "acknowledged_record_lost": (
        [
            stories.lost,
            stories.lost_with_its_commit,
            loss_stories.lost_long_before_the_promotion,
            loss_stories.lost_although_replicas_confirmed,
        ],
        [stories.not_acknowledged, loss_stories.lost_and_reported],
    ),
    "record_doubled": ([stories.doubled], [stories.doubled_by_a_plain_producer]),
    "record_from_nowhere": ([stories.from_nowhere, stories.in_another_partition], [stories.two_writers]),
    "out_of_order": ([stories.out_of_order], [stories.two_writers]),
    "read_changed": ([stories.changed, stories.answered_elsewhere], [stories.answered_where_it_is]),
    "offset_went_back": (
        [stories.stable_offset_back, loss_stories.end_went_back],
        [stories.concurrent_reads, loss_stories.transaction_open_again],
    ),
    "reader_passed_over": ([stories.passed_over], [stories.answered_where_it_is]),
    "log_changed_later": ([stories.changed_later], [stories.unchanged]),
    "transaction_torn": (
        [stories.torn, loss_stories.torn_on_one_server],
        [stories.whole_after_an_unknown_commit, loss_stories.torn_on_several_servers],
    ),
    "aborted_record_visible": (
        [stories.aborted_and_read, stories.abandoned_and_read],
        [stories.aborted_and_read_uncommitted],
    ),
    "open_record_visible": ([stories.read_before_the_commit], [stories.read_while_it_commits]),
    "sidecar_held_up_a_reader": (
        [stories.a_reader_waits_in_the_sidecar_buffer],
        [stories.a_reader_waits_in_the_marker_buffer],
    ),
    "sidecar_transaction_in_pieces": (
        [stories.mixed_in_the_sidecar_buffer],
        [stories.whole_in_the_order_of_the_commits],
    ),
    "commit_contradicted": ([stories.committed_and_aborted], [stories.whole_after_an_unknown_commit]),
    "fenced_producer_wrote": ([stories.fenced_and_visible], [stories.fenced_and_refused]),
    "processed_not_once": ([stories.processed_twice, stories.not_processed], [stories.processed_once]),
    "redelivered_after_ack": (
        [delivery_stories.redelivered, delivery_stories.redelivered_after_a_committed_ack],
        [delivery_stories.redelivered_after_an_unknown_ack, loss_stories.redelivered_after_a_promotion],
    ),
    "delivered_twice_at_once": (
        [delivery_stories.delivered_twice_at_once],
        [delivery_stories.delivered_again_in_order],
    ),
    "never_delivered": ([delivery_stories.not_delivered], [delivery_stories.delivered_again_in_order]),
    "exclusive_out_of_order": ([delivery_stories.delivered_ahead], [delivery_stories.delivered_again_in_order]),
    "group_offset_lost": ([delivery_stories.group_went_back], [delivery_stories.group_went_back_by_a_late_commit]),
    "two_active_consumers": (
        [ordering_stories.two_are_active],
        [ordering_stories.taken_over_after_a_session, ordering_stories.taken_over_after_a_close],
    ),
    "takeover_skipped": (
        [ordering_stories.skipped_by_a_takeover, ordering_stories.skipped_by_a_prefetching_consumer],
        [
            ordering_stories.acknowledged_before_a_takeover,
            ordering_stories.returned_with_a_delay_before_a_takeover,
            ordering_stories.handed_out_after_a_takeover,
        ],
    ),
    "takeover_missing": ([ordering_stories.nothing_taken_over], [ordering_stories.nothing_taken_over_yet]),
    "key_out_of_order": (
        [
            ordering_stories.a_key_at_two_consumers,
            ordering_stories.a_key_behind_what_was_returned,
            ordering_stories.a_key_behind_a_lease_that_is_over,
            ordering_stories.a_key_backwards_in_one_answer,
            ordering_stories.a_key_behind_an_aborted_acknowledgement,
        ],
        [
            ordering_stories.a_key_in_order,
            ordering_stories.a_key_behind_a_lost_answer,
            ordering_stories.a_key_in_two_partitions,
        ],
    ),
    "dropped_without_ack": (
        [ordering_stories.passed_without_an_acknowledgement],
        [ordering_stories.passed_by_acknowledgements],
    ),
    "scheduled_early": ([stories.early], [stories.in_time, stories.early_by_a_clock_that_is_ahead]),
    "scheduled_lost": ([stories.scheduled_and_lost], [stories.scheduled_and_cancelled]),
    "cancellation_contradicted": (
        [stories.cancelled_and_there, stories.delivered_and_not_there],
        [stories.scheduled_and_cancelled],
    ),
    "loss_not_reported": (
        [loss_stories.lost_and_not_reported, loss_stories.lost_beside_what_was_reported],
        [loss_stories.lost_and_reported, loss_stories.lost_with_its_coordinator],
    ),
    "report_contradicted": ([loss_stories.reported_and_there], [loss_stories.lost_and_reported]),
    "lost_without_promotion": (
        [loss_stories.reported_without_a_promotion, loss_stories.reported_although_replicas_confirmed],
        [loss_stories.lost_and_reported],
    ),
    "stuck": ([stories.idle_after_the_faults], [stories.slow_on_a_starved_machine]),
    "left_over": ([stories.never_drained], [stories.drained]),
    "not_bounded": ([stories.keys_left], [stories.few_keys]),
    "index_differs": (
        [loss_stories.an_index_differs, loss_stories.a_marker_differs],
        [loss_stories.a_marker_differs_after_a_loss],
    ),
    "worker_broke": ([stories.a_client_ended], [stories.every_client_goes_on]),
}
BAD = [(name, write) for name, (bad, _) in CASES.items() for write in bad]
GOOD = sorted({write for _, good in CASES.values() for write in good}, key=lambda write: write.__name__)


def test_every_rule_has_a_history_that_breaks_it_and_one_that_keeps_it():
    assert [each.__name__ for each in RULES] == list(CASES)


@pytest.mark.parametrize(("name", "write"), BAD, ids=lambda each: getattr(each, "__name__", each))
def test_a_history_that_breaks_a_rule_breaks_no_other(name, write):
    story = Story()
    write(story)
    found = check(story.history())
    assert {finding.rule for finding in found} == {name}


@pytest.mark.parametrize("write", GOOD, ids=lambda each: each.__name__)
def test_a_history_that_is_right_breaks_no_rule(write):
    story = Story()
    write(story)
    assert check(story.history()) == []


def test_a_finding_is_explained_with_its_events_and_the_faults_before_them():
    story = Story()
    story.note("fault", fault="kill", target="redis", phase="begin")
    stories.lost(story)
    lines = explain(check(story.history()), story.history())
    assert lines[0] == "acknowledged_record_lost: a-1 in t-0 was acknowledged and is not in the log"
    assert "w invoke send #1" in lines[1]
    assert "w ok send #1" in lines[2]
    assert lines[3] == "    2.000 fault: kill redis begin"
