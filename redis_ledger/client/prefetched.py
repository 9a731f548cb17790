"""Messages that a consumer has fetched and not handed out, in order: pure.

fetched ─▶ │ 7  8 │ 9  10  11  12 │        7, 8: counted as delivered, to be handed out
           │      │ reserved      │        9 to 12: `unopened` returns the next of them, `open` counts them
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

import msgspec

from redis_ledger.client.models import Message
from redis_ledger.ids import MessageId


class Prefetched:
    """is_ordered: a message that was lost takes the later ones of its partition with it."""

    def __init__(self, is_ordered: bool) -> None:
        self._is_ordered = is_ordered
        self._messages: deque[Message] = deque()
        self._reserved: set[MessageId] = set()

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self._messages)

    def add(self, messages: Sequence[Message], *, is_reserved: bool) -> None:
        """A message that is delivered again before it was handed out keeps its place, with its new lease."""
        again = {message.id: message for message in messages}
        (self._reserved.update if is_reserved else self._reserved.difference_update)(again)
        self._messages = deque(again.pop(each.id, each) for each in self._messages)
        self._messages.extend(again.values())

    def take(self, most: int) -> list[Message]:
        """Removes and returns messages that count as delivered, up to the first that is reserved."""
        taken: list[Message] = []
        while self._messages and len(taken) < most and self._messages[0].id not in self._reserved:
            taken.append(self._messages.popleft())
        return taken

    def unopened(self, most: int, soon: int) -> list[MessageId]:
        """Returns the reserved ones of the next `most`, and of those that are handed out soon.  A message that was
        delivered before may be one that ends its consumer: it is not counted early, and neither are those behind it."""
        found, is_again = list[MessageId](), False
        for place, message in enumerate(islice(self._messages, max(most, soon))):
            is_again = is_again or message.redelivery_count > 0
            if place >= most and is_again:
                break
            if message.id in self._reserved:
                found.append(message.id)
        return found

    def open(self, ids: Sequence[MessageId], lost: Collection[MessageId], until_s: float) -> bool:
        """The ids count as delivered, and are leased until then, except the lost ones, which go.  Returns whether there
        are lost ones."""
        opened = self._reserved.intersection(ids).difference(lost)
        self._reserved -= opened
        self._messages = deque(
            msgspec.structs.replace(each, leased_until_s=until_s) if each.id in opened else each
            for each in self._messages
        )
        return self._drop({each for each in lost if each in self._reserved})

    def drop_expired(self, now_s: float) -> bool:
        """Returns whether there were any at the front."""
        expired = set[MessageId]()
        for message in self._messages:
            if message.leased_until_s > now_s:
                break
            expired.add(message.id)
        return self._drop(expired)

    def clear(self) -> list[MessageId]:
        """Returns those that count as delivered."""
        counted = [each.id for each in self._messages if each.id not in self._reserved]
        self._messages.clear()
        self._reserved.clear()
        return counted

    def _drop(self, ids: set[MessageId]) -> bool:
        if not ids:
            return False
        partitions = {each.partition for each in ids} if self._is_ordered else set[int]()
        kept = [each for each in self._messages if each.id not in ids and each.partition not in partitions]
        self._messages = deque(kept)
        self._reserved.intersection_update({each.id for each in kept})
        return True
