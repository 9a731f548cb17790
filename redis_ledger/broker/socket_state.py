"""Sockets as the kernel sees them, before the event loop has read them.

    client ──request, FIN──▶ socket of a paused broker ──▶ read minutes later: has the client gone on elsewhere?

Linux reports the FIN although the request before it has not been read (POLLRDHUP).  Elsewhere only a broken connection
is reported.  Source: poll(2); docs/decisions/0056.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Iterable

NO_SOCKET = -1
_CLOSED = select.POLLERR | select.POLLHUP | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)


def socket_of(transport: asyncio.BaseTransport) -> int:
    """The file descriptor of its socket."""
    found = transport.get_extra_info("socket")
    return NO_SOCKET if found is None else int(found.fileno())


def is_closed(socket: int) -> bool:
    """Whether its peer has closed it.  Cost: a system call."""
    return socket in closed_and_unread((socket,))[0]


def has_unread(socket: int) -> bool:
    """Whether there are bytes that the event loop has not read.  Cost: a system call."""
    return socket in closed_and_unread((socket,))[1]


def closed_and_unread(sockets: Iterable[int]) -> tuple[set[int], set[int]]:
    """Returns the sockets whose peer has closed them, and those that have unread bytes.  Cost: one system call."""
    poll = select.poll()
    for socket in sockets:
        if socket != NO_SOCKET:
            poll.register(socket, select.POLLIN | _CLOSED)
    ready = poll.poll(0)
    closed = {socket for socket, events in ready if events & _CLOSED}
    return closed, {socket for socket, events in ready if events & select.POLLIN}
