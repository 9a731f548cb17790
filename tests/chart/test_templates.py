"""Renders tests/chart/values/*.yaml and compares the manifests with golden/ and with Kubernetes' schemas.

`REWRITE_GOLDEN=1 .venv/bin/python scripts/check.py chart` rewrites golden/; review the difference with git.
"""

from __future__ import annotations

import json
import os
import re

import pytest
import yaml

from tests.support import chart
from tests.support.chart import CHART, HERE

SCHEMAS = HERE / "schemas"
BROKERS = "ledger-redis-ledger"
RENAMED = {"everything-else": "shop-ledger", "monitored-plain": f"{BROKERS}-events"}


def test_helm_lint_passes():
    for name in chart.values_files():
        ran = chart.run("helm", "lint", "--strict", CHART, "--values", HERE / "values" / f"{name}.yaml")
        assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("name", chart.values_files())
def test_rendered_manifests_equal_the_golden_files(name):
    kept = HERE / "golden" / f"{name}.yaml"
    if os.environ.get("REWRITE_GOLDEN"):
        kept.write_text(chart.golden(name))
    assert chart.golden(name) == kept.read_text(), "run: REWRITE_GOLDEN=1 scripts/check.py chart"


def test_every_golden_file_has_its_values():
    assert sorted(path.stem for path in (HERE / "golden").iterdir()) == chart.values_files()


@pytest.mark.parametrize("name", chart.values_files())
def test_manifests_match_the_kubernetes_schemas(name):
    where = f"{SCHEMAS}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
    ran = chart.run(
        "kubeconform", "-strict", "-summary", "-output", "json", "-schema-location", where, given=chart.rendered(name)
    )
    report = json.loads(ran.stdout)
    assert ran.returncode == 0, report["resources"]
    assert report["summary"] == {"valid": len(chart.manifests(name)), "invalid": 0, "errors": 0, "skipped": 0}


def test_kubernetes_schemas_reject_invalid_manifests():
    for wrong in ("replicas: two", "replica: 2", "serviceName: null"):
        text = chart.rendered("anonymous").replace("  replicas: 1", f"  {wrong}")
        ran = chart.run(
            "kubeconform", "-strict", "-schema-location", f"{SCHEMAS}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
            given=text,
        )  # fmt: skip
        assert ran.returncode == 1, wrong


@pytest.mark.parametrize("name", chart.values_files())
def test_no_secret_is_an_argument_or_in_a_pod(name):
    secrets = [each["stringData"] for each in chart.manifests(name) if each["kind"] == "Secret"]
    made = [each[key] for each in secrets for key in ("token", "password") if key in each]
    pods = [yaml.safe_dump(each) for each in chart.manifests(name) if each["kind"] == "StatefulSet"]
    assert [value for value in made if any(value in pod for pod in pods)] == []
    assert all(len(value) >= 32 for value in made)


@pytest.mark.parametrize("name", chart.values_files())
def test_pods_run_without_privileges(name):
    for each in chart.manifests(name):
        if each["kind"] == "StatefulSet":
            pod = each["spec"]["template"]["spec"]
            assert pod["automountServiceAccountToken"] is False
            assert pod["securityContext"]["runAsNonRoot"] is True
            assert pod["securityContext"]["runAsUser"] == 10001
            assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
            for container in pod["containers"]:
                assert container["securityContext"]["readOnlyRootFilesystem"] is True
                assert container["securityContext"]["allowPrivilegeEscalation"] is False
                assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize("name", chart.values_files())
def test_selectors_match_their_pods(name):
    found = chart.manifests(name)
    pods = [each["spec"]["template"]["metadata"]["labels"] for each in found if each["kind"] == "StatefulSet"]
    # Kubernetes gives these itself.
    pods = [{**labels, "statefulset.kubernetes.io/pod-name": "?"} for labels in pods]
    for each in found:
        if each["kind"] not in ("Service", "NetworkPolicy", "PodDisruptionBudget", "ServiceMonitor"):
            continue
        spec = each["spec"]
        wanted = spec.get("podSelector", spec.get("selector"))
        wanted = dict(wanted.get("matchLabels", wanted))
        among = [other["metadata"]["labels"] for other in found if other["kind"] == "Service"]
        candidates = among if each["kind"] == "ServiceMonitor" else pods
        if "statefulset.kubernetes.io/pod-name" in wanted:
            wanted["statefulset.kubernetes.io/pod-name"] = "?"
        matching = [labels for labels in candidates if wanted.items() <= labels.items()]
        assert len(matching) == 1, (each["kind"], each["metadata"]["name"])


def arguments(name: str, called: str = BROKERS) -> dict[str, str]:
    """The options of the brokers' command line → values."""
    pod = chart.one(name, "StatefulSet", called)["spec"]["template"]["spec"]
    words = [word.partition("=") for word in pod["containers"][0]["args"]]
    return {option: value for option, _, value in words}


def test_only_values_allow_anonymous_access():
    assert {name for name in chart.values_files() if "--allow-anonymous" in arguments_of(name)} == {
        "anonymous",
        "monitored-plain",
    }


def arguments_of(name: str) -> dict[str, str]:
    return arguments(name, RENAMED.get(name, BROKERS))


def test_each_broker_advertises_its_pod_or_service():
    rest = {name: arguments_of(name)["--http-advertised"] for name in chart.values_files()}
    assert rest["defaults"] == "$(POD_NAME).ledger-redis-ledger-brokers.streams.svc.cluster.local:8080"
    assert rest["everything-else"] == "$(POD_NAME).shop-ledger-brokers.streams.svc.k8s.example:8080"
    advertised = {name: arguments_of(name)["--kafka-advertised"] for name in chart.values_files()}
    inside = "$(POD_NAME).ledger-redis-ledger-brokers.streams.svc.cluster.local:9092"
    assert advertised["defaults"] == inside
    assert advertised["everything-else"] == "$(POD_NAME).shop-ledger-brokers.streams.svc.k8s.example:9092"
    outside = {
        "cert-manager": "broker-$(POD_INDEX).kafka.example.com:9094",
        "node-ports": "$(NODE_IP):3124$(POD_INDEX)",
        "autoscaled": "kafka.example.com:3110$(POD_INDEX)",
    }
    assert {name: advertised[name] for name in outside} == {
        name: f"internal://{inside},external://{each}" for name, each in outside.items()
    }
    # And these are the ports of the services.
    assert node_ports("node-ports") == [31240 + index for index in range(10)]
    assert node_ports("autoscaled") == [31100 + index for index in range(5)]


def node_ports(name: str) -> list[int]:
    services = [each for each in chart.manifests(name) if each["kind"] == "Service"]
    return sorted(
        each["spec"]["ports"][0]["nodePort"]
        for each in services
        if "statefulset.kubernetes.io/pod-name" in each["spec"].get("selector", {})
    )


@pytest.mark.parametrize("name", ["cert-manager", "node-ports", "autoscaled", "walled-in", "two-networks"])
def test_services_route_to_their_listener(name):
    ports = chart.one(name, "StatefulSet", BROKERS)["spec"]["template"]["spec"]["containers"][0]["ports"]
    number = {each["name"]: each["containerPort"] for each in ports}
    at = dict(part.split("://") for part in arguments_of(name)["--kafka"].split(","))
    listening = {listener: int(address.rpartition(":")[2]) for listener, address in at.items()}
    assert (number["kafka"], number["kafka-external"]) == (listening["internal"], listening["external"])
    for each in chart.manifests(name):
        called = each["metadata"]["name"]
        if each["kind"] == "Service" and "-kafka" in called:
            inside = called == f"{BROKERS}-kafka"
            assert [port["targetPort"] for port in each["spec"]["ports"]] == ["kafka" if inside else "kafka-external"]
            # And no client inside the cluster goes through a load balancer.
            assert each["spec"]["type"] == ("ClusterIP" if inside else each["spec"]["type"])


def test_network_policy_allows_all_broker_ports():
    (rule, *_) = chart.one("walled-in", "NetworkPolicy", BROKERS)["spec"]["ingress"]
    ports = chart.one("walled-in", "StatefulSet", BROKERS)["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert {each["port"] for each in rule["ports"]} == {each["name"] for each in ports}


def test_certificate_contains_all_advertised_addresses():
    names = chart.one("cert-manager", "Certificate", BROKERS)["spec"]["dnsNames"]
    assert {f"broker-{index}.kafka.example.com" for index in range(3)} <= set(names)
    assert {"kafka.example.com", "localhost", f"{BROKERS}.streams.svc"} <= set(names)
    assert f"*.{BROKERS}-brokers.streams.svc.cluster.local" in names


def test_alerts_and_dashboard_are_the_files_beside_the_templates():
    rule = chart.one("monitored", "PrometheusRule", BROKERS)
    assert rule["spec"] == yaml.safe_load((CHART / "files" / "alerts.yaml").read_text())
    board = chart.one("monitored", "ConfigMap", f"{BROKERS}-dashboard")
    shown = json.loads(board["data"]["redis-ledger.json"])
    assert shown == json.loads((CHART / "files" / "dashboard.json").read_text())


def test_alerts_use_the_scrape_job_of_the_brokers():
    asked = set(re.findall(r'job="([^"]+)"', (CHART / "files" / "alerts.yaml").read_text()))
    for name, called in (("monitored", BROKERS), ("monitored-plain", "ledger-redis-ledger-events")):
        label = chart.one(name, "ServiceMonitor", called)["spec"]["jobLabel"]
        assert {chart.one(name, "Service", f"{called}-brokers")["metadata"]["labels"][label]} == asked


def test_broker_has_time_to_drain():
    for name in chart.values_files():
        for each in chart.manifests(name):
            pod = each["spec"]["template"]["spec"] if each["kind"] == "StatefulSet" else {}
            if "broker" in [container["name"] for container in pod.get("containers", [])]:
                hook = pod["containers"][0].get("lifecycle", {}).get("preStop", {}).get("sleep", {})
                # 20 s for requests under way, and as long again for a Redis that does not answer.
                assert pod["terminationGracePeriodSeconds"] >= hook.get("seconds", 0) + 2 * 20 + 5
