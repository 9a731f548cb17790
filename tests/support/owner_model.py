"""A model of lua/cursor/claim and lua/cursor/leave: who owns an exclusive or failover subscription, and who stands by.

c1 owns it until 12:00:10     c2 and c3 stand by     c1 leaves, or is silent: the one that joined first owns it
"""

from __future__ import annotations

from collections.abc import Collection

from redis_ledger.store.script_status import Status
from tests.support.cursor_scripts import SESSION


class Owner:
    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.name, self.until, self.epoch = "", 0, 0
        self.epochs: dict[str, int] = {}  # of each consumer's last ownership
        self.joined: dict[str, int] = {}  # consumers of a failover subscription → when
        self.ends: dict[str, int] = {}  # and when their sessions end

    def claim(
        self, consumer: str, now: int, pause: tuple[int, int] | None = None, unacked: Collection[str] = ()
    ) -> Status | None:
        """None: it is the owner.  NOT_OWNER: it stands by.  pause: from when to when Redis was away, as the caller saw
        it: for this call, sessions end later.  unacked: consumers that have unacknowledged records, so that they are
        known beyond their session, and a later caller that saw a pause finds them in session."""

        def in_session(at: int) -> int:
            return max(at, pause[1] + SESSION) if pause and at > pause[0] else at

        until = in_session(self.until)
        if self.kind == "failover":
            ends = {name: in_session(at) for name, at in self.ends.items()}
            self.ends = {name: at for name, at in self.ends.items() if ends[name] > now or name in unacked}
            if ends.get(consumer, 0) <= now:
                self.joined[consumer] = now
            self.ends[consumer] = ends[consumer] = now + SESSION
            if self.name != consumer and until <= now:
                present = [name for name in self.ends if name == consumer or ends[name] - SESSION / 2 > now]
                first = min(present, key=lambda name: (self.joined[name], name))
                self.name, until, self.epoch = first, ends[first], self.epoch + 1
            if self.name != consumer:
                self.until = until
                return Status.NOT_OWNER
        elif self.name != consumer:
            if until > now:
                return Status.CONSUMER_BUSY
            self.name, self.epoch = consumer, self.epoch + 1
        self.until = max(until, now + SESSION)
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
