"""Fixtures of the acceptance tests; tests/support/scheduled.py says what they can be asked."""

from __future__ import annotations

import pytest

from tests.support.scheduled import scheduling


@pytest.fixture
async def topic(redis_url, prefix):
    async with scheduling(redis_url, prefix) as topic:
        yield topic
