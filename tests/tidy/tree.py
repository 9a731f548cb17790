"""The project's own files, wherever the tests run: a checkout, a copy of it, an unpacked sdist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = {"build", "dist", "node_modules", "__pycache__"}
TEXT = {".py", ".pyi", ".lua", ".md", ".toml", ".proto", ".sh", ".yaml", ".yml", ".lock", ".json", ".cfg", ""}


@cache
def files(*suffixes: str) -> tuple[Path, ...]:
    """Every file with one of the suffixes, sorted; passes over hidden folders but .ci, and over what tools leave."""
    return tuple(sorted(path for path in _walk(ROOT) if not suffixes or path.suffix in suffixes))


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.is_symlink():  # what it names is listed where it lies
            continue
        if path.is_dir():
            if path.name not in NOT_OURS and (not path.name.startswith(".") or path.name == ".ci"):
                yield from _walk(path)
        elif path.suffix in TEXT and path.name != ".venv.lock":
            yield path


def is_generated(path: Path) -> bool:
    """Made by a tool and held fresh by a test of its own, so taste does not apply to it."""
    made_of_schemas = path.parts[-3:-1] == ("protocol", "messages")
    return made_of_schemas or "_pb2" in path.name or "_sync" in path.parts or path.suffix == ".lock"


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    """Is not kept: the trees of all files are 500 MB, which every collection of garbage would visit."""
    return ast.parse(path.read_text(), filename=str(path))
