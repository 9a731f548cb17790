"""Offload: moves sealed ledgers from Redis to Parquet; Redis drops their payload.

    plan       stored beside the partition: ranges of offsets, and the file of each
    write      a task for each range, on executors: committed records, offsets kept
    verify     every file is read back, counted and compared
    publish    the manifest gets the files, and Redis drops the payload that they hold
    tidy up    writes manifest.json beside the files; deletes segments below the log start, and orphan files

    redis-ledger pipeline offload --topic orders --older-than 1d --every 5m

After a crash the next run finds the plan and the files, and resumes.  Every decision is one call of a broker, so two
concurrent runs do some work twice and no harm.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from redis_ledger.client import Client
from redis_ledger.errors import LedgerError
from redis_ledger.spark.pipelines.arguments import (
    NO_SPARK,
    add_topics,
    client_of,
    connection_of,
    duration_ms,
    ended,
    parser,
    sentence_of,
    started,
    topics_of,
)
from redis_ledger.spark.pipelines.progress import Done, Progress, hear
from redis_ledger.spark.read_options import DECODED_MAX, OFFLOAD_DECODED_BYTES, Connection
from redis_ledger.terminal import one_line

if TYPE_CHECKING:
    from pyspark import SparkContext

    from redis_ledger.spark.offloading import OffloadOptions, Run

NAME = "offload"
SUMMARY = "Write sealed ledgers to Parquet, and drop their payload from Redis."
DAY_MS = 86_400_000

T = TypeVar("T")
R = TypeVar("R")


def main(arguments: Sequence[str]) -> int:
    given = arguments_of(arguments)
    return ended(NAME, lambda: run(given))


def arguments_of(arguments: Sequence[str]) -> argparse.Namespace:
    made = parser(NAME, SUMMARY)
    add_topics(made)
    made.add_argument("--seal", action="store_true", help="include the active ledger, up to the first open transaction")
    made.add_argument(
        "--older-than", type=duration_ms, default=0, metavar="DURATION",
        help="only records that are older; the others stay in Redis alone (30m, 12h, 1d)",
    )  # fmt: skip
    made.add_argument(
        "--verify", action=argparse.BooleanOptionalAction, default=True,
        help="read every file back and compare it before Redis drops its payload (on)",
    )  # fmt: skip
    made.add_argument(
        "--orphans-after", type=duration_ms, default=DAY_MS, metavar="DURATION",
        help="delete orphan files of this age; a compaction must take less time (1d)",
    )  # fmt: skip
    made.add_argument(
        "--skip-too-large", action="store_true",
        help="skip and report batches that are too large to decode: their records are then deleted when the"
        " segment is published (by default their partition stops before them)",
    )  # fmt: skip
    made.add_argument(
        "--batch-decoded-bytes-max", type=decoded_bytes, default=OFFLOAD_DECODED_BYTES, metavar="BYTES",
        help=f"largest batch to decode, in bytes after decompression ({OFFLOAD_DECODED_BYTES})",
    )  # fmt: skip
    often = made.add_mutually_exclusive_group()
    often.add_argument("--once", action="store_true", help="run once (default)")
    often.add_argument("--every", type=duration_ms, metavar="DURATION", help="run repeatedly with this interval (5m)")
    return made.parse_args(list(arguments))


def decoded_bytes(text: str) -> int:
    """Raises ArgumentTypeError."""
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= DECODED_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes from 1 to {DECODED_MAX}")
    return int(text)


def run(given: argparse.Namespace) -> None:
    try:
        from redis_ledger.spark.offloading import OffloadOptions
    except ImportError as missing:
        raise LedgerError(f"{NO_SPARK} ({missing})") from missing
    options = OffloadOptions(
        given.seal,
        given.older_than,
        given.verify,
        given.orphans_after,
        given.skip_too_large,
        given.batch_decoded_bytes_max,
    )
    reached = connection_of(given)
    with client_of(reached) as client:
        topics_of(given, client)  # reports an unknown topic before Spark starts
        with started(given) as spark:
            while True:
                began_s = time.monotonic()
                try:
                    round_of(client, reached, topics_of(given, client), options, spark.sparkContext)
                except LedgerError as error:
                    if given.every is None:
                        raise
                    print(f"{NAME}: {one_line(error.detail)}", file=sys.stderr, flush=True)
                if given.every is None:
                    return
                time.sleep(max(0.0, began_s + given.every / 1000 - time.monotonic()))


def round_of(
    client: Client, reached: Connection, topics: Sequence[str], options: OffloadOptions, context: SparkContext
) -> None:
    """Offloads all topics, one after the other.  Raises LedgerError with the failures at the end."""
    from redis_ledger.spark.offloading import Offload

    progress = Progress(NAME)
    failed: list[Exception] = []
    for topic in topics:
        try:
            failed += Offload(client, reached, topic, options, on_spark(context, progress), progress).all()
        except LedgerError as error:
            failed.append(error)
    if progress.finished or not failed:
        progress.end("offloaded")
    if failed:
        sentences = list(dict.fromkeys(sentence_of(error) for error in failed))
        if None in sentences:  # an internal error: show its trace
            raise next(error for error in failed if sentence_of(error) is None)
        more = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
        raise LedgerError(f"{sentences[0]}{more}") from failed[0]


def on_spark(context: SparkContext, progress: Progress) -> Run:
    """Runs a task for each piece."""

    def run(work: Callable[[T], R], pieces: Sequence[T], report: Callable[[T, R], Done] | None = None) -> list[R]:
        heard = None if report is None else hear(context, progress.done)

        def task(piece: T) -> R:
            done = work(piece)
            if heard is not None and report is not None:
                heard.add([report(piece, done)])
            return done

        done: list[R] = context.parallelize(pieces, len(pieces)).map(task).collect()
        return done

    return run


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
