"""redis_ledger/auth/tokens: the format of a token, and lookalikes that are rejected."""

from __future__ import annotations

import pytest

from redis_ledger.auth import tokens


def stored(shown, **more):
    return tokens.Stored("User:ada", tokens.digest(shown.secret), 1_000, **more)


def test_a_token_that_was_made_fits_what_is_kept_of_it():
    text, shown = tokens.make()
    assert tokens.read(text) == shown
    assert tokens.fits(shown, stored(shown))
    assert shown.secret.hex() not in repr(stored(shown))


def test_no_two_are_alike():
    assert len({tokens.make()[0] for _ in range(100)}) == 100


def test_another_secret_under_the_same_id_does_not_fit():
    _, one = tokens.make()
    _, other = tokens.make()
    assert not tokens.fits(tokens.Shown(one.id, other.secret), stored(one))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: text + "0",
        lambda text: text + "\n",
        lambda text: text.upper(),
        lambda text: text.replace("rl_", "sk_"),
        lambda text: " " + text,
        lambda text: "",
        lambda text: "x" * 10_000,
    ],
)
def test_malformed_tokens_are_rejected(change):
    assert tokens.read(change(tokens.make()[0])) is None


@pytest.mark.parametrize(("expires_ms", "now_ms", "is_over"), [(0, 10**15, False), (5, 4, False), (5, 5, True)])
def test_a_token_ends_at_its_time(expires_ms, now_ms, is_over):
    _, shown = tokens.make()
    assert stored(shown, expires_ms=expires_ms).is_over(now_ms) is is_over
