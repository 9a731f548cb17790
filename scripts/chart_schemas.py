"""Generates one small, strict JSON schema per Kubernetes kind: tests/chart/schemas/.

Kubernetes' OpenAPI document and the custom resources' own definitions hold the types.  Each kind of the chart becomes
one self-contained file without descriptions and unused types, and objects accept no unknown fields.  Null is not a
value, so a template that renders an empty map as null is detected.  Source: the modules below, Apache License 2.0.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "chart" / "schemas"
SOURCES = (
    ("k8s.io/kubernetes", "v1.36.3"),
    ("github.com/prometheus-operator/prometheus-operator", "v0.85.0"),
    ("github.com/cert-manager/cert-manager", "v1.21.2"),
)
KINDS = {
    "statefulset-apps-v1": "io.k8s.api.apps.v1.StatefulSet",
    "service-v1": "io.k8s.api.core.v1.Service",
    "secret-v1": "io.k8s.api.core.v1.Secret",
    "configmap-v1": "io.k8s.api.core.v1.ConfigMap",
    "serviceaccount-v1": "io.k8s.api.core.v1.ServiceAccount",
    "poddisruptionbudget-policy-v1": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "horizontalpodautoscaler-autoscaling-v2": "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler",
    "networkpolicy-networking-v1": "io.k8s.api.networking.v1.NetworkPolicy",
    "ingress-networking-v1": "io.k8s.api.networking.v1.Ingress",
}
OPERATOR = "example/prometheus-operator-crd/monitoring.coreos.com_{}.yaml"
KEPT = (
    "type",
    "format",
    "enum",
    "required",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
)
LOCAL, META = "#/definitions/", "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
EITHER = {"io.k8s.apimachinery.pkg.util.intstr.IntOrString", "io.k8s.apimachinery.pkg.api.resource.Quantity"}
Schema = dict[str, Any]


def schemas(kubernetes: Path, operator: Path, cert_manager: Path) -> dict[Path, str]:
    """File → content, from the three modules' folders."""
    types: Schema = json.loads((kubernetes / "api/openapi-spec/swagger.json").read_text())["definitions"]
    found = {name: standalone(types[root], types) for name, root in KINDS.items()}
    found["servicemonitor-monitoring-v1"] = custom(operator / OPERATOR.format("servicemonitors"), types)
    found["prometheusrule-monitoring-v1"] = custom(operator / OPERATOR.format("prometheusrules"), types)
    found["certificate-cert-manager-v1"] = custom(cert_manager / "deploy/crds/cert-manager.io_certificates.yaml", types)
    return {FOLDER / f"{name}.json": shown(schema) for name, schema in found.items()}


def standalone(root: Schema, types: Schema) -> Schema:
    """A type with all types that it references, under `definitions`."""
    reached: Schema = {}
    top = strict(root)
    waiting = references(top)
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached[name] = {"type": ["string", "integer", "number"]} if name in EITHER else strict(types[name])
            waiting |= references(reached[name])
    identity = root.get("x-kubernetes-group-version-kind", [{}])[0]
    for field, value in (("apiVersion", api_version(identity)), ("kind", identity.get("kind"))):
        if value:
            top["properties"][field] = {"enum": [value]}
    top["required"] = sorted({"apiVersion", "kind", "metadata", *top.get("required", [])})
    return top | {"definitions": dict(sorted(reached.items()))}


def api_version(identity: Schema) -> str:
    return "/".join(part for part in (identity.get("group", ""), identity.get("version", "")) if part)


def custom(definition: Path, types: Schema) -> Schema:
    """The schema of version v1 in the definition of a custom resource."""
    spec = yaml.safe_load(definition.read_text())["spec"]
    version = next(each for each in spec["versions"] if each["name"] == "v1")
    root = version["schema"]["openAPIV3Schema"]
    root["properties"]["metadata"] = {"$ref": LOCAL + META}
    identity = {"group": spec["group"], "version": "v1", "kind": spec["names"]["kind"]}
    return standalone(root | {"x-kubernetes-group-version-kind": [identity]}, types)


def strict(schema: Schema) -> Schema:
    """Removes descriptions and forbids unknown fields."""
    if schema.get("x-kubernetes-int-or-string"):
        return {"type": ["string", "integer"]}
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    kept: Schema = {key: schema[key] for key in KEPT if key in schema}
    if "properties" in schema:
        kept["properties"] = {name: strict(each) for name, each in schema["properties"].items()}
        kept["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    elif isinstance(schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = strict(schema["additionalProperties"])
    if "items" in schema:
        kept["items"] = strict(schema["items"])
    return kept


def references(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        here = {schema["$ref"].removeprefix(LOCAL)} if isinstance(schema.get("$ref"), str) else set()
        return here.union(*(references(each) for each in schema.values()))
    return set().union(*(references(each) for each in schema)) if isinstance(schema, list) else set()


def shown(schema: Schema) -> str:
    """JSON with one line per definition, so that updates have readable diffs."""
    definitions = schema.pop("definitions")
    lines = [f"  {json.dumps(name)}: {json.dumps(each, sort_keys=True)}" for name, each in definitions.items()]
    top = json.dumps(schema, sort_keys=True)[1:-1]
    return "{" + top + ',\n "definitions": {\n' + ",\n".join(lines) + "\n }}\n"
