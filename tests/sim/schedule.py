"""The schedule of a run, which its seed determines: brokers, Redis, clients, and faults with their times.

    >>> schedule(7, 20.0).faults[0]
    Fault(at_s=2.4, kind="broker.kill", target="b1", lasts_s=1.9, amount=0)

A client makes its choices from a generator of its own, `choices(seed, name)`.  So one seed replays one schedule; how
the processes of a run interleave is up to the machine.

    topology          nodes of Redis
    single            r0
    cluster           r0 r1 r2
    sentinel          r0 r1 r2: a primary with two replicas (shard0), and three sentinels
    cluster-replicas  r0 to r5: three primaries with a replica each; shard0 is r0 and r3
"""

from __future__ import annotations

import random
from typing import NamedTuple

from tests.sim.clients.context import TOPICS

HOSTS = ("left", "right")  # clients of a host share their links to the brokers
FIRST_S = 2.0
TOPOLOGIES = {"single": 1, "cluster": 3, "sentinel": 3, "cluster-replicas": 6}  # → nodes of Redis
SHARDS = {"sentinel": 1, "cluster-replicas": 3}
DURABILITIES = ("process", "replicas")
PROMOTED_S = 4.0  # until a replica serves and the old primary has become its replica, about

# Kind → weight, shortest and longest seconds.
LINK_FAULTS = {
    "link.cut": (3, 0.0, 0.0),
    "link.hold": (3, 0.3, 4.0),
    "link.half_open": (3, 0.3, 4.0),
    "link.slow": (2, 0.5, 3.0),
    "link.refuse": (2, 0.2, 3.0),
    "link.lose_replies": (4, 0.0, 0.0),
    "link.break_reply": (3, 0.0, 0.0),
    "link.break_request": (3, 0.0, 0.0),
}
BROKER_FAULTS = {"broker.kill": (5, 0.1, 2.0), "broker.pause": (4, 0.2, 5.0), "clock.step": (2, 0.5, 4.0)}
HOST_FAULTS = {"host.hold": (2, 0.3, 4.0), "client.kill": (3, 0.0, 0.0)}
REDIS_FAULTS = {
    "redis.kill": (3, 0.0, 1.5),
    "redis.pause": (3, 0.2, 4.0),
    "redis.slow": (2, 0.5, 3.0),
    "redis.pause_writes": (2, 0.2, 2.0),
    "redis.flush_scripts": (2, 0.0, 0.0),
    "redis.full": (2, 0.5, 3.0),
    "disk.full": (2, 0.3, 2.0),
    "disk.slow": (2, 0.5, 3.0),
}
CLUSTER_FAULTS = {"slot.move": (4, 0.5, 3.0)}
SHARD_FAULTS = {
    "shard.kill": (5, 0.0, 2.0),
    "shard.freeze": (3, 0.0, 2.0),
    "shard.behind": (4, 0.3, 2.0),
    "shard.failover": (3, 0.0, 0.0),
    "shard.kill_replica": (4, 0.1, 2.0),
}
FORCED_FAULTS = {"shard.force": (4, 0.0, 0.0)}
FAULTS = LINK_FAULTS | BROKER_FAULTS | HOST_FAULTS | REDIS_FAULTS | CLUSTER_FAULTS | SHARD_FAULTS | FORCED_FAULTS
KILLS = {"broker.kill", "redis.kill", "shard.kill", "shard.freeze", "shard.behind", "shard.failover", "shard.force",
         "shard.kill_replica"}  # fmt: skip
# A dense run has fewer faults, and most of them are kills.
DENSE_PAUSE_S, PAUSE_S, DENSE_KILLS = (1.5, 5.5), (0.2, 1.5), 4


class Fault(NamedTuple):
    """amount: bytes, replies, milliseconds by which a clock is ahead or a sync of a file takes longer; shard.force: 1
    for TAKEOVER."""

    at_s: float
    kind: str
    target: str
    lasts_s: float
    amount: int

    @property
    def ends_s(self) -> float:
        return self.at_s + self.lasts_s


class WorkerPlan(NamedTuple):
    """role: program.function, such as sdk.produce."""

    name: str
    role: str
    host: str


class Schedule(NamedTuple):
    """chapter: of a long run (long_run.py); 0 is the first or only one.  sidecar: topics whose transactions wait beside
    the log."""

    seed: int
    seconds: float
    brokers: int
    topology: str
    durability: str
    fsync: str
    workers: tuple[WorkerPlan, ...]
    faults: tuple[Fault, ...]
    chapter: int = 0
    sidecar: tuple[str, ...] = ()

    @property
    def suffix(self) -> str:
        """Of the names of topics and clients."""
        return f".{self.chapter}" if self.chapter else ""

    @property
    def has_replicas(self) -> bool:
        return self.topology in SHARDS

    @property
    def shards(self) -> int:
        """Servers that each have a part of the data."""
        return 3 if self.topology.startswith("cluster") else 1

    @property
    def may_lose(self) -> bool:
        """A promoted replica may lack acknowledged writes."""
        return self.has_replicas and self.durability != "replicas"

    @property
    def world(self) -> str:
        buffer = f"sidecar buffer of {' '.join(self.sidecar) or 'no topic'}"
        servers = f"{self.brokers} brokers, Redis {self.topology}, durability {self.durability}"
        return f"{servers}, appendfsync {self.fsync}, {buffer}"

    def lock(self, fault: Fault) -> str:
        """Faults with the same lock come one after the other."""
        area = fault.kind.partition(".")[0]
        if not self.has_replicas:
            return fault.target
        # At `replicas`, a second failure of Redis could take the last copy of a write.
        if area in ("redis", "disk", "shard", "slot") or fault.target.startswith("replicas-"):
            return "redis"
        # A broker that is away for two seconds while others notice a loss may use offsets twice (decision 0028).
        if self.may_lose and (area in ("broker", "clock") or fault.target.startswith("brokers-")):
            return "redis"
        return fault.target

    def lines(self) -> list[str]:
        """For a person."""
        head = f"seed {self.seed}: {self.world}"
        return [head, *(f"    {f.at_s:6.2f} s {f.kind} {f.target} for {f.lasts_s:.2f} s" for f in self.faults)]


# Role → how many of it.
ROLES = {
    "sdk.produce": 1,
    "sdk.transact": 1,
    "sdk.schedule": 1,
    "subscriptions.shared": 2,
    "subscriptions.watch": 1,
    "subscriptions.exclusive": 2,
    "sdk.execute": 1,
    "sdk.step": 1,
    "rest.plain": 1,
    "rest.sequenced": 1,
    "rest.keyed": 1,
    "rest.transact": 1,
    "rest.read": 2,
    "aio.produce": 1,
    "aio.transact": 2,
    "aio.chain": 1,
    "aio.group": 2,
    "librdkafka.produce": 1,
    "librdkafka.transact": 1,
    "librdkafka.chain": 2,
    "sdk.keys": 1,
    "subscriptions.failover": 3,
    "subscriptions.key_shared": 3,
    "rest.keys": 1,
    "aio.keys": 1,
}
DENSE_ROLES = ROLES | {"sdk.dense": 2, "librdkafka.dense": 2}


def choices(seed: int, name: str) -> random.Random:
    return random.Random(f"{seed} {name}")


def schedule(
    seed: int, seconds: float, *, topology: str = "", durability: str = "", chapter: int = 0, is_dense: bool = False
) -> Schedule:
    """seconds: how long faults happen.  topology, durability: "" lets the seed choose.

    Every chapter of a seed has the same servers, and faults of its own."""
    chance = choices(seed, "schedule")
    chosen = chance.choice(("single", "single", "cluster", "sentinel", "cluster-replicas"))
    count = chance.choice((1, 2, 2, 3))
    fsync = chance.choice(("no", "always"))
    level = chance.choice(DURABILITIES)
    topology = topology or chosen
    plan = Schedule(
        seed, seconds, 2 if is_dense else count, topology,
        durability or (level if topology in SHARDS else "process"), fsync, (), (), chapter,
    )  # fmt: skip
    roles = DENSE_ROLES if is_dense else ROLES
    workers = tuple(
        WorkerPlan(f"{role}.{number}{plan.suffix}", role, chance.choice(HOSTS))
        for role, many in roles.items()
        for number in range(many)
    )
    plan = plan._replace(workers=workers, sidecar=sidecar_topics(seed))
    chance = choices(seed, f"faults{plan.suffix}")
    return plan._replace(faults=tuple(_faults(chance, plan, is_dense=is_dense)))


def sidecar_topics(seed: int) -> tuple[str, ...]:
    """Every second topic, so that most transactions of a run write to both buffers."""
    chance = choices(seed, "buffers")
    return tuple(topic for topic in TOPICS if chance.random() < 0.5)


def links(brokers: int, topology: str) -> list[str]:
    """Names of all links: from a host to a door of a broker, from brokers to Redis, and from replicas to Redis."""
    doors = [f"{host}-b{n}.{door}" for n in range(brokers) for host in HOSTS for door in ("http", "kafka")]
    if topology == "single":
        return doors + [f"b{n}-r0" for n in range(brokers)]
    replicas = [f"replicas-{node}" for node in nodes(topology)] if topology in SHARDS else []
    return doors + [f"brokers-{node}" for node in nodes(topology)] + replicas


def nodes(topology: str) -> list[str]:
    return [f"r{n}" for n in range(TOPOLOGIES[topology])]


def weights(topology: str, *, is_dense: bool) -> dict[str, int]:
    """Kind of fault → how often it happens there."""
    possible = LINK_FAULTS | BROKER_FAULTS | HOST_FAULTS | REDIS_FAULTS
    if topology.startswith("cluster"):
        possible |= CLUSTER_FAULTS
    if topology in SHARDS:
        possible |= SHARD_FAULTS
    if topology == "cluster-replicas":
        possible |= FORCED_FAULTS
    return {
        kind: weight * DENSE_KILLS if kind in KILLS and is_dense else 1 if is_dense else weight
        for kind, (weight, _, _) in possible.items()
    }


def _faults(chance: random.Random, plan: Schedule, *, is_dense: bool) -> list[Fault]:
    """Faults may overlap, but not those with one lock."""
    brokers = [f"b{n}" for n in range(plan.brokers)]
    targets = {
        "link": links(plan.brokers, plan.topology),
        "broker": brokers,
        "clock": brokers,
        "host": list(HOSTS),
        "client": [each.name for each in plan.workers if each.role.startswith("librdkafka")],
        "redis": nodes(plan.topology),
        "disk": nodes(plan.topology),
        "slot": ["slots"],
        "shard": [f"shard{n}" for n in range(SHARDS.get(plan.topology, 0))],
    }
    possible = weights(plan.topology, is_dense=is_dense)
    found: list[Fault] = []
    busy: dict[str, float] = {}
    at_s = FIRST_S
    while at_s < plan.seconds:
        (kind,) = chance.choices(list(possible), list(possible.values()))
        target = chance.choice(targets[kind.partition(".")[0]])
        _, shortest, longest = FAULTS[kind]
        lasts_s = min(chance.uniform(shortest, longest), plan.seconds - at_s)
        fault = Fault(round(at_s, 2), kind, target, round(lasts_s, 2), _amount(chance, kind))
        if busy.get(plan.lock(fault), 0.0) <= at_s:
            found.append(fault)
            more_s = PROMOTED_S if kind.startswith("shard.") else 0.0
            busy[plan.lock(fault)] = fault.ends_s + 0.2 + more_s
        at_s += chance.uniform(*(DENSE_PAUSE_S if is_dense else PAUSE_S))
    return found


def _amount(chance: random.Random, kind: str) -> int:
    if kind == "clock.step":
        return chance.choice((-20_000, -1_000, 1_000, 20_000))
    if kind == "link.lose_replies":
        return chance.randint(1, 3)
    if kind in ("link.break_reply", "link.break_request"):
        return chance.choice((1, 3, 17, 60, 200, 1_000))
    if kind == "disk.slow":
        return chance.choice((20, 100, 300))
    if kind == "shard.force":
        return chance.choice((0, 1))
    return 0
