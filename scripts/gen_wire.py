"""Generates redis_ledger/kafka/protocol/messages/ from redis_ledger/kafka/protocol/schemas/; both are committed.

Request encoders and response decoders, which only clients need, are made when tests and benches use them
(tests/support/kafka_codec.py).

    .venv/bin/python scripts/gen_wire.py                            writes them
    .venv/bin/python scripts/gen_wire.py --check                    lists stale files, exit code 1
    .venv/bin/python scripts/gen_wire.py --jar kafka-clients.jar    takes the schemas anew from a jar, then writes

The jar is kafka-clients of Maven Central (`mvn dependency:copy -Dartifact=org.apache.kafka:kafka-clients:4.4.0
-DoutputDirectory=/tmp`); it is needed only to go to another version of Kafka.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.wire import module, schema  # noqa: E402  a script has its own folder on sys.path, not the root

WIRE = ROOT / "redis_ledger" / "kafka" / "protocol"
SCHEMAS, TARGET = WIRE / "schemas", WIRE / "messages"

# The versions that the codec speaks.  Absent ones would have to be built first, newer ones are not stable in 4.4.0.
APIS = {
    "Produce": "3-13", "Fetch": "4-17", "ListOffsets": "1-10", "Metadata": "0-13", "OffsetCommit": "2-10",
    "OffsetFetch": "1-10", "FindCoordinator": "0-6", "JoinGroup": "0-9", "Heartbeat": "0-4", "LeaveGroup": "0-5",
    "SyncGroup": "0-5", "DescribeGroups": "0-6", "ListGroups": "0-5", "SaslHandshake": "0-1", "ApiVersions": "0-4",
    "CreateTopics": "2-7", "DeleteTopics": "1-6", "DeleteRecords": "0-2", "InitProducerId": "0-5",
    "OffsetForLeaderEpoch": "2-4", "AddPartitionsToTxn": "0-5", "AddOffsetsToTxn": "0-4", "EndTxn": "0-5",
    "WriteTxnMarkers": "1-2", "TxnOffsetCommit": "0-6", "DescribeAcls": "1-3", "CreateAcls": "1-3",
    "DeleteAcls": "1-3", "DescribeConfigs": "1-4", "AlterConfigs": "0-2",
    "DescribeLogDirs": "1-5", "SaslAuthenticate": "0-2", "CreatePartitions": "0-3", "DeleteGroups": "0-3",
    "IncrementalAlterConfigs": "0-1", "OffsetDelete": "0", "DescribeUserScramCredentials": "0",
    "AlterUserScramCredentials": "0", "DescribeCluster": "0-2", "DescribeProducers": "0", "DescribeTransactions": "0",
    "ListTransactions": "0-2", "ConsumerGroupHeartbeat": "0-1", "ConsumerGroupDescribe": "0-1",
    "DescribeTopicPartitions": "0", "DescribeClientQuotas": "0-1", "AlterClientQuotas": "0-1",
}  # fmt: skip
# What members of a group say to each other through the broker, which looks inside for the topics.
DATA = {"ConsumerProtocolSubscription": "0-3", "ConsumerProtocolAssignment": "0-3"}
READ_BY_BROKER = set(DATA)
NAMES = {f"{api}{kind}": ours for api, ours in APIS.items() for kind in ("Request", "Response")} | DATA


def messages() -> list[schema.Message]:
    return [schema.read(SCHEMAS / f"{name}.json", ours) for name, ours in NAMES.items()]


def table(read: list[schema.Message]) -> str:
    """messages/__init__.py: the table of the APIs."""
    lines = ['"""Made by `make generate`: the APIs that the codec speaks, by key; do not edit."""\n']
    lines += ["from __future__ import annotations\n", "from redis_ledger.kafka.protocol.api import Api\n"]
    lines.append("API_VERSIONS: dict[int, Api] = {")
    requests = [message for message in read if message.kind == "request"]
    for message in sorted(requests, key=lambda message: message.api_key or 0):
        answer = next(one for one in read if one.kind == "response" and one.api_key == message.api_key)
        first = message.flexible.first if message.flexible.last >= message.flexible.first else message.versions.last + 1
        assert (answer.versions, answer.flexible) == (message.versions, message.flexible), message.name
        name = message.name.removesuffix("Request")
        facts = (message.api_key, name, schema.snake(name), *message.versions, first)
        lines.append(f"    {message.api_key}: Api({', '.join(map(repr, facts))}),")
    return "\n".join([*lines, "}", ""])


def generate() -> dict[Path, str]:
    """Target file → expected content."""
    read = messages()
    made = {TARGET / "__init__.py": table(read)}
    for message in read:
        reads = message.name in READ_BY_BROKER or message.kind == "request"
        writes = message.kind == "response"
        made[TARGET / f"{message.module}.py"] = module.module(message, classes=True, decode=reads, encode=writes)
    return made


def client_source(name: str) -> str:
    """The client's half of a message.  name: as in `ProduceRequest`."""
    message = schema.read(SCHEMAS / f"{name}.json", NAMES[name])
    reads = message.kind == "response"
    return module.module(message, classes=False, decode=reads, encode=not reads)


def stale(wanted: dict[Path, str]) -> list[Path]:
    """Files that differ from the generated content, and generated files without a schema."""
    differing = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    orphans = [path for path in TARGET.glob("*.py") if path not in wanted]
    orphans += [path for path in SCHEMAS.glob("*.json") if path.stem not in NAMES]
    return sorted(differing + orphans)


def take_schemas(jar: Path) -> None:
    with zipfile.ZipFile(jar) as archive:
        for name in NAMES:
            (SCHEMAS / f"{name}.json").write_bytes(archive.read(f"common/message/{name}.json"))
        (SCHEMAS / "LICENSE").write_bytes(archive.read("LICENSE"))


def main() -> int:
    arguments = argparse.ArgumentParser(description="generates the Kafka message codec")
    arguments.add_argument("--check", action="store_true", help="only say what is stale")
    arguments.add_argument("--jar", type=Path, help="take the schemas from this kafka-clients jar first")
    asked = arguments.parse_args()
    if asked.jar:
        take_schemas(asked.jar)
    wanted = generate()
    out_of_date = stale(wanted)
    if asked.check:
        for path in out_of_date:
            print(f"{path.relative_to(ROOT)} is stale; run: make generate", file=sys.stderr)
        return 1 if out_of_date else 0
    for path in out_of_date:
        if path in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[path])
        else:
            path.unlink()
    print(f"{len(wanted)} files, {len(out_of_date)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
