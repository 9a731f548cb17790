"""A container of the chart as a process here: its command, arguments, environment and files exactly as rendered.

Only addresses change: where it listens, where Redis is, and the folder that stands for the root of its file system.
Kubernetes' part is done as it does it: variables from fields and secrets, $(NAME), secrets as files.
"""

from __future__ import annotations

import os
import re
import select
import signal
import ssl
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import httpx

from tests.support import chart
from tests.support.reaper import ends_with_us

ROOT = Path(__file__).parents[2]
PATIENCE_S = 20.0
Secrets = Mapping[str, Mapping[str, str]]


def image_environment() -> dict[str, str]:
    """The image's own settings, with which the chart must agree."""
    return dict(re.findall(r"\b(REDIS_LEDGER_\w+)=(\S+)", (ROOT / "Dockerfile").read_text()))


def secrets_of(name: str) -> dict[str, dict[str, str]]:
    """Of the secrets that the chart makes: name → key → text."""
    made = [each for each in chart.manifests(name) if each["kind"] == "Secret"]
    return {each["metadata"]["name"]: dict(each["stringData"]) for each in made}


class Pod:
    """values: a file of tests/chart/values.  called: the StatefulSet.  secrets: of the chart, and those it expects.

    addresses: text of the rendered command, environment and files → what stands for it here.
    fields: what Kubernetes would say of the pod, by path.
    """

    def __init__(
        self,
        values: str,
        called: str,
        root: Path,
        secrets: Secrets,
        addresses: Mapping[str, str],
        fields: Mapping[str, str] | None = None,
    ) -> None:
        self.spec = chart.one(values, "StatefulSet", called)["spec"]["template"]["spec"]
        self.container = self.spec["containers"][0]
        self.root, self._secrets, self._addresses = root, secrets, addresses
        self._fields = {"metadata.name": f"{called}-0", "metadata.namespace": chart.NAMESPACE, **(fields or {})}
        self._process: subprocess.Popen[str] | None = None
        self._mount()

    def _here(self, text: str) -> str:
        """Addresses and mounted folders as they are here."""
        places = "|".join(re.escape(mount["mountPath"]) for mount in self.container["volumeMounts"])
        text = re.sub(rf"(?<![\w.])(?:{places})(?![\w-])", lambda found: f"{self.root}{found[0]}", text)
        for there, here in self._addresses.items():
            text = text.replace(there, here)
        return text

    def _mount(self) -> None:
        volumes = {each["name"]: each for each in self.spec["volumes"]}
        for mount in self.container["volumeMounts"]:
            folder = Path(f"{self.root}{mount['mountPath']}")
            folder.mkdir(parents=True, exist_ok=True)
            secret = volumes.get(mount["name"], {}).get("secret")
            if secret is not None:
                content = self._secrets[secret["secretName"]]
                for item in secret.get("items", [{"key": key, "path": key} for key in content]):
                    (folder / item["path"]).write_text(self._here(content[item["key"]]))

    def environment(self) -> dict[str, str]:
        """As Kubernetes sets it, and nothing of ours but where programs are."""
        found: dict[str, str] = {}
        for each in self.container["env"]:
            if "value" in each:
                found[each["name"]] = expanded(each["value"], found)
                continue
            source = each["valueFrom"]
            if "fieldRef" in source:
                found[each["name"]] = self._fields[source["fieldRef"]["fieldPath"]]
            else:
                wanted = source["secretKeyRef"]
                found[each["name"]] = self._secrets[wanted["name"]][wanted["key"]]
        return found

    def command(self) -> list[str]:
        words = [*self.container["command"], *self.container.get("args", [])]
        return [expanded(word, self.environment()) for word in words]

    def start(self, program: str | None = None) -> None:
        """program: in place of the first word, where a program goes by another name here."""
        words = [self._here(word) for word in self.command()]
        self._process = self._spawn([program or words[0], *words[1:]])

    def exec(self, *words: str) -> str:
        """As `kubectl exec`: what a command in the running container prints."""
        spawned = self._spawn(words)
        said, errors = spawned.communicate(timeout=PATIENCE_S)
        assert spawned.returncode == 0, errors
        return said

    def _spawn(self, words: Sequence[str]) -> subprocess.Popen[str]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        shown = {key: self._here(value) for key, value in {**self._image(), **self.environment()}.items()}
        work = self.root / "work"
        work.mkdir(parents=True, exist_ok=True)
        spawned = subprocess.Popen(
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=work,
            env={"PATH": path, "HOME": "/nonexistent", **shown},
        )
        ends_with_us(spawned)
        return spawned

    def _image(self) -> dict[str, str]:
        return image_environment() if self.container["name"] == "broker" else {}

    def line(self) -> str:
        """The first line on stdout."""
        assert self._process is not None
        assert self._process.stdout is not None
        assert select.select([self._process.stdout], [], [], PATIENCE_S)[0], "it says nothing"
        said = self._process.stdout.readline().strip()
        assert said, self.end()[1]
        return said

    def probe(self, which: str, ports: Mapping[str, str], trusts: ssl.SSLContext | bool = True) -> int:
        """The kubelet's view: the status of readinessProbe, livenessProbe or startupProbe."""
        asks = self.container[which]["httpGet"]
        with httpx.Client(trust_env=False, timeout=self.container[which]["timeoutSeconds"], verify=trusts) as http:
            return http.get(f"{asks['scheme'].lower()}://{ports[asks['port']]}{asks['path']}").status_code

    def terminate(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def end(self) -> tuple[int, str]:
        """Exit code and stderr, once it has ended by itself; Kubernetes would not wait longer."""
        assert self._process is not None
        _, errors = self._process.communicate(timeout=self.spec["terminationGracePeriodSeconds"])
        return self._process.returncode, errors

    def clean_up(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


def expanded(text: str, known: Mapping[str, str]) -> str:
    """$(NAME) becomes its value if there is one, $$(NAME) is left as $(NAME)."""
    return re.sub(r"\$(\$\(\w+\))|\$\((\w+)\)", lambda found: found[1] or known.get(found[2], found[0]), text)
