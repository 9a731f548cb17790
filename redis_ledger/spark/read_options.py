"""Options of the data source: parses each into a typed value, or raises an error of one sentence.

    {"BOOTSTRAP": "http://b1:8080,http://b2:8080", "subscribe": "orders", "startingoffsets": "earliest"}
      ─→ normalized  option names in our spelling, in any case; Kafka's names are aliases; others are refused
      ─→ ReadOptions    options of a read

Names and meanings are those of Spark's Kafka connector where it has them, so that a job is ported by changing format
and bootstrap.
"""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from redis_ledger.client import bearer, trust
from redis_ledger.client.models import Isolation
from redis_ledger.errors import InvalidRequest
from redis_ledger.records.budget import DEFAULT, Limits
from redis_ledger.spark.offset_options import EARLIEST, LATEST, OffsetOption, parse_offsets, parse_times

Mode: TypeAlias = Literal["batch", "stream"]

CONNECTION = ("bootstrap", "token", "tokenFile", "caFile", "timeoutMs")
STARTS = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp")
ENDS = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
ONLY: Mapping[str, Mode] = {
    **dict.fromkeys(ENDS, "batch"), "maxOffsetsPerTrigger": "stream", "maxBytesPerTrigger": "stream",
}  # fmt: skip
DECODING = {  # by the broker's setting of the same meaning
    "batch_decoded_bytes_max": "batchDecodedBytesMax", "record_headers_max": "recordHeadersMax",
    "headers_max": "headersMax",
}  # fmt: skip
READING = (
    *CONNECTION, "topics", "topicsPattern", *STARTS, "startingOffsetsByTimestampStrategy", *ENDS, "isolation",
    "maxOffsetsPerTrigger", "maxBytesPerTrigger", "minPartitions", "taskBytes", "fetchBytes", "failOnDataLoss",
    "includeHeaders", "includePosition", *DECODING.values(),
)  # fmt: skip
ALIASES = {
    "subscribe": "topics", "subscribepattern": "topicsPattern", "kafka.isolation.level": "isolation",
}  # fmt: skip

TIMEOUT_MS = 60_000
FETCH_BYTES, FETCH_BYTES_MAX = 4 << 20, 64 << 20
TASK_BYTES = 64 << 20
DECODED_MAX = (1 << 31) - 1  # limit of an Arrow binary array
OFFLOAD_DECODED_BYTES = 1 << 30  # limit of one batch that `offload` decodes, in slices


@dataclass(frozen=True)
class Connection:
    """Connection to the brokers.  token: a bearer token, never logged; with token_file, its content when it was read.
    authorities: the content of ca_file, which executors may not have."""

    urls: tuple[str, ...]
    token: str | None = field(repr=False)
    timeout_ms: int
    token_file: str | None = None
    ca_file: str | None = None
    authorities: str | None = field(default=None, repr=False)

    def from_broker(self, number: int) -> Connection:
        """Returns the same connection with another broker first, to spread readers over brokers."""
        first = number % len(self.urls)
        return replace(self, urls=self.urls[first:] + self.urls[:first])

    def now(self) -> Connection:
        """Returns the connection with the current content of its token file, for drivers that run for long."""
        if self.token_file is None:
            return self
        with contextlib.suppress(InvalidRequest):  # half written: the previous token may still be valid
            return replace(self, token=bearer.read(self.token_file))
        return self


@dataclass(frozen=True)
class ReadOptions:
    """topics: by name, or those that `pattern` matches as a whole.  tasks_min, task_bytes: how a batch is split.
    offsets_max, bytes_max: of one batch of a stream.  limits: of one record batch that a task decodes."""

    connection: Connection
    topics: tuple[str, ...]
    pattern: str | None
    isolation: Isolation
    start: OffsetOption
    end: OffsetOption
    latest_if_no_match: bool
    offsets_max: int | None
    bytes_max: int | None
    tasks_min: int
    task_bytes: int
    fetch_bytes: int
    fail_on_data_loss: bool
    limits: Limits
    include_headers: bool
    include_position: bool


def parse_read_options(options: Mapping[str, str], mode: Mode | None = None) -> ReadOptions:
    """Raises InvalidRequest for an invalid option, or one of another mode.  mode None: not known yet."""
    texts = normalized(options, READING)
    for name, only in ONLY.items():
        if name in texts and mode is not None and only != mode:
            raise InvalidRequest(f"{name} applies to {_IN_WORDS[only]} and this is {_IN_WORDS[mode]}; remove it.")
    topics, pattern = _topics(texts)
    return ReadOptions(
        connection=connection(texts),
        topics=topics,
        pattern=pattern,
        isolation=_isolation(texts),
        start=_start(texts, mode),
        end=_end(texts),
        latest_if_no_match=one_of(texts, "startingOffsetsByTimestampStrategy", ("error", "latest"), "error")
        == "latest",
        offsets_max=count(texts, "maxOffsetsPerTrigger"),
        bytes_max=count(texts, "maxBytesPerTrigger"),
        tasks_min=count(texts, "minPartitions") or 1,
        task_bytes=count(texts, "taskBytes") or TASK_BYTES,
        fetch_bytes=count(texts, "fetchBytes", most=FETCH_BYTES_MAX) or FETCH_BYTES,
        fail_on_data_loss=switch(texts, "failOnDataLoss", True),
        limits=_limits(texts),
        include_headers=switch(texts, "includeHeaders", False),
        include_position=switch(texts, "includePosition", False),
    )


_IN_WORDS = {"batch": "batch queries", "stream": "streams"}


def normalized(options: Mapping[str, str], known: Collection[str]) -> dict[str, str]:
    """Returns the values by our spelling of the names.  Raises InvalidRequest for an unknown or duplicate name."""
    ours = {name.lower(): name for name in known}
    ours |= {alias: name for alias, name in ALIASES.items() if name in known}
    texts: dict[str, str] = {}
    for spelled, text in options.items():
        name = ours.get(spelled.lower())
        if name is None:
            raise InvalidRequest(_unknown(spelled, ours))
        if name in texts:
            raise InvalidRequest(f"{name} is given twice, once as {spelled}; remove one of them.")
        texts[name] = str(text).strip()
    return texts


def _unknown(spelled: str, ours: Mapping[str, str]) -> str:
    lower = spelled.lower()
    if lower == "kafka.bootstrap.servers":
        return f"{spelled} is an option for Kafka ports; this source uses HTTP: set bootstrap to http://host:8080."
    if lower.startswith("kafka."):
        return f"{spelled} is a setting of Kafka's client, which is not used here; remove it."
    near = difflib.get_close_matches(lower, ours, n=1, cutoff=0.7)
    hint = f"did you mean {ours[near[0]]}?" if near else f"the options are {', '.join(sorted(set(ours.values())))}."
    return f"There is no option {spelled}; {hint}"


def connection(texts: Mapping[str, str]) -> Connection:
    if not texts.get("bootstrap"):
        raise InvalidRequest("bootstrap is missing: give one or more broker addresses, such as http://127.0.0.1:8080.")
    urls = tuple(url.strip().rstrip("/") for url in texts["bootstrap"].split(",") if url.strip())
    for url in urls:
        if "@" in url:
            raise InvalidRequest("bootstrap: an address must not contain a user or password; use the option token.")
        if re.fullmatch(r"https?://[^/\s?#]+", url) is None:
            raise InvalidRequest(f"bootstrap: {url!r} is not a broker address, such as http://127.0.0.1:8080.")
    if texts.get("token") == "":
        raise InvalidRequest("token is empty; remove it if brokers need none.")
    if "token" in texts and "tokenFile" in texts:
        raise InvalidRequest("token and tokenFile exclude each other; give one of them.")
    token, token_file = bearer.given(texts.get("token"), texts.get("tokenFile"))
    ca_file = texts.get("caFile")
    return Connection(
        urls=urls,
        token=token,
        timeout_ms=count(texts, "timeoutMs") or TIMEOUT_MS,
        token_file=token_file,
        ca_file=ca_file,
        authorities=None if ca_file is None else trust.read(ca_file),
    )


def _topics(texts: Mapping[str, str]) -> tuple[tuple[str, ...], str | None]:
    named, pattern = texts.get("topics"), texts.get("topicsPattern")
    if (named is None) == (pattern is None):
        raise InvalidRequest("Give either topics=a,b or topicsPattern=a.*, and not both.")
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise InvalidRequest(f"topicsPattern {pattern!r} is not a regular expression: {error}.") from None
        return (), pattern
    assert named is not None
    names = tuple(dict.fromkeys(name.strip() for name in named.split(",") if name.strip()))
    if not names:
        raise InvalidRequest("topics is empty; name one or more, separated by commas.")
    return names, None


def _limits(texts: Mapping[str, str]) -> Limits:
    given_ = (count(texts, name, most=DECODED_MAX) for name in DECODING.values())
    return Limits(*(number or default for number, default in zip(given_, DEFAULT[:3], strict=True)))


def _isolation(texts: Mapping[str, str]) -> Isolation:
    found = one_of(texts, "isolation", ("read_committed", "read_uncommitted"), "read_committed")
    return "read_committed" if found == "read_committed" else "read_uncommitted"


def _start(texts: Mapping[str, str], mode: Mode | None) -> OffsetOption:
    option = _offset_option(texts, STARTS, EARLIEST if mode == "batch" else LATEST)
    if mode == "batch" and not option.is_time and LATEST in (option.everywhere, *option.named.values()):
        raise InvalidRequest("startingOffsets: a batch that starts at the latest offset is empty; start earlier.")
    return option


def _end(texts: Mapping[str, str]) -> OffsetOption:
    option = _offset_option(texts, ENDS, LATEST)
    if not option.is_time and EARLIEST in (option.everywhere, *option.named.values()):
        raise InvalidRequest("endingOffsets: a batch that ends at the earliest offset is empty; end later.")
    return option


def _offset_option(texts: Mapping[str, str], names: tuple[str, str, str], otherwise: int) -> OffsetOption:
    said = [name for name in names if name in texts]
    if len(said) > 1:
        raise InvalidRequest(f"{' and '.join(said)} exclude each other; give one of them.")
    if not said:
        return OffsetOption(otherwise)
    (name,) = said
    text = texts[name]
    if name == names[0]:
        words = {"earliest": EARLIEST, "latest": LATEST}
        return (
            OffsetOption(words[text.lower()])
            if text.lower() in words
            else OffsetOption(None, parse_offsets(name, text))
        )
    if name == names[1]:
        return OffsetOption(_number(name, text, 0), is_time=True)
    return OffsetOption(None, parse_times(name, text), is_time=True)


def one_of(texts: Mapping[str, str], name: str, choices: Collection[str], otherwise: str) -> str:
    text = texts.get(name, otherwise).lower()
    if text not in choices:
        raise InvalidRequest(f"{name} is {texts[name]!r}; expected {' or '.join(choices)}.")
    return text


def switch(texts: Mapping[str, str], name: str, otherwise: bool) -> bool:
    return one_of(texts, name, ("true", "false"), str(otherwise).lower()) == "true"


def count(texts: Mapping[str, str], name: str, *, most: int | None = None) -> int | None:
    """A number from 1; None if it was not given."""
    if name not in texts:
        return None
    number = _number(name, texts[name], 1)
    if most is not None and number > most:
        raise InvalidRequest(f"{name} is {number}; the maximum is {most}.")
    return number


def _number(name: str, text: str, least: int) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text) or int(text) < least:
        raise InvalidRequest(f"{name} is {text!r}; expected a whole number of at least {least}.")
    return int(text)
