"""The limit of open files (`ulimit -n`): connections of clients leave enough for Redis and for files.

Without that, clients with no credentials could open so many connections that neither `http_connections_max` nor
`kafka_connections_max` is reached, and no other client can connect.

    limit 1024 ─▶ raised to what the limits of connections need, as far as the hard limit allows
    too low    ─▶ these limits are lowered to what is there
"""

from __future__ import annotations

import dataclasses
import resource

from redis_ledger.app.http.connection_limits import SPARE_CONNECTIONS
from redis_ledger.config import Config
from redis_ledger.telemetry import logs

RESERVED = 192  # for connections to Redis, listeners, files, and connections that are being closed

_log = logs.get()


def with_enough_files(config: Config) -> Config:
    """Raises this process's limit, and returns the settings that fit it."""
    wanted = config.http_connections_max + config.kafka_connections_max + SPARE_CONNECTIONS + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return config
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if limit > soft:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        except (ValueError, OSError):  # macOS has a lower limit than the hard one
            limit = soft
    if limit == wanted:
        return config
    fitting = fitted(config, limit)
    log = _log.warning if limit < wanted / 2 else _log.info
    log(
        "the limit of open files is too low for the limits of connections; raise it with ulimit -n", limit=limit,
        wanted=wanted, http_connections_max=fitting.http_connections_max,
        kafka_connections_max=fitting.kafka_connections_max,
    )  # fmt: skip
    return fitting


def fitted(config: Config, files: int) -> Config:
    """Lowers the limits of connections to what so many files have room for.  One gets what the other does not need."""
    room = max(files - SPARE_CONNECTIONS - RESERVED, files // 2)
    http, kafka = config.http_connections_max, config.kafka_connections_max
    http = min(http, max(room // 2, room - kafka))
    return dataclasses.replace(config, http_connections_max=http, kafka_connections_max=min(kafka, room - http))
