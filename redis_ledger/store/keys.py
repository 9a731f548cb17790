"""Names of all keys, as functions of ids.  The part in braces is the hash tag: all keys of one partition share a slot,
and all keys of one coordinator share a slot, so one script can change them atomically on a cluster too.

    rl:{orders:3}:state         hash    topic id, epoch, offsets (next, start, cold, stable, reclaimed), active ledger,
                                        counters
    rl:{orders:3}:ledgers       hash    "<ledger>" → issued deleted sealed max_offset unlogged bytes created_ms
    rl:{orders:3}:data:<ledger> stream  payload: one entry per record batch, field b; id 0-<entry>
    rl:{orders:3}:log           stream  log entries in offset order; id <last offset>-1
    rl:{orders:3}:producers     hash    producer id → epoch, owner and last five batches
    rl:{orders:3}:open          hash    producer id → its open transaction, see ledger/open_row.py
    rl:{orders:3}:firsts        zset    producer id, score = first offset of its open transaction; in the sidecar
                                        buffer less than -1
    rl:{orders:3}:sidecar       zset    batches of the sidecar buffer by transaction, see ledger/sidecar.py
    rl:{orders:3}:aborted       zset    "producer first stable", score = offset of the abort marker
    rl:{orders:3}:ended         zset    "coordinator-serial" tombstones, score = time of the end
    rl:{orders:3}:watermarks    hash    coordinator → low watermark (serial)
    rl:{orders:3}:subs          hash    subscription (percent-encoded) → kind
    rl:{orders:3}:cold          hash    first offset → JSON of a segment in Parquet; "plan" → the next one; "version"
    rl:{orders:3}:snapshot      hash    of the transaction buffer: "head"; "index", "s<n>" → protobuf
    rl:{orders:3}:sub:<name>    hash    cursor: kind, mark, read, consumer, counters; of a Kafka group: offset, fence
    ...:<name>|acks             hash    chunk of 8192 offsets → list or bitmap of what is acknowledged; full chunks
    ...:<name>|leases           hash    first offset → last consumer count deadline; key_shared: queues of slots
    ...:<name>|spans            zset    first offset of every lease, by offset
    ...:<name>|due              zset    first offset of every lease, by redelivery time; key_shared: slots
    ...:<name>|pending          hash    "coordinator-serial" → its acknowledgements, or the group's offset
    rl:{orders:3}:delay:state   hash    open bucket, counters; what open transactions hold: "coordinator-serial" → row
    rl:{orders:3}:delay:open    zset    entries of the open bucket by due time, see delay/entry.py
    rl:{orders:3}:delay:closing zset    entries of the bucket that is being sealed
    rl:{orders:3}:delay:queue   zset    entries loaded from sealed buckets
    rl:{orders:3}:delay:live    hash    4096 entries → bitmap of those that are pending
    rl:{orders:3}:delay:parts   hash    entry → "1101": records of it that are still one group
    rl:{orders:3}:delay:moved   hash    "entry.index" → due time of a record that was rescheduled
    rl:{orders:3}:delay:buckets hash    "first-last" ledger → row of a sealed bucket
    rl:{orders:3}:delay:next    zset    "first-last", score = first due time of its next segment that is not loaded
    rl:{orders:3}:delay:snaps   hash    snapshot id → when it was begun
    rl:{orders:3}:delay:repeats hash    entry → its recurrence; "!<entry>" → its member, until it is scheduled again
    rl:{orders:3}:delay:snap:<id> hash  0 → metadata, n → segment n of a sealed bucket; never changes
    rl:{orders:3}:none          string  (never created): named by scripts that delete and recreate keys, so that they
                                        wait for the end of a slot migration
    rl:{orders:3}:wake          channel (not a key): leader epoch, next offset, stable position after a change
    rl:{tc:5}:state             hash    next serial, entry number, low watermark, counters
    rl:{tc:5}:txns              hash    serial → packed transaction
    rl:{tc:5}:order             zset    live serials, zero-padded, lexical order
    rl:{tc:5}:deadlines         zset    live serials by their deadline
    rl:{tc:5}:outcomes          hash    serial → outcome and time
    rl:{tc:5}:forget            zset    ended serials by the time of their end
    rl:{tc:5}:nonces            hash    nonce of a begin → serial
    rl:{tc:5}:steps             zset    nonces of committed steps whose answer is not stored yet, by time
    rl:{tc:5}:wide              zset    "serial participant": those of a live transaction that are not in its row
    rl:{tc:5}:calls             hash    broker → its last call's number and reply
    rl:{tc:5}:log               stream  transaction log, batched entries (PIP-160)
    rl:{tc:5}:live              hash    log entry → bitmap of its live records
    rl:{tc:5}:ids               hash    transactional id (percent-encoded) → its producer id, epoch, last transaction;
                                        "=" and a name → highest number committed under it, when
    rl:{group:<name>}:state     hash    a Kafka group: kind, owning broker, generation, protocol type; its members:
                                        "m:<id>" → protobuf, and told, membership, members of all of them
    rl:{group:<name>}:topics    set     topics the group has offsets on
    rl:{catalog}:topics         hash    topic → JSON: id, partitions, state, settings
    rl:{catalog}:state          hash    version, number of coordinators, stored format, cluster id, number of
                                        witnesses; lost_above, continued_at: lost versions
    rl:{catalog}:changes        channel (not a key): name of a broker that has joined, left or changed its addresses
    rl:{catalog}:claim          string  cluster id of a running broker, if it is not the stored one; expires
    rl:{witness:<n>}:cluster    string  copy of the cluster id; on a Redis Cluster only, n from 0 to 63
    rl:{replicated:<n>}:marker  string  empty; written before each WAIT of durability `replicas`; n is 0, or on a Redis
                                        Cluster a number whose slot the node owns
    rl:{witness:<n>}:count      string  raised by every broker twice a second; lower after Redis has lost writes
    rl:{witness:<n>}:lives      list    "life count": run id and replication id of the node, the counter when it began
    rl:{witness:<n>}:compared   hash    broker → run id and replication id of the node that it has compared last
    rl:{catalog}:epochs         hash    "topic id:partition" → leader epoch, if Redis has lost records of the partition
    rl:{catalog}:brokers        zset    broker id, score = time of its last heartbeat
    rl:{catalog}:addresses      hash    broker id → JSON with its addresses
    rl:{catalog}:groups         hash    group (percent-encoded) → kind
    rl:{catalog}:due            channel (not a key): topic, partition and due time of a new first record
    rl:{catalog}:users          hash    user → JSON: SCRAM verifiers by mechanism; "" → a secret of this Redis
    rl:{catalog}:acls           hash    rule as a JSON array → creation time
    rl:{catalog}:tokens         hash    id of an API token → JSON: principal, digest, creation and expiry time
    rl:{catalog}:quotas         hash    principal (User:* all others) → JSON: its quotas
    rl:{catalog}:batchedwrites  hash    transaction_log or pending_acks → JSON: thresholds that were changed at run time
    rl:{catalog}:deadletters    hash    ["topic","subscription"] → JSON: deliveries, dead-letter topic, own topic id
    rl:{catalog}:redelivery     hash    ["topic","subscription"] → JSON: back-off between deliveries, own topic id
    rl:{catalog}:audit          stream  administrative acts, newest 100 000: principal, address, act, outcome
    rl:{idem:<digest>}          string  the request and the answer of an Idempotency-Key; digest = SHA-256 of the key
    rl:{idem:<digest>}|run      string  token of the attempt that runs it, with a lease
    rl:{idem:<digest>}|layout:<topic-id>  string  partitions and batch size by which all attempts lay out the records
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote

SUBSCRIPTIONS_KEPT = 64  # subscriptions whose key names a partition caches


@lru_cache(maxsize=4096)
def encode_name(name: str) -> str:
    """Encodes a user-chosen name for a key, without separators and hash tags."""
    return quote(name, safe="-_.~")


def key_pattern(prefix: str) -> str:
    """The glob pattern of all keys of a prefix, and of none of another: no prefix has braces, so the keys of
    `rl:prod` do not match that of `rl`."""
    return "".join(f"\\{char}" if char in "*?[]\\" else char for char in prefix) + ":{*"


class SubscriptionKeys:
    """The keys of one subscription on one partition.  `all()` is in the order of the scripts' KEYS."""

    __slots__ = ("_all", "acks", "cursor", "due", "leases", "pending", "spans")

    def __init__(self, partition: str, name: str) -> None:
        base = f"{partition}:sub:{encode_name(name)}"
        self.cursor = base.encode()
        self.acks = f"{base}|acks".encode()
        self.leases = f"{base}|leases".encode()
        self.spans = f"{base}|spans".encode()
        self.due = f"{base}|due".encode()
        self.pending = f"{base}|pending".encode()

        self._all = (self.cursor, self.acks, self.leases, self.spans, self.due, self.pending)

    def all(self) -> tuple[bytes, ...]:
        return self._all

    def of_register(self) -> tuple[bytes, ...]:
        """The keys of a Kafka group's offset: cursor and pending."""
        return self.cursor, self.pending

    def of_register_as_all(self) -> tuple[bytes, ...]:
        """The keys of a register at the positions of `all()`, for scripts of both kinds; names no absent key."""
        return self.cursor, self.cursor, self.cursor, self.cursor, self.cursor, self.pending


class PartitionKeys:
    """The keys of one partition, and those of each script in the order of its KEYS.

    log_keys       state ledgers log producers open firsts aborted ended watermarks subs
    append_keys    ledger/append, ledger/schedule and ledger/append_sidecar
    end_keys       txn/end
    """

    __slots__ = (
        "_base", "_subs", "aborted", "append_keys", "delay", "end_keys", "ended", "firsts", "ledgers", "log",
        "log_keys", "none", "offload", "open", "producers", "sidecar", "snapshot", "state", "subs", "wake",
        "watermarks",
    )  # fmt: skip

    def __init__(self, prefix: str, topic: str, partition: int) -> None:
        self._base = base = f"{prefix}:{{{topic}:{partition}}}"
        self.state = f"{base}:state".encode()
        self.ledgers = f"{base}:ledgers".encode()
        self.log = f"{base}:log".encode()
        self.producers = f"{base}:producers".encode()
        self.open = f"{base}:open".encode()
        self.firsts = f"{base}:firsts".encode()
        self.sidecar = f"{base}:sidecar".encode()
        self.aborted = f"{base}:aborted".encode()
        self.ended = f"{base}:ended".encode()
        self.watermarks = f"{base}:watermarks".encode()
        self.subs = f"{base}:subs".encode()
        self.offload = f"{base}:cold".encode()
        self.snapshot = f"{base}:snapshot".encode()
        self.wake = f"{base}:wake".encode()
        self.none = f"{base}:none".encode()
        self.delay = DelayKeys(base)
        self._subs: dict[str, SubscriptionKeys] = {}
        self.log_keys = (
            self.state, self.ledgers, self.log, self.producers, self.open, self.firsts, self.aborted, self.ended,
            self.watermarks, self.subs,
        )  # fmt: skip
        self.append_keys = (
            self.state, self.ledgers, self.log, self.producers, self.open, self.firsts, self.ended, self.watermarks,
        )  # fmt: skip
        self.end_keys = (*self.log_keys, self.delay.state, self.sidecar)

    def data(self, ledger: int) -> bytes:
        return f"{self._base}:data:{ledger}".encode()

    def sub(self, name: str) -> SubscriptionKeys:
        keys = self._subs.get(name)
        if keys is None:
            if len(self._subs) >= SUBSCRIPTIONS_KEPT:
                self._subs.clear()
            keys = self._subs[name] = SubscriptionKeys(self._base, name)
        return keys

    def create_keys(self) -> tuple[bytes, ...]:
        """Of ledger/create."""
        own = (*self.log_keys, self.data(1), self.delay.state, self.offload, *self.delay.index_keys, self.data(-1))
        return (*own, self.sidecar)

    def delete_keys(
        self, ledgers: Iterable[int], snapshots: Iterable[str], subscriptions: Iterable[str]
    ) -> list[bytes]:
        """Of ledger/delete: every key of the partition but `snapshot`, which is there from its first transaction on.
        snapshots: of delayed records."""
        keys = [*self.log_keys, self.sidecar, self.offload, self.delay.state, *self.delay.index_keys]
        keys += [self.data(ledger) for ledger in ledgers]
        keys += [self.delay.snapshot(snapshot) for snapshot in snapshots]
        keys += [key for name in subscriptions for key in self.sub(name).all()]
        return keys


class DelayKeys:
    """The keys of one partition's scheduled records.  Their payload is in ledgers with negative numbers.

    index_keys       open closing queue live parts moved buckets next snaps repeats
    schedule_keys    ledger/schedule
    """

    __slots__ = (
        "_base", "buckets", "closing", "index_keys", "live", "moved", "next", "open", "parts", "queue", "repeats",
        "schedule_keys", "snaps", "state",
    )  # fmt: skip

    def __init__(self, partition: str) -> None:
        self._base = base = f"{partition}:delay"
        self.state = f"{base}:state".encode()
        self.open = f"{base}:open".encode()
        self.closing = f"{base}:closing".encode()
        self.queue = f"{base}:queue".encode()
        self.live = f"{base}:live".encode()
        self.parts = f"{base}:parts".encode()
        self.moved = f"{base}:moved".encode()
        self.buckets = f"{base}:buckets".encode()
        self.next = f"{base}:next".encode()
        self.snaps = f"{base}:snaps".encode()
        self.repeats = f"{base}:repeats".encode()
        self.index_keys = (
            self.open, self.closing, self.queue, self.live, self.parts, self.moved, self.buckets, self.next, self.snaps,
            self.repeats,
        )  # fmt: skip
        self.schedule_keys = (
            self.state, self.open, self.live, self.closing, self.queue, self.parts, self.moved, self.buckets, self.next,
            self.snaps, self.repeats,
        )  # fmt: skip

    def snapshot(self, snapshot: str) -> bytes:
        return f"{self._base}:snap:{snapshot}".encode()

    def all(self) -> tuple[bytes, ...]:
        return self.state, *self.index_keys


class CoordinatorKeys:
    """The keys of one transaction coordinator.  `all()` is in the order of the scripts' KEYS."""

    __slots__ = (
        "calls",
        "deadlines",
        "forget",
        "ids",
        "live",
        "log",
        "nonces",
        "order",
        "outcomes",
        "state",
        "steps",
        "txns",
        "wide",
    )

    def __init__(self, prefix: str, coordinator: int) -> None:
        base = f"{prefix}:{{tc:{coordinator}}}"
        self.state = f"{base}:state".encode()
        self.txns = f"{base}:txns".encode()
        self.order = f"{base}:order".encode()
        self.deadlines = f"{base}:deadlines".encode()
        self.outcomes = f"{base}:outcomes".encode()
        self.forget = f"{base}:forget".encode()
        self.nonces = f"{base}:nonces".encode()
        self.calls = f"{base}:calls".encode()
        self.log = f"{base}:log".encode()
        self.live = f"{base}:live".encode()
        self.ids = f"{base}:ids".encode()
        self.steps = f"{base}:steps".encode()
        self.wide = f"{base}:wide".encode()

    def all(self) -> tuple[bytes, ...]:
        """state txns order deadlines outcomes forget nonces calls log live ids steps wide: KEYS 1 to 13 of scripts."""
        return (
            self.state, self.txns, self.order, self.deadlines, self.outcomes, self.forget, self.nonces, self.calls,
            self.log, self.live, self.ids, self.steps, self.wide,
        )  # fmt: skip


class CatalogKeys:
    """The keys that all brokers share."""

    __slots__ = (
        "acls", "addresses", "audit", "batchedwrites", "brokers", "changes", "claim", "deadletters", "due", "epochs",
        "groups", "quotas", "redelivery", "state", "tokens", "topics", "users",
    )  # fmt: skip

    def __init__(self, prefix: str) -> None:
        base = f"{prefix}:{{catalog}}"
        self.topics = f"{base}:topics".encode()
        self.state = f"{base}:state".encode()
        self.brokers = f"{base}:brokers".encode()
        self.addresses = f"{base}:addresses".encode()
        self.changes = f"{base}:changes".encode()
        self.groups = f"{base}:groups".encode()
        self.claim = f"{base}:claim".encode()
        self.due = f"{base}:due".encode()
        self.epochs = f"{base}:epochs".encode()
        self.users = f"{base}:users".encode()
        self.acls = f"{base}:acls".encode()
        self.tokens = f"{base}:tokens".encode()
        self.quotas = f"{base}:quotas".encode()
        self.batchedwrites = f"{base}:batchedwrites".encode()
        self.deadletters = f"{base}:deadletters".encode()
        self.redelivery = f"{base}:redelivery".encode()
        self.audit = f"{base}:audit".encode()


class GroupKeys:
    """The keys of one Kafka group; its offsets are cursors in the partitions' slots."""

    __slots__ = ("state", "topics")

    def __init__(self, prefix: str, group: str) -> None:
        base = f"{prefix}:{{group:{encode_name(group)}}}"
        self.state = f"{base}:state".encode()
        self.topics = f"{base}:topics".encode()


def witness(prefix: str, number: int) -> bytes:
    return f"{prefix}:{{witness:{number}}}:cluster".encode()


def replication_marker(prefix: str, number: int) -> bytes:
    return f"{prefix}:{{replicated:{number}}}:marker".encode()


def write_counter(prefix: str, number: int) -> bytes:
    return f"{prefix}:{{witness:{number}}}:count".encode()


def node_lives(prefix: str, number: int) -> bytes:
    return f"{prefix}:{{witness:{number}}}:lives".encode()


def compared_brokers(prefix: str, number: int) -> bytes:
    return f"{prefix}:{{witness:{number}}}:compared".encode()


def idempotency_key(prefix: str, digest: str) -> bytes:
    return f"{prefix}:{{idem:{digest}}}".encode()
