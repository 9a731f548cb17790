"""What the fuzzer holds against the broker, and the frames that may have caused it.

A finding is kept once by its signature (for a trace: where it was raised), counted every further time, and saved as
NN.json, which says what happened, beside NN.<m>.bin, what was sent before it: `scripts/fuzz.py --replay` sends it
again.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

HISTORY = 3_000
CANDIDATES_MAX = 200
LOOK_BACK_S = 5.0
SAVED_MAX = 40
# Mutated batches with damaged records and a correct CRC are stored, and a reader that meets one logs an error.
EXPECTED_ERRORS = frozenset({"a batch that cannot be read was skipped"})

_FRAME = re.compile(r'File "(?:[^"]*/)?([^"/]+/[^"/]+)", line (\d+), in (\S+)')


class Sending(NamedTuple):
    """at: of the monotonic clock.  peer: the address it was sent from."""

    at: float
    peer: str
    number: int
    data: bytes


@dataclass
class Finding:
    kind: str
    detail: str
    number: int | None = None
    candidates: list[Sending] = field(default_factory=list)
    times: int = 1
    is_reproduced: bool = False  # by the one candidate that is left


class Findings:
    """found: by signature.  events: log lines by their event."""

    def __init__(self, seed: int, folder: Path | None = None) -> None:
        self.seed, self.folder = seed, folder
        self.found: dict[str, Finding] = {}
        self.events: Counter[str] = Counter()
        self.history: deque[Sending] = deque(maxlen=HISTORY)

    def sent(self, peer: str, number: int, data: bytes) -> None:
        self.history.append(Sending(time.monotonic(), peer, number, data))

    def add(
        self,
        kind: str,
        detail: str,
        signature: str = "",
        number: int | None = None,
        suspects: list[Sending] | None = None,
    ) -> None:
        """number: of the case that shows it; else suspects may have caused it."""
        key = f"{kind}: {signature or detail}"
        known = self.found.get(key)
        if known is not None:
            known.times += 1
        elif len(self.found) < SAVED_MAX:
            if number is not None:
                suspects = [sending for sending in self.history if sending.number == number]
            self.found[key] = Finding(kind, detail, number, suspects or [])

    def suspects(self, peer: str | None) -> list[Sending]:
        """Frames sent lately, the newest first; only from that address if it is known."""
        since = time.monotonic() - LOOK_BACK_S
        found = [s for s in reversed(self.history) if s.at >= since and (peer is None or s.peer == peer)]
        return found[:CANDIDATES_MAX]

    # -- the broker's log --------------------------------------------------------------------------------------------

    def read_line(self, line: str) -> str | None:
        """Takes one line of the broker's log; the signature if it holds something against it."""
        try:
            said = json.loads(line)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            if not line.strip():
                return None
            signature = f"not a log line: {line.strip()[:120]}"
            self.add("log", line[:2_000], signature, suspects=self.suspects(None))
            return f"log: {signature}"
        event = str(said.get("event"))
        self.events[event] += 1
        peer = said.get("peer")
        if "trace" in said or (said.get("level") in ("error", "critical") and event not in EXPECTED_ERRORS):
            signature = signature_of(str(said.get("trace", "")), str(said.get("error", event)))
            self.add("trace", json.dumps(said), signature, suspects=self.suspects(peer))
            return f"trace: {signature}"
        if event == "a Kafka connection was closed" and peer == "127.0.0.1":
            self.add("honest client refused", line)
        return None

    # -- on disk -----------------------------------------------------------------------------------------------------

    def save(self) -> None:
        if self.folder is None or not self.found:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        for number, (signature, one) in enumerate(self.found.items(), 1):
            body = {
                "signature": signature, "times": one.times, "seed": self.seed, "case": one.number,
                "cases": [each.number for each in one.candidates], "reproduced": one.is_reproduced, "detail":
                one.detail,
            }  # fmt: skip
            (self.folder / f"{number:02}.json").write_text(json.dumps(body, indent=1))
            for place, each in enumerate(reversed(one.candidates)):
                (self.folder / f"{number:02}.{place:03}.bin").write_bytes(each.data)


def signature_of(trace: str, error: str) -> str:
    """Place and class of the error: the last line of the trace in this project."""
    places = _FRAME.findall(trace)
    ours = [place for place in places if "/lib/" not in place[0] and "site-packages" not in place[0]]
    place = ":".join((ours or places or [("?", "?", "?")])[-1])
    return f"{error.partition(':')[0]} at {place}"
