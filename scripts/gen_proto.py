"""Generates redis_ledger/proto/*_pb2.py and .pyi from proto/; the results are committed.

    .venv/bin/python scripts/gen_proto.py           writes them
    .venv/bin/python scripts/gen_proto.py --check   lists stale files, exit code 1

The compiler is grpcio-tools as pinned by requirements/dev.lock: the same sources give the same bytes everywhere.
"""

from __future__ import annotations

import importlib.resources
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "proto"
TARGET = ROOT / "redis_ledger" / "proto"


def generate() -> dict[Path, str]:
    """Target file → expected content."""
    protos = sorted(SOURCES.rglob("*.proto"))
    well_known = importlib.resources.files("grpc_tools") / "_proto"
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["protoc", f"-I{SOURCES}", f"-I{well_known}", f"--python_out={folder}", f"--pyi_out={folder}"]
        if protoc.main([*arguments, *map(str, protos)]) != 0:
            raise SystemExit("protoc failed; its message is above")
        made = sorted(Path(folder).rglob("*_pb2.py*"))
        # Sources live under redis_ledger/v1, results in the package redis_ledger.proto: imports between them follow.
        return {
            TARGET / path.name: path.read_text().replace("redis_ledger.v1 import", "redis_ledger.proto import")
            for path in made
        }


def stale(wanted: dict[Path, str]) -> list[Path]:
    """Files that differ from the generated content, and generated files without a source."""
    differing = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    orphans = [path for path in TARGET.glob("*_pb2.py*") if path not in wanted]
    return sorted(differing + orphans)


def main() -> int:
    wanted = generate()
    out_of_date = stale(wanted)
    if "--check" in sys.argv[1:]:
        for path in out_of_date:
            print(f"{path.relative_to(ROOT)} is stale; run: make generate", file=sys.stderr)
        return 1 if out_of_date else 0
    for path in out_of_date:
        if path in wanted:
            path.write_text(wanted[path])
            print(f"wrote {path.relative_to(ROOT)}")
        else:
            path.unlink()
            print(f"removed {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
