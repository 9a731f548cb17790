"""lua/cursor/receive and stats, where the log has chunks of large messages."""

from __future__ import annotations

from tests.support.cursor_scripts import Subscription


def test_chunks_of_a_large_message_are_skipped_and_count_as_acknowledged(log):
    sub = Subscription(log)
    # Given a descriptor at 0, chunks at 1, 3 and 4, a record of another producer between them, and one behind
    log.append(producer="9", in_txn=True)
    log.chunk(producer="9")
    log.append()
    log.chunk(producer="9")
    log.chunk(producer="9")
    log.end("9", commit=True)
    log.append()
    # Then the descriptor and the others are delivered, and a backlog counts these
    assert sub.stats()["backlog"] == 3
    assert list(sub.receive().offsets) == [0, 2, 6]
    # And acknowledging the descriptor passes the chunks
    sub.ack([0, 2])
    assert sub.content().mark == 6
