"""Plausible values for the fields of requests, by the field's name, so that a frame reaches what lies behind its codec.

Topics are TOPICS, which exist (a janitor makes them again); ids of topics, producers, members and fetch sessions are
those that the broker has given: `hear` takes them from its answers.  What a name does not tell gets a value of its
type.
"""

from __future__ import annotations

import contextlib
from collections import deque
from random import Random
from typing import Any, NamedTuple

from redis_ledger.kafka.protocol.primitives import NO_UUID
from scripts.wire.schema import Field, Struct
from tests.fuzz.batches import hostile, plain

TOPICS = ("fuzz-0", "fuzz-1", "fuzz-2")
PASSING = (
    "fuzz-passing-0",
    "fuzz-passing-1",
)  # to be made and deleted; were it TOPICS, nothing else would be met any more
PARTITIONS = 3
GROUPS = ("fuzz-g0", "fuzz-g1", "fuzz-modern")
TRANSACTIONAL_IDS = ("fuzz-t0", "fuzz-t1", "fuzz-t2")
SPAN = {"int8": 8, "int16": 16, "uint16": 16, "int32": 32, "uint32": 32, "int64": 64}
TEXTS = (
    "",
    "a",
    "é" * 9,
    "x" * 249,
    "x" * 250,
    ".",
    "..",
    "a b",
    "a/b",
    "{a}",
    "%00",
    "\0",
    "\x7f",
    "x" * 4_000,
    "x" * 32_767,
)
CONFIGS = (
    "retention.ms",
    "retention.bytes",
    "cleanup.policy",
    "segment.ms",
    "max.message.bytes",
    "min.insync.replicas",
    "delayed.delivery",
    "no.such",
)
SETTINGS = (
    "-1",
    "0",
    "1",
    "86400000",
    "delete",
    "compact",
    "",
    "x",
    "9223372036854775807",
    "99999999999999999999",
    "1e9",
    "1\n",
    "true",
)
# Of version 0: the topic fuzz-0; and its partition 0.
SUBSCRIPTION = bytes.fromhex("0000 00000001 0006 66757a7a2d30 ffffffff")
ASSIGNMENT = bytes.fromhex("0000 00000001 0006 66757a7a2d30 00000001 00000000 ffffffff")
PASSING_STRUCTS = ("CreatableTopic", "DeleteTopicState", "DeleteTopicsRequest")
PATTERNS = ("(", "a{99999999999}", "(" * 240, "(?P<a>.)(?P=b)", "\\", "(?i", "[a-", "." * 300, "(?:" * 60 + ")*" * 60)
CONFIG_STRUCTS = ("AlterableConfig", "CreatableTopicConfig")


class Producer(NamedTuple):
    transactional_id: str | None
    id: int
    epoch: int


class Member(NamedTuple):
    group: str
    id: str
    generation: int


class Words:
    """What has been heard of the broker, the newest of each.  producer and member are those that a request speaks for.
    is_strict: all its fields agree on them; otherwise one or the other says something else."""

    def __init__(self) -> None:
        self.topic_ids: dict[str, bytes] = {}
        self.producers: dict[str | None, Producer] = {None: Producer(None, 1, 0)}
        self.members: deque[Member] = deque([Member(group, "", -1) for group in GROUPS], maxlen=8)
        self.sessions: deque[int] = deque([0], maxlen=8)
        self.producer, self.member = self.producers[None], self.members[0]
        self.is_strict = False

    def choose(self, rng: Random) -> None:
        """Whom the next request speaks for."""
        named = [self.producers[name] for name in TRANSACTIONAL_IDS if name in self.producers]
        self.producer = rng.choice(named) if named and rng.random() < 0.9 else self.producers[None]
        self.member = rng.choice(self.members)
        self.is_strict = rng.random() < 0.7

    def _strays(self, rng: Random, odds: float) -> bool:
        return not self.is_strict and rng.random() < odds

    def hear(self, asked: Any, answer: Any) -> None:
        match type(answer).__name__:
            case "InitProducerIdResponse" | "EndTxnResponse" if answer.error_code == 0 and answer.producer_id >= 0:
                if asked.transactional_id in (None, *TRANSACTIONAL_IDS):
                    made = Producer(asked.transactional_id, answer.producer_id, answer.producer_epoch)
                    self.producers[asked.transactional_id] = made
            case "JoinGroupResponse" if answer.member_id:
                self._join(Member(asked.group_id, answer.member_id, answer.generation_id))
            case "ConsumerGroupHeartbeatResponse" if answer.member_id:
                self._join(Member(asked.group_id, answer.member_id, answer.member_epoch))
            case "FetchResponse" if answer.session_id:
                self.sessions.append(answer.session_id)

    def _join(self, member: Member) -> None:
        with contextlib.suppress(StopIteration):
            self.members.remove(next(each for each in self.members if each.id == member.id))
        self.members.append(member)

    # -- one field -------------------------------------------------------------------------------------------------

    def element(self, struct: Struct, field: Field, rng: Random) -> Any:
        """A plausible value; of an array, one of its elements.  Null only where its name makes that likely."""
        name, kind = field.name.removeprefix("v3_and_below_"), field.element
        match kind:
            case "string":
                return self._text(struct, name, rng)
            case "uuid":
                if struct.name == "DeleteTopicState" and rng.random() < 0.9:
                    return NO_UUID
                ids = list(self.topic_ids.values())
                return rng.choice([*ids, *ids, NO_UUID, rng.randbytes(16)])
            case "bool":
                return rng.random() < 0.5
            case "float64":
                return rng.choice((0.0, -1.0, 1.5, 1_000.0, 1e300, float("inf"), float("nan")))
            case "bytes":
                return rng.choice((b"", SUBSCRIPTION, ASSIGNMENT, rng.randbytes(rng.randrange(40))))
            case "records":
                return self._records(rng)
        assert kind is not None
        return self._number(struct, name, kind, rng)

    def _records(self, rng: Random) -> bytes | None:
        if rng.random() < 0.03:
            return None
        producer = rng.choice(((-1, -1), self.producer[1:]))
        return plain(rng, *producer) if rng.random() < 0.4 else hostile(rng, *producer)

    def _text(self, struct: Struct, name: str, rng: Random) -> str | None:
        if self._strays(rng, 0.15):
            return rng.choice(TEXTS)
        match name:
            case "name" | "topic_names" if struct.name in PASSING_STRUCTS and rng.random() < 0.93:
                return rng.choice(PASSING)
            case "topic" | "topics" | "topic_name" | "topic_names":
                return rng.choice(TOPICS)
            case "name" if "Topic" in struct.name and struct.name not in CONFIG_STRUCTS:
                return rng.choice(TOPICS)
            case "name" if struct.name in CONFIG_STRUCTS:
                return rng.choice(CONFIGS)
            case "configuration_keys":
                return rng.choice(CONFIGS)
            case "name" if struct.name == "JoinGroupRequestProtocol":
                return "roundrobin" if self._strays(rng, 0.3) else "range"
            case "value":
                return rng.choice(SETTINGS)
            case "resource_name":
                return rng.choice((*TOPICS, "1", "0", "", GROUPS[0]))
            case "group_id" | "group_ids" | "groups" | "groups_names":
                return rng.choice(GROUPS) if self._strays(rng, 0.4) else self.member.group
            case "key" | "coordinator_keys":
                return rng.choice(GROUPS + TRANSACTIONAL_IDS)
            case "transactional_id" | "transactional_ids":
                if self._strays(rng, 0.5):
                    return rng.choice((*TRANSACTIONAL_IDS, None))
                return self.producer.transactional_id or rng.choice(TRANSACTIONAL_IDS)
            case "member_id":
                return rng.choice(("", "absent")) if self._strays(rng, 0.3) else self.member.id
            case "group_instance_id" | "instance_id" | "rack_id" | "cluster_id" | "protocol_name":
                return rng.choice((None, None, "s1", "range"))
            case "protocol_type":
                return "connect" if self._strays(rng, 0.3) else "consumer"
            case "mechanism":
                return rng.choice(("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"))
            case "server_assignor":
                return rng.choice((None, "uniform", "range"))
            case "subscribed_topic_regex" | "transactional_id_pattern":
                return rng.choice((None, None, "fuzz-.*", *PATTERNS))
        return rng.choice(("fuzz", "range", "u1"))

    def _number(self, struct: Struct, name: str, kind: str, rng: Random) -> int:
        if self._strays(rng, 0.12):
            return boundary(kind, rng)
        match name:
            case "producer_id" | "producer_epoch" if struct.name == "InitProducerIdRequest" and rng.random() < 0.8:
                return -1
            case "producer_id":
                return self.producer.id
            case "producer_epoch":
                return rng.choice((-1, 0, 1)) if self._strays(rng, 0.3) else self.producer.epoch
            case "index" | "partition" | "partitions" | "partition_index" | "partition_indexes":
                return rng.choice((PARTITIONS, -1, 100)) if self._strays(rng, 0.4) else rng.randrange(PARTITIONS)
            case "generation_id" | "generation_id_or_member_epoch" | "member_epoch":
                return rng.choice((-1, 0, 1)) if self._strays(rng, 0.4) else self.member.generation
            case "session_id":
                return rng.choice(self.sessions)
            case "session_epoch" | "replica_id" | "broker_id":
                return rng.choice((-1, 0, 1, 2))
            case "acks":
                return rng.choice((-1, -1, -1, 1, 1, 0))
            case "max_wait_ms":
                return rng.choice((0, 0, 10, 100))
            case "session_timeout_ms" | "rebalance_timeout_ms":
                return rng.choice((6_000, 10_000))
            case "timeout_ms" | "transaction_timeout_ms":
                return rng.choice((1_000, 2_000, 5_000))
            case "num_partitions" | "count":
                return rng.choice((1, 2, 5, -1, 0))
            case "replication_factor":
                return rng.choice((1, -1, 3))
            case "resource_type":
                return rng.choice((2, 2, 4, 32))
            case "timestamp":
                return rng.choice((-1, -2, -3, -4, -5, 0, 1_700_000_000_000))
            case "isolation_level" | "key_type" | "config_operation" | "mechanism" | "transaction_version":
                return rng.choice((0, 1, 2))
            case "iterations":
                return rng.choice((4_096, 8_192, 1))
            case "partition_max_bytes" | "max_bytes" | "response_partition_limit":
                return rng.choice((1, 1_000, 1 << 20))
        if "epoch" in name:
            return rng.choice((-1, -1, 0, 1))
        return rng.choice((0, 1, 2, 10, 100))


def boundary(kind: str, rng: Random) -> int:
    """A number where a type, or a type that it is made into, ends."""
    bits = SPAN[kind]
    signed = kind.startswith("int")
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    found = [least, least + 1, most, most - 1, 0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0x7FFFFFFF, 0x80000000, 1 << 53]
    found += [-1, -2, -(1 << 31), -(1 << 53), (1 << 53) + 1, 100_000_000_000_000]
    return rng.choice([number for number in found if least <= number <= most])
