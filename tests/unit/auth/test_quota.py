"""Token buckets of quotas, and the row that applies."""

from __future__ import annotations

import pytest

from redis_ledger.auth.quota import OTHERS, Bucket, Quota, Use, quota_of


def test_a_bucket_holds_a_seconds_worth_and_lets_the_last_request_through_whole():
    bucket = Bucket(100, 0.0)
    bucket.take(100, 0.0)
    assert bucket.wait_s(0.0) == 0.0  # empty, not below
    bucket.take(250, 0.0)
    assert bucket.wait_s(0.0) == pytest.approx(2.5)
    assert bucket.wait_s(2.0) == pytest.approx(0.5)
    assert bucket.wait_s(2.5) == pytest.approx(0.0)


def test_over_time_the_rate_is_kept_whatever_the_sizes():
    for size in (1, 70, 1_000):
        bucket, now, taken = Bucket(100, 0.0), 0.0, 0
        while now < 100.0:
            bucket.take(size, now)
            taken += size
            now += bucket.wait_s(now) + 0.001
        assert taken == pytest.approx(100 * 100, abs=100 + 2 * size)


def test_unused_quota_does_not_accumulate():
    bucket = Bucket(10, 0.0)
    assert bucket.wait_s(1_000.0) == 0.0
    bucket.take(30, 1_000.0)
    assert bucket.wait_s(1_000.0) == pytest.approx(2.0)


def test_no_rate_is_no_limit():
    bucket = Bucket(0, 0.0)
    bucket.take(10**12, 0.0)
    assert bucket.wait_s(0.0) == 0.0


def test_the_longest_wait_of_the_three_counts():
    use = Use(Quota(bytes_in_per_s=100, bytes_out_per_s=10, requests_per_s=1), 0.0)
    use.take(0.0, requests=1, bytes_in=150, bytes_out=40)
    assert use.wait_s(0.0) == pytest.approx(3.0)
    use.take(0.0, requests=5)
    assert use.wait_s(0.0) == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("principal", "expected"),
    [
        ("User:ada", Quota(7, 2, 30, 0)),  # her own; for the rest all others'; for the rest the setting
        ("User:bob", Quota(1, 2, 30, 0)),
        ("User:eve", Quota(0, 2, 30, 0)),  # 0 of her own lifts the limit
    ],
)
def test_own_rows_win_over_those_of_all_others_and_these_over_settings(principal, expected):
    table = {
        "User:ada": Quota(bytes_in_per_s=7),
        "User:eve": Quota(bytes_in_per_s=0),
        OTHERS: Quota(bytes_in_per_s=1, bytes_out_per_s=2),
    }
    assert quota_of(principal, table, Quota(10, 20, 30, 0)) == expected
