"""A broker without authentication and a visitor of its console; and a world with authentication."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.support.console_browser import ConsoleBrowser
from tests.support.rest import client_of, open_broker
from tests.support.secured_rest import World, secured


@pytest.fixture
async def broker(redis_url, prefix) -> AsyncIterator[Any]:
    async with open_broker(redis_url, prefix, coordinators=2) as opened:
        yield opened


@pytest.fixture
async def browser(broker) -> AsyncIterator[ConsoleBrowser]:
    async with client_of(broker) as http:
        yield ConsoleBrowser(http)


@pytest.fixture
async def world(redis_url, prefix) -> AsyncIterator[World]:
    async with secured(redis_url, prefix) as made:
        yield made
