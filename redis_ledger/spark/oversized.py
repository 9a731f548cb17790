"""Batches over the limits of decoding: the task fails, or continues without them.

    chunks ── together ──▶ result                      the common case
              │ TooLargeToDecode
              └─ one by one ──▶ result, result, ✗      ✗ the oversized batch: an error (failOnDataLoss), or a warning

Other readers of the topic are not affected: a batch over the limits is stored and fetched unchanged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from redis_ledger.errors import TooLargeToDecode
from redis_ledger.ids import TopicPartition
from redis_ledger.spark.fetch import Chunk
from redis_ledger.spark.read_options import DECODING

_log = logging.getLogger("redis_ledger.spark")

T = TypeVar("T")
Advice = Callable[[TooLargeToDecode], str]


def reader_advice(error: TooLargeToDecode) -> str:
    option = DECODING[error.facts["setting"]]
    return (
        f"Raise the option {option} above {error.facts['limit']}, or set failOnDataLoss to false to continue without"
        " this batch."
    )


class OversizedBatches(NamedTuple):
    """Handles such batches of a task's partition.

    passed_over  receives one line for each batch that is skipped
    advice       returns the remedy for the error message
    """

    partition: TopicPartition
    fail_on_data_loss: bool
    passed_over: list[str] | None = None
    advice: Advice = reader_advice

    def convert(self, chunks: Sequence[Chunk], make: Callable[[Sequence[Chunk]], T]) -> Iterator[T]:
        """Yields the result of `make` for all chunks; for each chunk alone if that raises TooLargeToDecode.  Raises
        TooLargeToDecode with advice, unless losses are allowed."""
        try:
            made = make(chunks)
        except TooLargeToDecode as error:
            if len(chunks) == 1:
                self._refuse(chunks[0], error)
                return
        else:
            yield made
            return
        for chunk in chunks:
            yield from self.convert([chunk], make)

    def _refuse(self, chunk: Chunk, error: TooLargeToDecode) -> None:
        header = chunk.header
        said = f"{self.partition}: the batch with offsets {header.base_offset} to {header.last_offset}"
        if self.fail_on_data_loss:
            raise TooLargeToDecode(
                f"{said} is too large to decode. {error.detail} {self.advice(error)}", **error.facts
            ) from None
        _log.warning("skipping records: %s is too large to decode. %s", said, error.detail)
        if self.passed_over is not None:
            self.passed_over.append(f"{said} is too large to decode. {error.detail}")
