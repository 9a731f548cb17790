"""How many examples a property test draws."""

from __future__ import annotations

from hypothesis import settings


def examples(random: int) -> int:
    """Returns the value of max_examples: `random` in the profile of that name, a third of it in all others."""
    return random if settings.get_current_profile_name() == "random" else max(1, random // 3)
