"""Fixtures of the acceptance tests; see tests/support/scheduled.py."""

from __future__ import annotations

import pytest

from tests.support.scheduled import scheduling


@pytest.fixture
async def topic(redis_url, prefix):
    async with scheduling(redis_url, prefix) as topic:
        yield topic
