"""The profiles of Hypothesis, and how many examples a property test draws.

`fixed` draws the same examples in every run, so that no change fails for a history that it has nothing to do with.
`--hypothesis-profile=random` draws new ones, three times as many.  A failure then prints the example that is left after
shrinking, and a decorator that repeats it.  A machine that is busy is not a failure: there are no deadlines, and no
complaints about strategies that take long.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def register_profiles() -> None:
    """Registers both profiles and loads `fixed`.  Neither depends on the environment: Hypothesis has its own defaults
    where the variable CI is set."""
    usual = settings.get_profile("default")
    always = settings(usual, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("fixed", always, derandomize=True, database=None, max_examples=examples(100))
    settings.register_profile("random", always)
    settings.load_profile("fixed")


def examples(random: int) -> int:
    """Returns the value of max_examples: `random` in the profile of that name, a third of it in all others."""
    profile = settings.get_current_profile_name().partition("-with-")[0]  # random-with-verbose-verbosity
    return random if profile == "random" else max(1, random // 3)
