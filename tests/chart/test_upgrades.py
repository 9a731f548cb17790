"""Upgrades of a release: existing objects are kept."""

from __future__ import annotations

import base64
from typing import Any

import yaml

from tests.support import chart
from tests.support.kube_api import cluster

BROKERS, REDIS = "ledger-redis-ledger", "ledger-redis-ledger-redis"


def placed(kind: str, name: str, **content: str) -> dict[str, Any]:
    """An object in the release's namespace; content: of a secret."""
    about = {"name": name, "namespace": chart.NAMESPACE}
    data = {key: base64.b64encode(value.encode()).decode() for key, value in content.items()}
    return {"apiVersion": "apps/v1" if kind == "StatefulSet" else "v1", "kind": kind, "metadata": about, "data": data}


def upgraded(folder, objects, values="{}"):
    """The manifests of `helm upgrade` in a cluster with these objects."""
    with cluster(folder, objects) as kubeconfig:
        return chart.run(
            "helm", "template", chart.RELEASE, chart.CHART, "--namespace", chart.NAMESPACE,
            "--is-upgrade", "--dry-run=server", "--disable-openapi-validation", "--values", "-",
            given=values, kubeconfig=kubeconfig,
        )  # fmt: skip


def test_upgrade_keeps_token_and_password(tmp_path):
    there = [
        placed("StatefulSet", BROKERS),
        placed("StatefulSet", REDIS),
        placed("Secret", f"{BROKERS}-bootstrap", token="the token of the first day, 32 ch"),
        placed("Secret", REDIS, password="first-day-password"),
    ]
    ran = upgraded(tmp_path, there)
    assert ran.returncode == 0, ran.stderr
    made = {each["metadata"]["name"]: each for each in yaml.safe_load_all(ran.stdout) if each["kind"] == "Secret"}
    assert made[f"{BROKERS}-bootstrap"]["stringData"]["token"] == "the token of the first day, 32 ch"
    redis = made[REDIS]["stringData"]
    assert redis["password"] == "first-day-password"
    assert "requirepass first-day-password\n" in redis["redis.conf"]


def test_upgrade_creates_missing_secrets(tmp_path):
    there = [placed("StatefulSet", BROKERS), placed("StatefulSet", REDIS), placed("Secret", REDIS, password="kept")]
    ran = upgraded(tmp_path, there)
    assert ran.returncode == 0, ran.stderr
    made = {each["metadata"]["name"]: each for each in yaml.safe_load_all(ran.stdout) if each["kind"] == "Secret"}
    assert len(made[f"{BROKERS}-bootstrap"]["stringData"]["token"]) == 48


def test_upgrade_without_the_redis_url_is_rejected(tmp_path):
    # Given brokers that have used a Redis from outside, and an upgrade without those values
    ran = upgraded(tmp_path, [placed("StatefulSet", BROKERS)])
    assert ran.returncode != 0
    assert "This release uses another Redis and would start over with an empty one" in ran.stderr
    # With them it goes through, and so it does from the bundled one to another.
    outside = "redis: {existingSecret: ledger-redis-url}"
    assert upgraded(tmp_path, [placed("StatefulSet", BROKERS)], outside).returncode == 0
    assert upgraded(tmp_path, [placed("StatefulSet", BROKERS), placed("StatefulSet", REDIS)], outside).returncode == 0


def test_upgrade_keeps_the_autoscaled_replicas(tmp_path):
    # Given seven brokers, by hand or by the autoscaler, and an upgrade with autoscaling
    there = placed("StatefulSet", BROKERS) | {"spec": {"replicas": 7}}
    ran = upgraded(tmp_path, [there], "{redis: {existingSecret: r}, autoscaling: {enabled: true, maxReplicas: 9}}")
    assert ran.returncode == 0, ran.stderr
    brokers = next(each for each in yaml.safe_load_all(ran.stdout) if each["kind"] == "StatefulSet")
    # Then there are seven: without a number Kubernetes would make it one
    assert brokers["spec"]["replicas"] == 7
