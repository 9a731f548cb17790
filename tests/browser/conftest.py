"""A real browser and brokers on real sockets.

Runs by `scripts/check.py console`, which adds what drives a browser; elsewhere nothing here is collected.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from tests.browser.chrome import chrome
from tests.browser.looking import Looker
from tests.browser.shop import Shop, fill, people
from tests.support.threaded_broker import ThreadedBroker, threaded_broker

PATIENCE_MS = 20_000  # on a machine that is busy with other things

if find_spec("playwright") is None:
    collect_ignore_glob = ["test_*"]
else:
    from playwright.sync_api import expect

    expect.set_options(timeout=PATIENCE_MS)

SECURED: dict[str, Any] = {"auth_required": True, "super_users": "User:root"}


class Site:
    """A broker with its console.  tokens: by name, if it asks who calls."""

    def __init__(self, brokers: ThreadedBroker, shop: Shop | None = None, tokens: dict[str, str] | None = None) -> None:
        self.served, self.shop, self.tokens = brokers, shop, tokens or {}
        self.broker = brokers.brokers[0]
        self.do = brokers.do
        self.url = f"{brokers.urls[0]}/console"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    with chrome() as opened:
        yield opened


@pytest.fixture(scope="session")
def open_shop(redis_url: str) -> Iterator[Site]:
    """A broker without authentication.  Tests only read from it, so they share one."""
    with threaded_broker(redis_url, f"t{secrets.token_hex(6)}", kafka=True) as brokers:
        yield Site(brokers, brokers.do(fill(brokers.brokers[0])))


@pytest.fixture(scope="session")
def asking_shop(redis_url: str) -> Iterator[Site]:
    """Asks who calls; only looked at."""
    with threaded_broker(redis_url, f"t{secrets.token_hex(6)}", **SECURED) as brokers:
        broker = brokers.brokers[0]
        yield Site(brokers, brokers.do(fill(broker)), brokers.do(people(broker)))


@pytest.fixture
def shop(redis_url: str, prefix: str) -> Iterator[Site]:
    """One to change."""
    with threaded_broker(redis_url, prefix, kafka=True) as brokers:
        yield Site(brokers, brokers.do(fill(brokers.brokers[0])))


@pytest.fixture
def secured_shop(redis_url: str, prefix: str) -> Iterator[Site]:
    with threaded_broker(redis_url, prefix, **SECURED) as brokers:
        broker = brokers.brokers[0]
        yield Site(brokers, brokers.do(fill(broker)), brokers.do(people(broker)))


@pytest.fixture
def empty_shop(redis_url: str, prefix: str) -> Iterator[Site]:
    with threaded_broker(redis_url, prefix) as brokers:
        yield Site(brokers)


@pytest.fixture
def look(browser: Any) -> Iterator[Callable[..., Looker]]:
    """look(site, width=1280, scheme="light", token=""): a window of its own, with what was wrong in it noted."""
    opened: list[Looker] = []

    def open_window(site: Site, *, token: str = "", **options: Any) -> Looker:
        looker = Looker(browser, site.url, **options)
        opened.append(looker)
        if token:
            looker.log_in(token)
        return looker

    yield open_window
    for looker in opened:
        looker.close()
