"""The part of Kubernetes' API that Helm's `lookup` needs: versions, resources, and existing objects."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

KINDS = {
    "v1": {"secrets": "Secret", "services": "Service", "serviceaccounts": "ServiceAccount"},
    "apps/v1": {"statefulsets": "StatefulSet"},
    "policy/v1": {"poddisruptionbudgets": "PodDisruptionBudget"},
    "autoscaling/v2": {"horizontalpodautoscalers": "HorizontalPodAutoscaler"},
}
Object = Mapping[str, Any]


def root(version: str) -> str:
    return f"/api/{version}" if version == "v1" else f"/apis/{version}"


def paths(objects: Sequence[Object]) -> dict[str, Object]:
    """Path → answer."""
    named = [version.partition("/") for version in KINDS if "/" in version]
    versions = {group: {"groupVersion": f"{group}/{version}", "version": version} for group, _, version in named}
    listed = [{"name": group, "versions": [each], "preferredVersion": each} for group, each in versions.items()]
    found: dict[str, Object] = {
        "/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.0"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed},
    }
    for version, kinds in KINDS.items():
        resources = [
            {"name": plural, "kind": kind, "namespaced": True, "singularName": "", "verbs": ["get"]}
            for plural, kind in kinds.items()
        ]
        found[root(version)] = {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
        for plural, kind in kinds.items():
            for each in objects:
                if each["kind"] == kind:
                    about = each["metadata"]
                    found[f"{root(version)}/namespaces/{about['namespace']}/{plural}/{about['name']}"] = each
    return found


@contextlib.contextmanager
def cluster(folder: Path, objects: Sequence[Object]) -> Iterator[Path]:
    """Serves these objects; the kubeconfig that leads there."""
    known = paths(objects)

    class Api(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
            answer = known.get(self.path.partition("?")[0])
            body = json.dumps(answer or missing).encode()
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing: stderr is the tests'."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    leads = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(leads))
    try:
        yield path
    finally:
        server.shutdown()
        server.server_close()
