"""Runs an image as a careful operator does: no capabilities, root read-only, /tmp in memory, one volume.

Namespaces for processes, mounts and network are the container's own, so what is started is process 1 and listens on its
own 0.0.0.0:8080.  What Docker adds to this (cgroups, seccomp, images in layers) is not tried here.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.image.build import Image
from tests.support.reaper import ends_with_us

PATIENCE_S = 30.0
DATA = "/data"

# $1 root, $2 ro or rw, then pairs of a place outside and its place inside, --, and the command.
START = """
set -e
root=$1; mode=$2; shift 2
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for name in null zero full random urandom; do : > "$root/dev/$name"; mount --bind "/dev/$name" "$root/dev/$name"; done
mount -o remount,ro "$root/dev"
mount -t tmpfs -o mode=1777,nosuid,nodev,noexec tmpfs "$root/tmp"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
while [ "$1" != -- ]; do
    mkdir -p "$root$(dirname "$2")"
    if [ -d "$1" ]; then mkdir -p "$root$2"; else [ -e "$root$2" ] || : > "$root$2"; fi
    mount --bind "$1" "$root$2"
    shift 2
done
shift
mount -o remount,ro "$root/run"
ip link set lo up
mount -o "remount,bind,$mode" "$root"
exec chroot "$root" "$@"
"""
NAMESPACES = ("--mount", "--pid", "--net", "--ipc", "--uts")


class Container:
    """words: after the image's name on a command line; none: the image's own command.

    data    the volume, on /data
    places  further bind mounts, outside → inside
    """

    def __init__(
        self,
        image: Image,
        *words: str,
        data: Path,
        env: Mapping[str, str] | None = None,
        places: Mapping[Path, str] | None = None,
        mode: str = "ro",
    ) -> None:
        self._image, self._env = image, {**image.env, "HOME": "/nonexistent", **(env or {})}
        mounts = [part for outside, inside in {data: DATA, **(places or {})}.items() for part in (str(outside), inside)]
        entering = ["unshare", *NAMESPACES, "--fork", "--kill-child", "/bin/sh", "-c", START, "start"]
        command = self._as_user([*image.entrypoint, *(words or image.command)])
        self._began_s = time.monotonic()
        self.process = subprocess.Popen(
            [*entering, str(image.root), mode, *mounts, "--", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        ends_with_us(self.process)

    def _as_user(self, words: Sequence[str]) -> list[str]:
        user, _, group = self._image.user.partition(":")
        drop = ["--clear-groups", "--no-new-privs", "--bounding-set", "-all", "--inh-caps", "-all"]
        variables = [f"{name}={value}" for name, value in self._env.items()]
        enter = ["/usr/bin/env", "-i", "-C", self._image.workdir, *variables, *words]
        return ["/usr/bin/setpriv", "--reuid", user, "--regid", group, *drop, *enter]

    def ready_s(self) -> float:
        """Seconds from the start to the ready line, namespaces and mounts included."""
        assert self.process.stdout is not None
        assert select.select([self.process.stdout], [], [], PATIENCE_S)[0], "no ready line"
        line = self.process.stdout.readline()
        took_s = time.monotonic() - self._began_s
        assert line.startswith("ready "), self.end()
        return took_s

    @property
    def pid(self) -> int:
        """Process 1 of the container, as this machine counts it."""
        outside = self.process.pid
        return int(Path(f"/proc/{outside}/task/{outside}/children").read_text().split()[0])

    def exec(self, *words: str) -> subprocess.CompletedProcess[str]:
        """As `docker exec` does."""
        enter = ["nsenter", "--target", str(self.pid), "--mount", "--pid", "--net", "--ipc", "--root", "--"]
        return subprocess.run(
            [*enter, *self._as_user(words)], capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )

    def health(self) -> subprocess.CompletedProcess[str]:
        return self.exec(*self._image.health)

    def stop(self) -> tuple[int, str]:
        """As `docker stop`: exit code and stderr."""
        os.kill(self.pid, getattr(signal, self._image.stop_signal))
        return self.end()

    def kill(self) -> None:
        """As `docker kill`: everything in it is gone at once."""
        os.kill(self.pid, signal.SIGKILL)
        self.end()

    def end(self) -> tuple[int, str]:
        """Exit code and stderr, once it has ended by itself."""
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, errors

    def clean_up(self) -> None:
        if self.process.poll() is None:
            # Process 1 itself: a change of user has let go of the tie between it and unshare.
            with contextlib.suppress(IndexError, ProcessLookupError, FileNotFoundError):
                os.kill(self.pid, signal.SIGKILL)
            self.process.kill()
        self.process.communicate()
