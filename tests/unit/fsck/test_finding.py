"""Differences that two looks find."""

from __future__ import annotations

from redis_ledger.fsck.finding import Finding, persistent


def test_a_difference_counts_if_both_looks_find_it():
    first = [Finding("lease", "t:0", "leases", "1", "has 3"), Finding("lease", "t:0", "leases", "2", "has 3")]
    second = [
        Finding("lease", "t:0", "leases", "2", "has 4"),
        Finding("lease", "t:0", "leases", "3", "has 4"),
        Finding("lease", "t:1", "leases", "2", "has 4"),
        Finding("lease", "t:0", "others", "2", "has 4"),
        Finding("lease_index", "t:0", "leases", "2", "has 4"),
    ]
    assert persistent(first, second) == second[:1]
    assert persistent([], second) == []
