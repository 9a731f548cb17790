"""Facts of one transaction coordinator, and its transactions as the transaction log has them.

Facts of a page of transactions are of one moment; the log is read before them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from redis_ledger.proto.txn_log_pb2 import TransactionLogRecord
from redis_ledger.store.keys import CoordinatorKeys, encode_name

OPEN, COMMITTING, ABORTING = 1, 2, 4  # TransactionStatus in the log
STATES = {"O": OPEN, "C": COMMITTING, "A": ABORTING, "T": ABORTING}
LETTERS = {OPEN: "O", COMMITTING: "C", ABORTING: "A"}
MORE = "+"  # in a row: further participants are in `wide`


class TxnRow(NamedTuple):
    """A row of `txns`.  nonce: "-", a nonce, or "@number:epoch:transactional id".  positions: without the trace."""

    state: str
    deadline: int
    started: int
    timeout: int
    owner: str
    nonce: str
    positions: tuple[str, ...]
    participants: tuple[str, ...]

    @classmethod
    def parse(cls, row: bytes | None) -> TxnRow | None:
        """None if there is none, or it has another form."""
        try:
            head, positions, participants = (row or b"").decode().split("|")
            state, deadline, started, timeout, owner, nonce = head.split(" ")
        except ValueError:
            return None
        if state not in STATES or not (deadline.isdigit() and started.isdigit() and timeout.isdigit()):
            return None
        places = tuple(each.partition("/")[0] for each in positions.split(",") if each)
        words = tuple(participants.split())
        return cls(state, int(deadline), int(started), int(timeout), owner, nonce, places, words)

    @property
    def text(self) -> str:
        positions = "".join(f"{each}," for each in self.positions)
        head = (self.state, self.deadline, self.started, self.timeout, self.owner, self.nonce)
        return f"{' '.join(map(str, head))}|{positions}|{' '.join(self.participants)}"


class LoggedTxn:
    """A transaction as its live records in the log have it.  positions: "entry:record", from 1."""

    def __init__(self) -> None:
        self.status = OPEN
        self.started = self.timeout = -1
        self.owner = ""
        self.positions: list[str] = []
        self.participants: list[str] = []

    def add(self, position: str, record: TransactionLogRecord) -> None:
        self.positions.append(position)
        if record.new_status:
            self.status = record.new_status
        if record.timeout_ms or record.started_ms:
            self.timeout, self.started = record.timeout_ms, record.started_ms
            self.owner = record.owner
        self.participants += record.participants

    @property
    def is_whole(self) -> bool:
        """Whether the record of its begin is among them."""
        return self.started >= 0

    def row(self, nonce: str, wide: Iterable[str], now_ms: int) -> TxnRow:
        """The row that these records give.  wide: its participants in `wide`."""
        further = set(wide)
        words = [word for word in dict.fromkeys(self.participants) if word not in further]
        deadline = self.started + self.timeout if self.status == OPEN else now_ms
        return TxnRow(
            LETTERS.get(self.status, "A"), deadline, self.started, self.timeout, self.owner or "-", nonce,
            tuple(self.positions), tuple([*words, MORE] if further else words),
        )  # fmt: skip


class TxnFacts(NamedTuple):
    """live: of the log entries of its positions, the bits that were read in the same moment, by entry."""

    serial: int
    row: bytes | None
    is_ordered: bool
    deadline: int | None
    outcome: bytes | None
    forget: int | None
    live: Mapping[str, bytes | None]

    def is_live(self, position: str) -> bool | None:
        """Whether a log record is alive; None if its bits were not read, or its entry is lost."""
        entry, _, number = position.partition(":")
        bits, at = self.live.get(entry), int(number) - 1
        if bits is None:
            return None
        return bits[at : at + 1] == b"1"


class CoordinatorPlace(NamedTuple):
    number: int
    keys: CoordinatorKeys

    def __str__(self) -> str:
        return f"coordinator {self.number}"


def padded(serial: int) -> str:
    """A serial as a member of `order`."""
    return f"{serial:015d}"


def transactional_nonce(number: str, epoch: str, name: str) -> str:
    """name: percent-encoded already, or not."""
    return f"@{number}:{epoch}:{name if '%' in name else encode_name(name)}"
