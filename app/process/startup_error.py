"""A process that will not start says why in one sentence, and what to do; exit code 2."""

from __future__ import annotations


class Refusal(Exception):
    """Shown to the operator as it is: one sentence that names the cause and the cure."""

    exit_code = 2
