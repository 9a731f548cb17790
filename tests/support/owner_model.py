"""A model of lua/cursor/claim and lua/cursor/leave: who owns an exclusive or failover subscription, and who stands by.

c1 owns it until 12:00:10     c2 and c3 stand by     c1 leaves, or is silent: the one that joined first owns it
"""

from __future__ import annotations

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import SESSION


class Owner:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.name, self.until, self.epoch = "", 0, 0
        self.epochs: dict[str, int] = {}  # of each consumer's last ownership
        self.joined: dict[str, int] = {}  # consumers of a failover subscription → when
        self.ends: dict[str, int] = {}  # and when their sessions end

    def claim(self, consumer: str, now: int, pause: tuple[int, int] | None = None) -> Status | None:
        """None: it is the owner.  NOT_OWNER: it stands by.  pause: when Redis was away, from and to."""

        def in_session(at: int) -> int:
            return max(at, pause[1] + SESSION) if pause and at > pause[0] else at

        self.until = in_session(self.until)
        self.ends = {name: in_session(at) for name, at in self.ends.items()}
        if self.kind == "failover":
            self.heard(consumer, now)
            self.ends = {name: at for name, at in self.ends.items() if at > now}
            if self.name != consumer and self.until <= now:
                present = [n for n, at in self.ends.items() if n == consumer or at - SESSION / 2 > now]
                first = min(present, key=lambda name: (self.joined[name], name))
                self.name, self.until, self.epoch = first, self.ends[first], self.epoch + 1
            if self.name != consumer:
                return Status.NOT_OWNER
        elif self.name != consumer:
            if self.until > now:
                return Status.CONSUMER_BUSY
            self.name, self.epoch = consumer, self.epoch + 1
        self.until = max(self.until, now + SESSION)
        self.epochs[consumer] = self.epoch
        return None

    def heard(self, consumer: str, now: int) -> None:
        if self.ends.get(consumer, 0) <= now:
            self.joined[consumer] = now
        self.ends[consumer] = now + SESSION

    def leave(self, consumer: str) -> None:
        self.ends.pop(consumer, None)
        if self.name == consumer:
            self.name, self.until = "", 0
