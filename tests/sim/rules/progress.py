"""Rules about progress: 30 s after the last fault everything works again, and nothing is left over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.sim.history import History
from tests.sim.recorder import Event
from tests.sim.rules.finding import rule

Found = Iterator[tuple[str, Sequence[Event]]]
RECOVERY_S_MAX = 30.0  # of the machine's time for the run


@rule
def stuck(history: History) -> Found:
    """Every client completes an operation within 30 s of the end of the last fault."""
    over = history.mark("faults_over")
    if over is None:
        return
    until = history.machine_s(over["at"]) + RECOVERY_S_MAX
    for actor in over["actors"]:
        done = [
            each.ended_at for each in history.operations
            if each.start["actor"] == actor and each.is_ok and each.ended_at > over["at"]
        ]  # fmt: skip
        if not done or history.machine_s(min(done)) > until:
            last = [each for each in history.operations if each.start["actor"] == actor][-3:]
            took = f"{history.machine_s(min(done)) - until + RECOVERY_S_MAX:.0f} s" if done else "no operation"
            yield f"{actor} needed {took} after the last fault", [event for each in last for event in each.events]


@rule
def left_over(history: History) -> Found:
    """Once writers have stopped, transactions end, backlogs are consumed and scheduled records fire."""
    drained = history.mark("drained")
    if drained is not None:
        for what, count in drained["left"].items():
            yield f"{what}: {count}, and nothing has become less for {drained['machine_s']:.0f} s", []


@rule
def not_bounded(history: History) -> Found:
    """After retention has removed all records, keys and memory are bounded."""
    for note in history.notes("footprint"):
        for what in ("records", "keys", "bytes"):
            if note[what] > note[f"{what}_max"]:
                yield (
                    f"{note[what]} {what} are left after retention, more than {note[f'{what}_max']}: {note['detail']}",
                    [],
                )


@rule
def index_differs(history: History) -> Found:
    """At the end `fsck` finds no difference between logs and indexes.

    Writes that were lost, at a level that permits it, may include the decision or a marker of a transaction."""
    has_lost = bool(history.notes("loss"))
    for note in history.notes("index"):
        if has_lost and note["difference"] == "marker":
            continue
        yield f"{note['difference']} at {note['where']}: {note['detail']}", [note]


@rule
def worker_broke(history: History) -> Found:
    """No client ends by an error that it does not expect."""
    for note in history.notes("broke"):
        yield f"{note['actor']}: {note['error']}", [note]


RULES = (stuck, left_over, not_bounded, index_differs, worker_broke)
