# mypy: disable-error-code="import-not-found"
"""Transactions are off: the application gets the reason at once, and producers without transactions work.

The test has a broker of its own, of redis-ledger; beside a Kafka that is tested it skips.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def disabled(tmp_path: Path) -> Iterator[str]:
    if not os.environ.get("HTTP"):
        pytest.skip("HTTP is not the address of the broker's REST port, so it may not be redis-ledger")
    words = ("serve", "--data-dir", str(tmp_path / "data"), "--http", "127.0.0.1:0", "--kafka", "127.0.0.1:0")
    process = subprocess.Popen(
        [os.environ["PYTHON"], "-m", "redis_ledger.app.cli.main", *words, "--set", "transactions_enabled=false"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        ready = process.stdout.readline().split()
        yield next(word.removeprefix("kafka=") for word in ready if word.startswith("kafka="))
    finally:
        process.terminate()
        process.communicate()


def test_init_transactions_fails_at_once_and_names_the_setting(disabled: str) -> None:
    producer = Producer({"bootstrap.servers": disabled, "transactional.id": "pay"})
    started = time.monotonic()
    with pytest.raises(KafkaException) as refused:
        producer.init_transactions(60)
    error = refused.value.args[0]
    assert time.monotonic() - started < 20
    assert "transactions_enabled" in error.str()
    assert error.fatal()
    assert not error.retriable()


@pytest.mark.parametrize("idempotent", [False, True])
def test_a_producer_without_transactions_works(disabled: str, idempotent: bool) -> None:
    producer = Producer({"bootstrap.servers": disabled, "enable.idempotence": idempotent})
    outcomes: list[object] = []
    for n in range(10):
        producer.produce("plain", f"{n}".encode(), on_delivery=lambda error, _: outcomes.append(error))
    assert producer.flush(30) == 0
    assert outcomes == [None] * 10
