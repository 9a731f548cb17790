"""Common arguments of pipelines: brokers, topics and where Spark runs; and their exit codes.

redis-ledger pipeline NAME --bootstrap http://b1:8080,http://b2:8080 --topic orders --master local[4]

exit  0 done · 1 failed, with one sentence · 2 wrong arguments
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from redis_ledger.client import Client
from redis_ledger.errors import LedgerError, UnknownTopic
from redis_ledger.records import delivery_headers
from redis_ledger.spark.read_options import Connection, connection
from redis_ledger.terminal import one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URL = "http://127.0.0.1:8080"
QUIET: Mapping[str, str] = {"spark.log.level": "FATAL", "spark.ui.showConsoleProgress": "false"}


def parser(name: str, summary: str) -> argparse.ArgumentParser:
    """Returns a parser with --bootstrap, --token-file, --ca-file, --timeout, --master and --conf."""
    made = argparse.ArgumentParser(prog=f"redis-ledger pipeline {name}", description=summary, allow_abbrev=False)
    made.add_argument(
        "--bootstrap", metavar="URLS", default=os.environ.get("REDIS_LEDGER_URL", URL),
        help="comma-separated addresses of brokers (%(default)s)",
    )  # fmt: skip
    made.add_argument(
        "--token-file", metavar="FILE", default=os.environ.get("REDIS_LEDGER_TOKEN_FILE"),
        help="a file with the bearer token for brokers (default: that of REDIS_LEDGER_TOKEN, if set)",
    )  # fmt: skip
    made.add_argument(
        "--ca-file", metavar="FILE",
        help="PEM file of certificate authorities for https (those of SSL_CERT_FILE, or the public ones)",
    )  # fmt: skip
    made.add_argument(
        "--timeout", type=duration_ms, default=60_000, metavar="DURATION",
        help="how long to retry a call while no broker is available (1m)",
    )  # fmt: skip
    made.add_argument(
        "--master",
        help="where Spark runs: local[4], spark://host:7077 (default: the one of spark-submit, or this machine)",
    )
    made.add_argument(
        "--conf", action="append", default=[], type=_setting, metavar="NAME=VALUE",
        help="a setting of Spark, such as spark.driver.memory=2g; may be repeated",
    )  # fmt: skip
    return made


def add_topics(made: argparse.ArgumentParser) -> None:
    """Adds --topic, which may be repeated, or --pattern."""
    which = made.add_mutually_exclusive_group(required=True)
    which.add_argument("--topic", action="append", metavar="NAME", help="a topic; may be repeated")
    which.add_argument(
        "--pattern", type=_pattern, metavar="REGEX", help="all topics whose whole name this regular expression matches"
    )


def topics_of(given: argparse.Namespace, client: Client) -> list[str]:
    """Raises UnknownTopic for a named topic that does not exist."""
    there = [topic.name for topic in client.topics.list()]
    if given.pattern is not None:
        return [name for name in there if re.fullmatch(given.pattern, name)]
    for name in given.topic:
        if name not in there:
            raise UnknownTopic(f"There is no topic {name}.")
    return list(dict.fromkeys(given.topic))


def connection_of(given: argparse.Namespace) -> Connection:
    """Returns the connection that tasks use.  Raises InvalidRequest for an invalid address or an unreadable file."""
    texts = {"bootstrap": given.bootstrap, "timeoutMs": str(given.timeout)}
    texts |= {} if given.token_file is None else {"tokenFile": given.token_file}
    texts |= {} if given.ca_file is None else {"caFile": given.ca_file}
    return connection(texts)


def client_of(reached: Connection) -> Client:
    return Client(
        reached.urls,
        timeout_ms=reached.timeout_ms,
        token=reached.token,
        token_file=reached.token_file,
        ca_file=reached.ca_file,
    )


def options_of(reached: Connection) -> dict[str, str]:
    """Returns the connection as options of `spark.read.format("redis-ledger")`."""
    texts = {
        "bootstrap": ",".join(reached.urls),
        "timeoutMs": str(reached.timeout_ms),
        "caFile": reached.ca_file,
        "tokenFile": reached.token_file,
        "token": reached.token if reached.token_file is None else None,
    }
    return {name: text for name, text in texts.items() if text is not None}


@contextlib.contextmanager
def started(given: argparse.Namespace) -> Iterator[SparkSession]:
    """Starts a session, and stops it at the end unless there was one before.  Raises LedgerError if Spark cannot
    start."""
    try:
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError:
        raise LedgerError(NO_SPARK) from None
    from redis_ledger.spark import session

    try:
        SparkSession.active()
        is_ours = False
    except PySparkRuntimeError:
        is_ours = True
    found = session(given.master, {**QUIET, **dict(given.conf)})
    try:
        yield found
    finally:
        if is_ours:
            found.stop()


NO_SPARK = "This needs Spark, which is not installed: pip install '.[spark]' in a checkout, or spark-submit this file."


def ended(name: str, work: Callable[[], None]) -> int:
    """Runs the work and returns the exit code.  Prints an error as one sentence."""
    try:
        work()
    except LedgerError as error:
        _tell(name, error.detail)
    except KeyboardInterrupt:
        _tell(name, "interrupted; run it again to continue.")
    except Exception as error:
        sentence = sentence_of(error)
        if sentence is None:
            raise
        _tell(name, sentence)
    else:
        return 0
    return 1


def sentence_of(error: BaseException) -> str | None:
    """Returns why a job failed; None for an internal error.

    The text of Spark's errors has the whole trace of a task, whose last line is Python's error.
    """
    if isinstance(error, LedgerError):
        return error.detail
    if isinstance(error, OSError):
        return str(error)
    if not type(error).__module__.startswith(("py4j.", "pyspark.")):
        return None
    text = str(error).partition("=== Streaming Query ===")[0]  # after it comes the stream's progress
    raised = re.findall(r"^(?:\w+\.)*(?P<kind>[A-Z]\w+): (?P<detail>\S.*)$", text, re.MULTILINE)
    if "Traceback" in text and raised:
        kind, detail = raised[-1]
        return detail if _is_ours(kind) else f"A task failed: {kind}: {detail}"
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    # Py4J starts with the name of the call; the reason follows.
    reasons = [line.removeprefix(": ") for line in lines if not line.startswith("An error occurred while calling")]
    return reasons[0] if reasons else text


def _is_ours(kind: str) -> bool:
    from redis_ledger import errors

    found = getattr(errors, kind, None)
    return isinstance(found, type) and issubclass(found, LedgerError)


def duration_ms(text: str) -> int:
    """Parses 5m, 12h, 1d, 500ms, PT5M."""
    try:
        return delivery_headers.duration_ms(text.strip())
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a duration; write it as 30s, 5m, 12h or 1d") from None


def _setting(text: str) -> tuple[str, str]:
    name, is_set, value = text.partition("=")
    if not is_set or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular expression: {error}") from None
    return text


def _tell(name: str, sentence: str) -> None:
    print(f"{name}: {one_line(sentence)}", file=sys.stderr, flush=True)
