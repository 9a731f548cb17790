"""A broker with TLS, a certificate of the tests' own, and authentication; principals have only the rules given."""

from __future__ import annotations

import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec

from redis_ledger import Client
from redis_ledger.client import Acl
from redis_ledger.client.security_models import NewToken
from tests.support.certificates import Authority
from tests.support.processes import ROOT, Serve

Rule = tuple[str, str, str]  # WRITE, TOPIC, orders; a name that ends in * is a prefix


class Secured:
    """ca: the file of its certificate authority."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.offload_home = folder / "history"
        self.offload_home.mkdir()
        self.authority = Authority(folder)
        self.ca = str(self.authority.ca)
        certificate, key = self.authority.issue("broker")
        admin = folder / "admin"
        admin.write_text(secrets.token_hex(32))
        settings = {
            "auth_required": "on", "bootstrap_token_file": admin, "tls_certificate": certificate, "tls_key": key,
        }  # fmt: skip
        words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        words += [
            "--data-dir",
            str(folder / "data"),
            "--durability",
            "process",
            "--offload-home",
            str(self.offload_home),
        ]
        self._serve = Serve(*words)
        self.url = self._serve.urls[0]
        self.admin = Client(self.url, token_file=str(admin), ca_file=self.ca)

    def close(self) -> None:
        self.admin.close()
        self._serve.clean_up()

    def token(self, *rules: Rule, who: str = "", **more: Any) -> NewToken:
        """Returns a token of a new principal, or another one of `who`."""
        who = who or f"User:p-{secrets.token_hex(4)}"
        if rules:
            self.admin.acls.add([acl(who, rule) for rule in rules])
        return self.admin.tokens.create(who, **more)

    def command(self, *words: str) -> str:
        """Runs `redis-ledger` on the broker's machine; returns its output."""
        where = ["--data-dir", str(self.folder / "data")]
        return subprocess.check_output(
            [sys.executable, "-m", "redis_ledger.app.cli.main", *words, *where], cwd=ROOT, text=True
        )

    def topic(self, name: str, *values: Any, partitions: int = 1) -> str:
        self.admin.topics.create(name, partitions=partitions)
        with self.admin.producer(name) as producer:
            for number, value in enumerate(values):
                producer.send(value, key=f"k{number % 3}", partition=number % partitions)
        return name

    def seen(self, topic: str) -> list[str]:
        return [each.text() for each in self.admin.read(topic)]


def acl(who: str, rule: Rule) -> Acl:
    operation, resource, name = rule
    pattern = "PREFIXED" if name.endswith("*") else "LITERAL"
    return msgspec.convert({
        "principal": who, "operation": operation, "resource": resource, "name": name.removesuffix("*"),
        "pattern": pattern,
    }, Acl)  # fmt: skip
