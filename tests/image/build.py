"""Does what a Dockerfile says, step by step, in folders instead of layers; each RUN in a chroot of its own namespaces.

FROM          a copy of the base (tests/image/base.py), whatever image is named
COPY          files of the context that .dockerignore lets through, owned by root; or a folder of an earlier stage
RUN           /bin/sh -c as root, with this machine's network; cache mounts are folders of the user's cache
the others    what containers are started with, see `Image`
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.image import dockerfile
from tests.image.base import CACHE, base_root
from tests.image.dockerfile import Instruction, Stage

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# How this machine reaches package registries, and whom it trusts.  Docker hands proxies to a build in the same way.
HANDED_IN = ("http_proxy", "https_proxy", "no_proxy", "ssl_cert_file", "requests_ca_bundle", "pip_")

# $1 root, then pairs of a place outside and its place inside, --, and the command.  Nothing of it is left outside.
ENTER = """
set -e
root=$1; shift
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
while [ "$1" != -- ]; do
    mkdir -p "$root$(dirname "$2")"
    if [ -d "$1" ]; then mkdir -p "$root$2"; else [ -e "$root$2" ] || : > "$root$2"; fi
    mount --bind "$1" "$root$2"
    shift 2
done
shift
exec chroot "$root" "$@"
"""


@dataclass
class Image:
    """root: its files.  The rest is what a container is started with."""

    root: Path
    env: dict[str, str] = field(default_factory=lambda: {"PATH": PATH})
    workdir: str = "/"
    user: str = "0:0"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    volumes: list[str] = field(default_factory=list)
    stop_signal: str = "SIGTERM"


def build(project: Path, place: Path, arguments: Mapping[str, str] | None = None) -> Image:
    """The image of the last stage.  place: an empty folder for the roots of all stages."""
    base = base_root()
    ignored = dockerfile.patterns((project / ".dockerignore").read_text())
    made: dict[str, Image] = {}
    image = None
    for number, stage in enumerate(dockerfile.stages((project / "Dockerfile").read_text(), arguments)):
        image = Image(place / f"stage-{number}")
        subprocess.run(["cp", "-a", "--reflink=auto", base, image.root], check=True)
        _Building(project, ignored, made, image).carry_out(stage)
        made[stage.name] = image
    assert image is not None, "a Dockerfile without FROM"
    return image


class _Building:
    """One stage under way."""

    def __init__(self, project: Path, ignored: list[str], made: Mapping[str, Image], image: Image) -> None:
        self._project, self._ignored, self._made, self._image = project, ignored, made, image
        self._arguments: dict[str, str] = {}

    def carry_out(self, stage: Stage) -> None:
        for each in stage.instructions:
            getattr(self, f"_{each.word.lower()}")(each)

    @property
    def _variables(self) -> dict[str, str]:
        return {**self._arguments, **self._image.env}

    def _inside(self, path: str) -> Path:
        return self._image.root / os.path.normpath(os.path.join(self._image.workdir, path)).lstrip("/")

    def _arg(self, each: Instruction) -> None:
        self._arguments |= each.pairs(self._variables)

    def _env(self, each: Instruction) -> None:
        self._image.env |= each.pairs(self._variables)

    def _label(self, each: Instruction) -> None:
        assert each.pairs(self._variables)

    def _workdir(self, each: Instruction) -> None:
        self._image.workdir = os.path.normpath(os.path.join(self._image.workdir, each.value))
        self._inside(".").mkdir(parents=True, exist_ok=True)

    def _user(self, each: Instruction) -> None:
        self._image.user = each.value

    def _volume(self, each: Instruction) -> None:
        self._image.volumes += each.words()

    def _expose(self, each: Instruction) -> None:
        assert all(port.isdigit() for port in each.value.split())

    def _stopsignal(self, each: Instruction) -> None:
        self._image.stop_signal = each.value

    def _entrypoint(self, each: Instruction) -> None:
        self._image.entrypoint = each.words()

    def _cmd(self, each: Instruction) -> None:
        self._image.command = each.words()

    def _healthcheck(self, each: Instruction) -> None:
        self._image.health = each._replace(value=each.value.removeprefix("CMD")).words()

    def _copy(self, each: Instruction) -> None:
        *sources, target = each.value.split()
        stage = each.flag("from")
        to = self._inside(target)
        for source in sources:
            if stage is not None:
                shutil.copytree(self._made[stage].root / source.lstrip("/"), to, symlinks=True, dirs_exist_ok=True)
                continue
            for name in dockerfile.context(self._project, [source], self._ignored):
                # Of a folder the content is copied, a file goes into a folder.
                place = to / (name.relative_to(source) if (self._project / source).is_dir() else name.name)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self._project / name, place, follow_symlinks=False)
                os.chown(place, 0, 0, follow_symlinks=False)

    def _run(self, each: Instruction) -> None:
        assert self._image.user == "0:0", f"line {each.line}: RUN after USER"
        handed_in = {name: value for name, value in os.environ.items() if name.lower().startswith(HANDED_IN)}
        places = [("/etc/resolv.conf", "/etc/resolv.conf"), ("/etc/hosts", "/etc/hosts")]
        places += [(value, value) for value in sorted(set(handed_in.values())) if os.path.isabs(value)]
        for flag in each.flags:
            mount = dict(pair.split("=", 1) for pair in flag.removeprefix("--mount=").split(","))
            assert mount.keys() == {"type", "target"}
            assert mount["type"] == "cache", f"line {each.line}: {flag} is not understood"
            cache = CACHE / "mounts" / mount["target"].strip("/").replace("/", "-")
            cache.mkdir(parents=True, exist_ok=True)
            places.append((str(cache), mount["target"]))
        variables = {**self._arguments, **handed_in, **self._image.env, "HOME": "/root"}
        words = ["/bin/sh", "-c", f"cd {self._image.workdir} && {each.value}"]
        before = {inside: (self._image.root / inside.lstrip("/")).exists() for _, inside in places}
        done = subprocess.run(
            [
                *entering("--pid"),
                str(self._image.root),
                *(part for pair in places if os.path.exists(pair[0]) for part in pair),
                "--",
                "/usr/bin/env",
                "-i",
                *(f"{name}={value}" for name, value in variables.items()),
                *words,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"line {each.line}: RUN {each.value}\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        for inside, was_there in before.items():
            place = self._image.root / inside.lstrip("/")
            # Places that were made to mount on are no part of the image.
            if not was_there and place.exists():
                place.unlink() if place.is_file() else shutil.rmtree(place)


def entering(*namespaces: str) -> list[str]:
    """The command that takes root, places, -- and a command: see ENTER."""
    return ["unshare", "--mount", *namespaces, "--fork", "--kill-child", "/bin/sh", "-c", ENTER, "enter"]
