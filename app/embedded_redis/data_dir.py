"""The contents of a data directory that can be read without its server: cluster ids and attached brokers.

cluster-id         JSON: prefix → cluster id, written at the first start; with it, an empty server has lost its data
brokers/<pid>-<n>  one per attached broker, flocked as long as it lives
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

from redis_ledger.app.embedded_redis.data_disk import replace
from redis_ledger.app.process.command_error import CommandError

CLUSTER_ID = "cluster-id"


def known_cluster(data_dir: Path, prefix: str) -> str:
    """The id of the cluster whose data is in this directory; "" before its first start.  Raises CommandError."""
    return _clusters(data_dir).get(prefix, "")


def remember_cluster(data_dir: Path, prefix: str, cluster_id: str) -> None:
    """Raises OSError."""
    clusters = _clusters(data_dir)
    if clusters.get(prefix) != cluster_id:
        replace(data_dir / CLUSTER_ID, json.dumps({**clusters, prefix: cluster_id}) + "\n")


def living_brokers(data_dir: Path) -> Iterator[int]:
    """Process ids of other broker processes that use the directory."""
    for path in (data_dir / "brokers").glob("*-*"):
        pid = path.name.partition("-")[0]
        try:
            with open(path) as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            if pid.isdigit() and int(pid) != os.getpid():
                yield int(pid)
        except OSError:
            continue


def _clusters(data_dir: Path) -> dict[str, str]:
    path = data_dir / CLUSTER_ID
    try:
        return {str(prefix): str(of) for prefix, of in json.loads(path.read_text()).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError) as error:
        raise CommandError(f"{path} cannot be read: delete it if the data in this directory is complete.") from error
