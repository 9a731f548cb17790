"""Large blocks that a broker frees return to the system, with glibc's malloc."""

from __future__ import annotations

import subprocess
import sys

GROWTH = """
import sys
from redis_ledger.app.process import malloc

if sys.argv[1] == "fixed":
    malloc.return_large_blocks()

def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

first = bytearray(30 << 20)
del first  # from here on glibc takes blocks of this size from the heap
before = resident()
blocks, small = [], []
for _ in range(10):
    blocks.append(bytearray(b"x") * (8 << 20))
    small.append(bytearray(100_000))
blocks.clear()
print(resident() - before)
"""


def growth_bytes(how: str) -> int:
    """Of resident memory, after 80 MB in large blocks are freed between small ones that stay."""
    return int(subprocess.run([sys.executable, "-c", GROWTH, how], capture_output=True, check=True, timeout=60).stdout)


def test_large_blocks_that_are_freed_between_small_ones_are_returned():
    assert growth_bytes("as it is") > 50 << 20
    assert growth_bytes("fixed") < 10 << 20
