"""Members of a request that brokers of an older release refuse, and can do without.

    {consumer, request_id}   400 "unknown field request_id"
    {consumer}               200, as that release has always done it; for 30 s the member is left out at once

While brokers are replaced, a client talks to brokers of both releases, and behind a balancer it cannot know to which.
So it leaves the members out for all of them, and tries again after a while.  A member that guards against a mistake,
such as `topic_id`, is never left out: an older broker would not make the check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from redis_ledger.errors import InvalidRequest

TRIED_AGAIN_S = 30.0
# Error codes of brokers of an older release, and what they are called now.
FORMER_CODES = {
    "cold_damaged": "offloaded_damaged",
    "cold_off": "offload_disabled",
    "cold_unavailable": "offloaded_unavailable",
}
_UNKNOWN = re.compile(r"unknown field `?(\w+)")  # the answer of brokers without the fact `unknown_field`


def unknown_field(error: InvalidRequest) -> str:
    """The member that the broker does not know; "" if it refused the request for another reason."""
    found = _UNKNOWN.search(error.detail)
    return str(error.facts.get("unknown_field", found[1] if found else ""))


class OlderBrokers:
    """What brokers have refused lately.  newer: the members of one request that came with one release."""

    def __init__(self, now_s: Callable[[], float] = monotonic) -> None:
        self._now_s = now_s
        self._until_s: dict[Sequence[str], float] = {}

    def refuse(self, newer: Sequence[str]) -> bool:
        return self._now_s() < self._until_s.get(newer, 0.0)

    def request(self, body: Mapping[str, Any], newer: Sequence[str]) -> dict[str, Any]:
        """The body as brokers take it."""
        left_out = newer if self.refuse(newer) else ()
        return {name: value for name, value in body.items() if name not in left_out}

    def note(self, error: InvalidRequest, body: Mapping[str, Any], newer: Sequence[str]) -> bool:
        """Whether the request can be sent again without these members."""
        name = unknown_field(error)
        if name not in newer or name not in body:
            return False
        self._until_s[newer] = self._now_s() + TRIED_AGAIN_S
        return True
