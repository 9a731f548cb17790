"""The error of a command that cannot run; exit code 2."""

from __future__ import annotations


class CommandError(Exception):
    """The message is shown to the operator: one sentence with the cause and the fix."""

    exit_code = 2
