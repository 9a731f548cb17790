"""Makes `redis_ledger/client/_sync/` from `_async/`: the SDK is written once, for an event loop; threads get a twin.

    python scripts/unasync.py            writes the twin           (make generate)
    python scripts/unasync.py --check    fails when it is stale, has a file too many, or a rule is unused

A rule replaces whole words.  What waiting means differs between the two and lives in `client/concurrency.py`, whose
names the rules map onto each other.  In the spirit of httpcore's script of this name; ruff tidies what became short.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "redis_ledger" / "client" / "_async"
TWIN = ROOT / "redis_ledger" / "client" / "_sync"

RULES = [
    ("The SDK for an event loop.  `_sync/` is made from this folder by `scripts/unasync.py`; edit here only.",
     "The SDK for threads, made from `_async/` by `scripts/unasync.py`; edit there only."),
    (r"_async\.", "_sync."),
    ("async_sleep", "sleep"),
    ("AsyncByteStream", "SyncByteStream"),
    ("handle_async_request", "handle_request"),
    (r"Async([A-Z]\w*)", r"\1"),
    ("async def", "def"),
    ("async with", "with"),
    ("async for", "for"),
    ("await ", ""),
    ("asynccontextmanager", "contextmanager"),
    ("aclose", "close"),
    ("aread", "read"),
    ("aiter_bytes", "iter_bytes"),
    ("AbstractAsyncContextManager", "AbstractContextManager"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("__aiter__", "__iter__"),
]  # fmt: skip
COMPILED = [
    (re.compile(rf"(?<!\w){pattern}" + (r"\b" if pattern[-1].isalnum() else "")), new) for pattern, new in RULES
]


def twin_of(text: str, used: set[int]) -> str:
    for number, (pattern, new) in enumerate(COMPILED):
        text, count = pattern.subn(new, text)
        if count:
            used.add(number)
    return text


def tidied(text: str, name: str) -> str:
    """Shorter words make shorter lines and another order of imports."""
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format", "--quiet"]):
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", name, "-"],
            input=text, capture_output=True, text=True, check=True, cwd=ROOT,
        ).stdout  # fmt: skip
    return text


def main(check: bool) -> int:
    used: set[int] = set()
    complaints = []
    names = {path.name for path in SOURCE.glob("*.py")}
    for name in sorted(names):
        made = tidied(twin_of((SOURCE / name).read_text(), used), str(TWIN / name))
        there = TWIN / name
        if not check:
            TWIN.mkdir(exist_ok=True)
            there.write_text(made)
        elif not there.exists() or there.read_text() != made:
            complaints.append(f"{there.relative_to(ROOT)} is stale; run `make generate`.")
    for extra in sorted(path for path in TWIN.glob("*.py") if path.name not in names):
        if check:
            complaints.append(f"{extra.relative_to(ROOT)} has no source in _async/; run `make generate`.")
        else:
            extra.unlink()
    complaints += [
        f"The rule for {RULES[i][0]!r} is used nowhere; remove it." for i in range(len(RULES)) if i not in used
    ]
    print("\n".join(complaints) or f"{len(names)} modules, the twin is {'fresh' if check else 'written'}.")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
