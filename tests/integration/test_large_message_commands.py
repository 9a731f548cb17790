"""The commands of docs/howto/large-messages.md: a file is sent as one large message, and received as a file."""

from __future__ import annotations

import pytest

from tests.integration.test_readme import HOWTO
from tests.support import cli
from tests.support.doc_pages import noted_blocks
from tests.support.threaded_broker import threaded_broker

VALUE = bytes(range(256)) * 10_000


@pytest.fixture
def run(redis_url, prefix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with threaded_broker(redis_url, prefix) as brokers:
        yield lambda line: cli.run(*line.split()[1:], REDIS_LEDGER_URL=brokers.urls[0])


def test_the_commands_of_the_page_send_a_file_and_receive_it(run, tmp_path):
    (tmp_path / "film.mp4").write_bytes(VALUE)
    (tmp_path / "films").mkdir()
    page = HOWTO / "large-messages.md"
    (block,) = [each for each in noted_blocks(page) if each.text.startswith("redis-ledger ")]
    done = [run(line) for line in block.text.splitlines()]
    assert [(each.code, each.err) for each in done] == [(0, "")] * 2
    assert done[0].out.startswith("2,560,000 bytes to films 0:0, ")
    assert [path.name for path in (tmp_path / "films").iterdir()] == ["films-0-0"]
    assert (tmp_path / "films" / "films-0-0").read_bytes() == VALUE
    assert run("redis-ledger consume films --subscription archive").out == ""


def test_the_position_of_a_large_message_is_shown_as_json(run, tmp_path):
    (tmp_path / "f").write_bytes(VALUE)
    done = run("redis-ledger produce t --large --file f --partition 0 --json")
    assert done.code == 0
    assert '"offset": 0' in done.out.replace('":', '": ').replace(":  ", ": ")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("redis-ledger produce t --large", "requires --file"),
        ("redis-ledger produce t --large --file f --transaction 3", "requires --file"),
        ("redis-ledger produce t --large --file f --deliver-after PT5S", "requires --file"),
        ("redis-ledger produce t --large --file absent", "does not exist"),
        ("redis-ledger consume t --large-to absent", "does not exist"),
    ],
)
def test_wrong_options_are_refused(run, tmp_path, line, said):
    (tmp_path / "f").write_bytes(b"x")
    done = run(line)
    assert done.code != 0
    assert said in done.err
