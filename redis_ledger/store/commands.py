"""Lists the Redis commands that write, for nodes that accept no writes.

Scripts and MULTI units count as writes: no script here is declared read-only.
"""

from __future__ import annotations

from collections.abc import Sequence

# Sent to a node in any state: they neither read nor write records.
ADMINISTRATION = frozenset({b"PING", b"ROLE", b"INFO", b"CONFIG", b"SCRIPT", b"FUNCTION", b"TIME", b"ASKING",
                            b"CLUSTER", b"WAIT"})  # fmt: skip
READS = frozenset(
    {
        b"GET", b"MGET", b"EXISTS", b"TYPE", b"TTL", b"PTTL", b"STRLEN", b"GETRANGE", b"DUMP", b"MEMORY", b"OBJECT",
        b"SCAN", b"DBSIZE", b"HGET", b"HMGET", b"HGETALL", b"HKEYS", b"HVALS", b"HLEN", b"HSCAN", b"HEXISTS",
        b"HSTRLEN", b"SMEMBERS", b"SCARD", b"SSCAN", b"SISMEMBER", b"LRANGE", b"LLEN", b"LINDEX", b"ZRANGE",
        b"ZRANGEBYSCORE", b"ZRANGEBYLEX", b"ZREVRANGE", b"ZREVRANGEBYSCORE", b"ZCARD", b"ZCOUNT", b"ZSCORE",
        b"ZMSCORE", b"ZSCAN", b"XRANGE", b"XREVRANGE", b"XLEN", b"XINFO", b"XREAD",
    }
)  # fmt: skip


def first_word(frame: bytes | Sequence[bytes | memoryview]) -> bytes:
    """Returns the name of the first command of a frame, in capitals: GET for "*2 $3 GET $1 k"."""
    head = bytes(frame if isinstance(frame, bytes) else frame[0])[:64]
    words = head.split(b"\r\n", 3)
    return words[2].upper() if len(words) > 3 else b""
