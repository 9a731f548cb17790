"""How far a consumer has come in each partition: what it tells the broker when it asks for more.

got    0:4  0:5  1:7  0:6  0:2 (again)  0:7        has    0:7  1:7
"""

from __future__ import annotations

from collections.abc import Iterable

from redis_ledger.client.models import Message
from redis_ledger.ids import MessageId


class Progress:
    """The last message of each partition, by offset."""

    def __init__(self, last: dict[int, MessageId] | None = None) -> None:
        self._last = last or {}

    @property
    def last(self) -> list[MessageId]:
        return list(self._last.values())

    def add(self, message: Message) -> None:
        """A message that is delivered again leaves the last one as it is.  One that is delivered for the first time and
        lies before the last shows that the subscription was moved back: then it is the last one."""
        known = self._last.get(message.id.partition)
        if known is None or message.id.offset > known.offset or message.redelivery_count == 0:
            self._last[message.id.partition] = message.id

    def with_(self, messages: Iterable[Message]) -> Progress:
        """A copy that also has these."""
        copy = Progress(dict(self._last))
        for message in messages:
            copy.add(message)
        return copy

    def clear(self) -> None:
        self._last.clear()
