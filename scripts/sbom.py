"""Writes a software bill of materials (CycloneDX 1.6, JSON): what redis-ledger and its extras install and contain.

    .venv/bin/python scripts/sbom.py [--output dist/sbom.cdx.json]      `--output -` writes to the standard output

    requirements/image.lock   names, versions, hashes of all files of a version: every extra but Spark's
    installed packages        licences, and which package needs which, where the versions are the lock's
    app/console/static        the scripts that the console's pages contain

A package that only an extra needs has the scope "optional".  SOURCE_DATE_EPOCH, where it is set, is the time that the
document carries, so that it can be made again byte for byte.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tomllib
import uuid
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageMetadata, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "image.lock"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VENDOR = ROOT / "app" / "console" / "static" / "vendor"
# name: its file, where that states the version, licence
SCRIPTS = {
    "htmx.org": ("htmx.min.js", r'version:"([\d.]+)"', "0BSD"),
    "uplot": ("uPlot.iife.min.js", r"uPlot \(v([\d.]+)\)", "MIT"),
}
LICENCE_MAX = 80  # characters; the field holds a whole licence at times


class Pin(NamedTuple):
    name: str
    version: str
    hashes: list[str]

    @property
    def ref(self) -> str:
        return f"pkg:pypi/{self.name}@{self.version}"


def pins(text: str) -> dict[str, Pin]:
    found = re.finditer(r"^([a-z0-9._-]+)==([^\s;]+)(.*(?:\n +--hash=.*)*)", text, re.MULTILINE)
    return {each[1]: Pin(each[1], each[2], re.findall(r"sha256:([0-9a-f]{64})", each[3])) for each in found}


def installed(pin: Pin) -> tuple[PackageMetadata, list[Requirement]] | None:
    """None where this machine has no such package, or another version of it."""
    try:
        found = distribution(pin.name)
    except PackageNotFoundError:
        return None
    return (
        (found.metadata, [Requirement(each) for each in found.requires or ()]) if found.version == pin.version else None
    )


def licences(metadata: PackageMetadata) -> list[dict[str, Any]]:
    """An SPDX expression where there is one, else what the package calls its licence."""
    if "License-Expression" in metadata:
        return [{"expression": metadata["License-Expression"]}]
    named = metadata["License"].strip() if "License" in metadata else ""
    if named and "\n" not in named and len(named) <= LICENCE_MAX:
        return [{"license": {"name": named}}]
    classifiers = [each for each in metadata.get_all("Classifier") or () if each.startswith("License :: ")]
    return [{"license": {"name": each.rpartition(" :: ")[2]}} for each in classifiers]


def component(pin: Pin, scope: str) -> dict[str, Any]:
    files = [{"alg": "SHA-256", "content": each} for each in pin.hashes]
    made: dict[str, Any] = {
        "type": "library",
        "bom-ref": pin.ref,
        "name": pin.name,
        "version": pin.version,
        "scope": scope,
    }
    if there := installed(pin):
        made["licenses"] = licences(there[0])
    # The hashes are of the wheels and the sdist, any of which may be what is installed.
    made |= {"purl": pin.ref, "externalReferences": [{"type": "distribution", "url": pin.ref, "hashes": files}]}
    return made


def scripts() -> Iterator[dict[str, Any]]:
    for name, (file, pattern, licence) in SCRIPTS.items():
        content = (VENDOR / file).read_bytes()
        stated = re.search(pattern, content.decode())
        assert stated is not None, f"{file} does not state its version"
        ref = f"pkg:npm/{name}@{stated[1]}"
        yield {
            "type": "library", "bom-ref": ref, "name": name, "version": stated[1], "scope": "required",
            "hashes": [{"alg": "SHA-256", "content": sha256(content).hexdigest()}],
            "licenses": [{"license": {"id": licence}}], "purl": ref,
        }  # fmt: skip


def needs(pin: Pin, extras: set[str]) -> Iterator[Requirement]:
    """The dependencies of a package on any platform, for the requested extras."""
    for each in (installed(pin) or (None, []))[1]:
        marker = each.marker
        if marker is None or "extra" not in str(marker) or any(marker.evaluate({"extra": name}) for name in extras):
            yield each


def reached(locked: dict[str, Pin], roots: Iterable[str]) -> dict[str, set[str]]:
    """Package → its dependencies, for all packages that the roots require."""
    found: dict[str, set[str]] = {}
    left, seen = [Requirement(each) for each in roots], set[tuple[str, frozenset[str]]]()
    while left:
        wanted = left.pop()
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if name not in locked or (name, extras) in seen:
            continue  # not in the lock: no platform that it is for needs it
        seen.add((name, extras))
        below = list(needs(locked[name], set(extras)))
        found.setdefault(name, set()).update({canonicalize_name(each.name) for each in below} & locked.keys())
        left += below
    return found


def document(lock: str, made: datetime) -> dict[str, Any]:
    locked, bundled = pins(lock), list(scripts())
    direct: list[str] = PROJECT["dependencies"]
    optional = [each for extra, of in PROJECT["optional-dependencies"].items() if extra != "spark" for each in of]
    required = reached(locked, direct)
    graph = reached(locked, [*direct, *optional])
    own = f"pkg:pypi/{PROJECT['name']}@{PROJECT['version']}"
    named = {canonicalize_name(Requirement(each).name) for each in (*direct, *optional)}
    below = {own: [*(locked[name].ref for name in named & locked.keys()), *(each["bom-ref"] for each in bundled)]}
    below |= {locked[name].ref: [locked[each].ref for each in of] for name, of in graph.items()}
    components = [component(pin, "required" if pin.name in required else "optional") for pin in locked.values()]
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, own + lock)}",
        "metadata": {
            "timestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {
                "type": "application", "bom-ref": own, "name": PROJECT["name"], "version": PROJECT["version"],
                "description": PROJECT["description"], "licenses": [{"expression": PROJECT["license"]}], "purl": own,
            },
        },
        "components": [*components, *bundled],
        "dependencies": [{"ref": ref, "dependsOn": sorted(of)} for ref, of in sorted(below.items())],
    }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes a software bill of materials.")
    parser.add_argument("--output", default=str(ROOT / "dist" / "sbom.cdx.json"), help="a file, or - (%(default)s)")
    output, epoch = parser.parse_args().output, os.environ.get("SOURCE_DATE_EPOCH")
    made = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    found = document(LOCK.read_text(), made)
    text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    if output == "-":
        sys.stdout.write(text)
        return 0
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    Path(output).write_text(text, encoding="utf-8")
    print(f"wrote {output}: {len(found['components'])} components")
    return 0


if __name__ == "__main__":
    sys.exit(main())
