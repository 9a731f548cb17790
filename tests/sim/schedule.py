"""The schedule of a run, which its seed determines: brokers, Redis, clients, and faults with their times.

    >>> schedule(7, 20.0).faults[0]
    Fault(at_s=2.4, kind="broker.kill", target="b1", lasts_s=1.9, amount=0)

A client makes its choices from a generator of its own, `choices(seed, name)`.  So one seed replays one schedule; how
the processes of a run interleave is up to the machine.
"""

from __future__ import annotations

import random
from typing import NamedTuple

HOSTS = ("left", "right")  # clients of a host share their links to the brokers
FIRST_S = 2.0

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
}
CLUSTER_FAULTS = {"slot.move": (4, 0.5, 3.0)}
FAULTS = LINK_FAULTS | BROKER_FAULTS | HOST_FAULTS | REDIS_FAULTS | CLUSTER_FAULTS


class Fault(NamedTuple):
    """amount: bytes, replies, or milliseconds by which a clock is ahead."""

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
    seed: int
    seconds: float
    brokers: int
    redis: str
    fsync: str
    workers: tuple[WorkerPlan, ...]
    faults: tuple[Fault, ...]

    def lines(self) -> list[str]:
        """For a person."""
        head = f"seed {self.seed}: {self.brokers} brokers, Redis {self.redis}, appendfsync {self.fsync}"
        return [head, *(f"    {f.at_s:6.2f} s {f.kind} {f.target} for {f.lasts_s:.2f} s" for f in self.faults)]


# Role → how many of it.
ROLES = {
    "sdk.produce": 1,
    "sdk.transact": 1,
    "sdk.schedule": 1,
    "sdk.shared": 2,
    "sdk.watch": 1,
    "sdk.exclusive": 2,
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
}


def choices(seed: int, name: str) -> random.Random:
    return random.Random(f"{seed} {name}")


def schedule(seed: int, seconds: float, *, brokers: int | None = None, redis: str | None = None) -> Schedule:
    """seconds: how long faults happen.  redis: single or cluster."""
    chance = choices(seed, "schedule")
    redis = redis or chance.choice(("single", "single", "cluster"))
    count = brokers or chance.choice((1, 2, 2, 3))
    fsync = chance.choice(("no", "always"))
    workers = tuple(
        WorkerPlan(f"{role}.{number}", role, chance.choice(HOSTS))
        for role, many in ROLES.items()
        for number in range(many)
    )
    return Schedule(seed, seconds, count, redis, fsync, workers, tuple(_faults(chance, seconds, count, redis)))


def links(brokers: int, redis: str) -> list[str]:
    """Names of all links: from a host to a door of a broker, and from a broker to Redis."""
    doors = [f"{host}-b{n}.{door}" for n in range(brokers) for host in HOSTS for door in ("http", "kafka")]
    if redis == "single":
        return doors + [f"b{n}-r0" for n in range(brokers)]
    return doors + [f"brokers-{node}" for node in nodes(redis)]


def nodes(redis: str) -> list[str]:
    return ["r0"] if redis == "single" else ["r0", "r1", "r2"]


def _faults(chance: random.Random, seconds: float, brokers: int, redis: str) -> list[Fault]:
    """Faults may overlap, but not on one target."""
    targets = {
        "link": links(brokers, redis),
        "broker": [f"b{n}" for n in range(brokers)],
        "clock": [f"b{n}" for n in range(brokers)],
        "host": list(HOSTS),
        "client": [f"{role}.{n}" for role, many in ROLES.items() if role.startswith("librdkafka") for n in range(many)],
        "redis": nodes(redis),
        "slot": ["slots"],
    }
    possible = [kind for kind in FAULTS if kind not in CLUSTER_FAULTS or redis == "cluster"]
    found: list[Fault] = []
    busy: dict[str, float] = {}
    at_s = FIRST_S
    while at_s < seconds:
        (kind,) = chance.choices(possible, [FAULTS[each][0] for each in possible])
        target = chance.choice(targets[kind.partition(".")[0]])
        _, shortest, longest = FAULTS[kind]
        lasts_s = min(chance.uniform(shortest, longest), seconds - at_s)
        fault = Fault(round(at_s, 2), kind, target, round(lasts_s, 2), _amount(chance, kind))
        if busy.get(target, 0.0) <= at_s:
            found.append(fault)
            busy[target] = fault.ends_s + 0.2
        at_s += chance.uniform(0.2, 1.5)
    return found


def _amount(chance: random.Random, kind: str) -> int:
    if kind == "clock.step":
        return chance.choice((-20_000, -1_000, 1_000, 20_000))
    if kind == "link.lose_replies":
        return chance.randint(1, 3)
    if kind in ("link.break_reply", "link.break_request"):
        return chance.choice((1, 3, 17, 60, 200, 1_000))
    return 0
