"""Every request that changes data has a reason why a late one is harmless: docs/decisions/0056."""

from __future__ import annotations

import re
from pathlib import Path

from redis_ledger.kafka.router import routes

RECORD = Path(__file__).parents[3] / "docs" / "decisions" / "0056-late-requests.md"
# Not declared as reads, since they are short: they change nothing that outlives the connection.
CHANGE_NOTHING = {
    "ApiVersions", "ConsumerGroupDescribe", "DescribeGroups", "FindCoordinator", "ListGroups", "OffsetFetch",
    "SaslAuthenticate", "SaslHandshake",
}  # fmt: skip
CREATES = {"Metadata"}  # it may create a topic; creating it again changes nothing


def test_every_request_that_changes_data_says_why_a_late_one_is_harmless():
    table = RECORD.read_text().partition("| request |")[2].partition("| REST |")[0]
    listed = [name for row in re.findall(r"^\| ([A-Za-z, ]+) \| \S", table, re.MULTILINE) for name in row.split(", ")]
    changing = {route.name for route in routes().values() if not route.is_read} - CHANGE_NOTHING - CREATES
    assert sorted(listed) == sorted(changing)
