"""One broker for the tests of a file: starting one takes two seconds.  Tests use topics of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.attack.harness import Siege, besieged


@pytest.fixture(scope="module")
def siege() -> Iterator[Siege]:
    with besieged() as opened:
        yield opened


@pytest.fixture(autouse=True)
def since_now(request: pytest.FixtureRequest) -> None:
    """What earlier tests made the bystanders see is not this one's."""
    if "siege" in request.fixturenames:
        request.getfixturevalue("siege").forget()
