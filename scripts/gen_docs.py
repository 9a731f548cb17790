"""Generates the pages of docs/reference/ and the index of docs/decisions/ from the code.

.venv/bin/python scripts/gen_docs.py           writes changed files
.venv/bin/python scripts/gen_docs.py --check   lists stale files, exit code 1
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from redis_ledger import config, errors  # noqa: E402  a script has its own folder on sys.path, not the root
from redis_ledger.app.http.application import OPERATIONS  # noqa: E402
from redis_ledger.app.process import pulsar_settings  # noqa: E402
from redis_ledger.store import keys  # noqa: E402
from redis_ledger.telemetry import exposition  # noqa: E402
from scripts import dashboard, gen_chart, gen_requirements, lua_header, pulsar_metrics, rest_page  # noqa: E402
from scripts.markdown import MADE, table  # noqa: E402


class Setting(NamedTuple):
    section: str
    name: str
    default: str
    meaning: str


def sentences(cls: type[errors.LedgerError]) -> tuple[str, str]:
    """The title and the remedy: the first sentence of the docstring and the rest."""
    title, _, advice = " ".join((cls.__doc__ or "").split()).partition(". ")
    return title.rstrip(".") + ".", advice


def error_row(cls: type[errors.LedgerError]) -> tuple[str, ...]:
    retriable = "yes" if cls.retriable else "no"
    return f"`{cls.code}`", f"`{cls.__name__}`", str(cls.http_status), str(cls.kafka_code), retriable, *sentences(cls)


def errors_page() -> str:
    parts = [
        "# Errors\n",
        MADE.format(source="redis_ledger/errors/"),
        "Every problem has a stable `code`, the same over REST (RFC 9457, `code` and the end of `type`), in the SDK\n"
        "(a class of `redis_ledger.errors`) and on the command line. *Retriable* means that the same request may\n"
        "succeed later, unchanged.\n",
    ]
    branches: list[type[errors.LedgerError]] = [errors.LedgerError, *errors.LedgerError.__subclasses__()]
    for branch in branches:
        parts.append(f"## {branch.__name__}\n")
        classes = [branch] if branch is errors.LedgerError else [*errors.leaves(branch)]
        rows = [error_row(cls) for cls in classes]
        parts.append(table(("code", "class", "HTTP", "Kafka", "retriable", "meaning", "what to do"), rows))
    return "\n".join(parts)


def settings() -> Iterator[Setting]:
    """The fields of Config with their comments, by the comment line above each group."""
    lines = inspect.getsource(config.Config).splitlines()
    section = "general"
    for line in lines:
        heading = re.fullmatch(r"\s+# (.+)", line)
        field = re.fullmatch(r"\s+(\w+): \w+ = (.+?)  # (.+)", line)
        if heading:
            section = heading[1]
        elif field:
            yield Setting(section, field[1], str(ast.literal_eval(field[2])), field[3])


def settings_page() -> str:
    parts = [
        "# Settings\n",
        MADE.format(source="redis_ledger/config.py"),
        "Each is read from the environment as `REDIS_LEDGER_` and its name in capitals, for example\n"
        "`REDIS_LEDGER_RETENTION_MS=86400000`. Units are the last part of a name.\n",
    ]
    found, empty = list(settings()), '""'
    for section in dict.fromkeys(setting.section for setting in found):
        parts.append(f"## {section[:1].upper()}{section[1:]}\n")
        rows = [(f"`{s.name}`", f"`{s.default or empty}`", s.meaning) for s in found if s.section == section]
        parts.append(table(("setting", "default", "meaning"), rows))
    parts.append(
        "## Other names\n\n"
        "For delayed delivery, the names of Pulsar's releases and of the first version of PIP-195 are accepted after\n"
        "`REDIS_LEDGER_` in the environment and in `--set`, in upper or lower case. Settings that were removed are\n"
        "refused with a message, and so are two names of one setting with different values.\n"
    )
    parts.append(
        table(("name", "here"), ((f"`{alias.name}`", _here(alias)) for alias in pulsar_settings.ALIASES.values()))
    )
    return "\n".join(parts)


def _here(alias: pulsar_settings.Alias) -> str:
    if alias.ours:
        return f"`{alias.ours}`"
    return f"only `{alias.only}`: {alias.note}" if alias.only else f"without effect: {alias.note}"


def key_rows() -> Iterator[tuple[str, str, str]]:
    for line in (keys.__doc__ or "").splitlines():
        row = re.fullmatch(r"\s{4}(\S+)\s+(hash|stream|zset|string|set|list|channel)\s+(.+)", line)
        if row:
            yield f"`{row[1]}`", row[2], row[3].replace("<", "&lt;")


def keys_page() -> str:
    return "\n".join(
        [
            "# Keys\n",
            MADE.format(source="redis_ledger/store/keys.py"),
            "All keys that redis-ledger stores in Redis. `rl` is the configurable prefix, `orders:3` a topic and\n"
            "partition, `tc:5` a transaction coordinator, `<name>` a percent-encoded subscription; `...:<name>`\n"
            "continues the key of that subscription. The part in braces is the hash tag: keys with the same one are\n"
            "in one slot, and one script may change them together.\n",
            table(("key", "type", "holds"), key_rows()),
        ]
    )


def metrics_page() -> str:
    rows = [
        (f"`{each.name}`", each.kind, each.unit, ", ".join(f"`{label}`" for label in each.labels), each.help)
        for each in exposition.declared()
    ]
    return "\n".join(
        [
            "# Metrics\n",
            MADE.format(source="redis_ledger/telemetry/"),
            "Every broker serves these metrics at `GET /metrics`, in Prometheus' text format. The Helm chart has a\n"
            "dashboard and alerts, and [Alerts](../howto/alerts.md) says what to do when one fires.\n",
            "- Labels: `operation` is the name of the call in `/openapi.json`, such as `produce`; `api` is Kafka's,\n"
            "  such as `Fetch`. No label contains a key or an id.\n"
            "- Counters and histograms describe one broker: add them up over brokers.\n"
            "- Metrics of data in Redis (topics, partitions, groups, subscriptions, transactions, memory) are the\n"
            "  same on every broker: use one of them, as in `max by (topic)`, also of the counters of transactions,\n"
            "  as in `max by (coordinator) (rate(...))`. They are read when the broker is\n"
            "  scraped, at most once in three seconds. If Redis does not answer, they keep their values for a\n"
            "  minute and are then left out. `redis_ledger_overview_timestamp_seconds` is the time at which they\n"
            "  were read.\n"
            "- `metrics_topics_max`, `metrics_partitions_max` and `metrics_cursors_max` limit the number of series,\n"
            "  and metrics count what they leave out.\n",
            table(("metric", "kind", "unit", "labels", "meaning"), rows),
            pulsar_metrics.ABOUT_TRANSACTIONS,
            table(("Pulsar", "here"), pulsar_metrics.rows(pulsar_metrics.TRANSACTIONS)),
            pulsar_metrics.ABOUT_DELAYED,
            table(("Pulsar", "here"), pulsar_metrics.rows(pulsar_metrics.DELAYED)),
        ]
    )


def scripts_page() -> str:
    parts = [
        "# Scripts\n",
        MADE.format(source="the headers in lua/"),
        "Every change of state is made by one of these scripts. A script uses the keys of one slot and makes one\n"
        "decision; `txn/apply_and_end` alone uses several slots, on one server. "
        "[The rules for scripts](../../lua/README.md) are beside them.\n",
    ]
    for name, path in lua_header.scripts(ROOT / "lua").items():
        header = lua_header.parse(path.read_text())
        summary = " ".join(header.summary.split())
        flags = f" Flags: `{header.flags}`." if header.flags else ""
        parts.append(f"## {name}\n\n{summary[:1].upper()}{summary[1:]}{flags}\n")
        blocks = [f"{section:<12}{indented(text)}" for section, text in header.sections.items()]
        parts.append("```text\n" + "\n".join(blocks) + "\n```\n")
    return "\n".join(parts)


def indented(text: str) -> str:
    first, *rest = text.lstrip("\n").splitlines()
    margin = min((len(line) - len(line.lstrip()) for line in rest if line.strip()), default=0)
    return "\n".join([first.strip(), *(textwrap.indent(line[margin:], " " * 12) for line in rest)])


def decisions_page() -> str:
    rows = []
    for path in sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md")):
        title = path.read_text().splitlines()[0].removeprefix("# ")
        number, _, words = title.partition(" ")
        rows.append((f"[{number}]({path.name})", words))
    return "\n".join(
        [
            "# Decisions\n",
            MADE.format(source="the first lines of the records"),
            "Why redis-ledger is built as it is. Each record is about half a page: the context, the decision, and its\n"
            "consequences. A record is not rewritten when a decision changes; a new one names the one it replaces.\n",
            table(("record", "decision"), rows),
        ]
    )


def pages() -> dict[Path, str]:
    """File → expected content."""
    reference = ROOT / "docs" / "reference"
    return {
        reference / "errors.md": errors_page(),
        reference / "settings.md": settings_page(),
        reference / "keys.md": keys_page(),
        reference / "scripts.md": scripts_page(),
        reference / "rest.md": rest_page.page(OPERATIONS),
        reference / "metrics.md": metrics_page(),
        **gen_requirements.pages(),
        ROOT / "docs" / "decisions" / "README.md": decisions_page(),
        ROOT / "helm" / "redis-ledger" / "files" / "dashboard.json": dashboard.text(),
        **gen_chart.pages(),
    }


def main() -> int:
    wanted = pages()
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in stale:
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(ROOT)} is stale; run: make generate", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path])
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
