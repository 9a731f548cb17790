"""The security matrix: every action, every principal, both ports.  The table lists the principals that may perform an
action; all others are refused, at each port that has it.

The principals and their ACLs are in tests/support/security_matrix.py.  A protocol from which an operation is missing
does not have it; UNEQUAL gives the reason where the protocols require different permissions.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import httpx
import pytest

from redis_ledger.app.http.application import OPERATIONS
from redis_ledger.kafka.router import routes
from tests.support import security_matrix_kafka as kafka
from tests.support import security_matrix_rest as rest
from tests.support.security_matrix import ALL_USERS, FORBIDDEN, Ground, ground
from tests.support.security_matrix_rest import ACK, NOTE, OFFLOAD, ONE, RECORDS, RULE, SUB, calls, with_another_s

ADMINS = frozenset({"admin", "root"})
READERS = frozenset({"reader", "member", "prefixed"}) | ADMINS
WRITERS = frozenset({"writer", "prefixed"}) | ADMINS
SENDERS = WRITERS | {"sender"}  # writers, and those without a transactional id
KNOWING = READERS | SENDERS | {"knower"}  # may describe the topic
MEMBERS = frozenset({"member", "prefixed"}) | ADMINS  # read a group and its topic
DESCRIBERS = MEMBERS | {"knower"}  # may describe a group and its topic
OWNERS = frozenset({"writer", "member", "prefixed", "joiner", "namer"}) | ADMINS  # of a transactional id
ROOT = frozenset({"root"})


class Act(NamedTuple):
    """rest, kafka: ways to do it, by the operations or APIs that they ask, several with blanks between them."""

    name: str
    may: frozenset[str]
    rest: dict[str, Callable[[Ground], Awaitable[Any]]]
    kafka: dict[str, Callable[[Ground], Awaitable[Any]]]


def act(name: str, may: frozenset[str], rest: Any = None, kafka: Any = None) -> Act:
    return Act(name, may, rest or {}, kafka or {})


_SCHEDULED = f"{ONE}/scheduled"
_LATER = {"value": 1, "partition": 0, "deliver_at": "2999-01-01T00:00:00Z"}
_TXN = "/v1/transactions/TXN"
ACTS = [
    act("find the brokers", ALL_USERS, {"entry livez readyz": calls("GET", "/v1")},
        {"ApiVersions DescribeCluster SaslHandshake SaslAuthenticate": kafka.find_brokers}),
    # records
    act("produce", SENDERS, {"produce": calls("POST", f"{ONE}/records", RECORDS)}, {"Produce": kafka.produces}),
    act("fetch", READERS, {"fetch": calls("GET", f"{ONE}/partitions/0/records")}, {"Fetch": kafka.fetches}),
    act("write a large message", SENDERS, {"write_large_message": calls("POST", f"{ONE}/largeMessages", RECORDS)}),
    act("read a large message", READERS, {"read_large_message": rest.reads_large_message}),
    act("find an offset", KNOWING, {"find_offset": calls("GET", f"{ONE}/partitions/0/offsets?timestamp_ms=5")},
        {"ListOffsets": kafka.finds_offset, "OffsetForLeaderEpoch": kafka.finds_end_of_epoch}),
    act("produce idempotently", SENDERS | {"denied"}, {"create_producer": calls("POST", "/v1/producers", {})},
        {"InitProducerId": kafka.inits}),
    act("delete records", ADMINS, kafka={"DeleteRecords": kafka.deletes_records}),
    act("deliver later", SENDERS, {
        "schedule": calls("POST", _SCHEDULED, _LATER),
        "reschedule": calls("PATCH", f"{_SCHEDULED}/0:1.0", {"deliver_after": 5_000_000}),
        "cancel_many": calls("POST", f"{_SCHEDULED}:cancel", {"ids": ["0:1.0"]}),
        "cancel_scheduled": calls("DELETE", f"{_SCHEDULED}/0:1.0"),
        "clear_scheduled": calls("DELETE", _SCHEDULED),
    }),
    act("read what is delivered later", READERS, {
        "list_scheduled": calls("GET", _SCHEDULED), "get_scheduled": calls("GET", f"{_SCHEDULED}/0:1.0"),
    }),
    act("count what is delivered later", KNOWING, {
        "delay_stats": calls("GET", f"{_SCHEDULED}:stats"), "delay_histogram": calls("GET", f"{_SCHEDULED}:histogram"),
    }),
    act("rebuild what is delivered later", ADMINS, {"rebuild_scheduled": calls("POST", f"{_SCHEDULED}:rebuild", {})}),
    # topics
    act("describe a topic", KNOWING,
        {"describe_topic": calls("GET", ONE), "describe_offloaded": calls("GET", f"{ONE}/cold"),
         "why": calls("GET", f"{ONE}/why")},
        {"Metadata": kafka.describes_topic, "DescribeTopicPartitions": kafka.describes_partitions}),
    act("be shown a topic", KNOWING, {"list_topics": rest.is_shown_topic}, {"Metadata": kafka.is_shown_topic}),
    act("create a topic", ADMINS, {"create_topic": calls("POST", "/v1/topics", {"name": "orders"})},
        {"CreateTopics": kafka.creates_topic, "Metadata": kafka.creates_by_metadata}),
    act("delete a topic", ADMINS, {"delete_topic": calls("DELETE", ONE)}, {"DeleteTopics": kafka.deletes_topic}),
    act("add partitions", ADMINS, {"change_topic": calls("PATCH", ONE, {"partitions": 2})},
        {"CreatePartitions": kafka.grows_topic}),
    act("change settings", ADMINS, {"change_topic": calls("PATCH", ONE, {"settings": {"retention_ms": 5_000}})},
        {"IncrementalAlterConfigs": kafka.changes_settings, "AlterConfigs": kafka.replaces_settings}),
    act("describe settings", ADMINS, kafka={"DescribeConfigs": kafka.describes_settings}),
    act("describe a broker's settings", ADMINS, kafka={"DescribeConfigs": kafka.describes_broker}),
    act("describe producers", READERS, kafka={"DescribeProducers": kafka.describes_producers}),
    act("measure", ADMINS, {"show_metrics": calls("GET", "/metrics")}, {"DescribeLogDirs": kafka.describes_sizes}),
    act("move history", ADMINS, {
        "plan_offload": calls("POST", f"{OFFLOAD}:plan", {}),
        "publish_segments": calls("POST", f"{OFFLOAD}:publish", {"plan": "x", "segments": []}),
        "abandon_plan": calls("POST", f"{OFFLOAD}:abandon", {"plan": "x"}),
        "swap_segments": calls("POST", f"{OFFLOAD}:swap", {}),
        "forget_segments": calls("POST", f"{OFFLOAD}:forget", {}),
    }),
    # groups and subscriptions
    act("join", MEMBERS, {"create_subscription": calls("POST", f"{ONE}/subscriptions", {"name": "g-new"})},
        {"ConsumerGroupHeartbeat": kafka.joins_by_heartbeat}),
    act("join by the classic protocol", MEMBERS | {"joiner"},
        kafka={"JoinGroup SyncGroup Heartbeat LeaveGroup": kafka.joins}),
    act("consume", MEMBERS, {
        "receive": calls("POST", f"{SUB}:receive", {"consumer": "c"}), "ack": calls("POST", f"{SUB}:ack", ACK),
        "ack_cumulative": calls("POST", f"{SUB}:ackCumulative", {"consumer": "c", "id": "0:0"}),
        "nack": calls("POST", f"{SUB}:nack", {"consumer": "c", "all": True}),
        "extend": calls("POST", f"{SUB}:extend", {"consumer": "c", "all": True}),
        "close_consumer": calls("POST", f"{SUB}:closeConsumer", {"consumer": "c"}),
        "seek": calls("POST", f"{SUB}:seek", {"to": "latest"}),
        "put_back": calls("POST", f"{SUB}:putBack", {}),
        "set_dead_letters": calls("POST", f"{SUB}:deadLetters", {"max_deliveries": 0}),
        "reconsume_later": rest.reconsumes_later,
        "dead_letter": rest.sends_dead_letter,
        "set_redelivery": calls("POST", f"{SUB}:redelivery", {"min_ms": 5}),
        "note_offsets": calls("POST", f"{NOTE}:noteOffsets", {"offsets": {"0": 1}}),
    }, {"OffsetCommit": kafka.commits_offset}),
    act("send dead letters away", frozenset({"prefixed"}) | ADMINS, {"set_dead_letters": rest.sends_dead_letters}),
    act("see what transactions hold in a partition", KNOWING, {
        "describe_partition_transactions": calls("GET", f"{ONE}/partitions/0/transactions"),
    }),
    act("see another's transaction in a partition", ADMINS, {
        "get_partition_transaction": with_another_s("GET", f"{ONE}/partitions/0/transactions/TXN"),
    }),
    act("see what a group holds", DESCRIBERS, {
        "get_lag": calls("GET", f"{ONE}/lag/g-rest"),
        "pending_acknowledgements": calls("GET", f"{ONE}/pending/g-rest"),
        "snapshot": calls("GET", f"{ONE}/snapshot/g-rest"),
        "record_state": calls("GET", f"{ONE}/partitions/0/records/0/subscriptions/g-rest"),
        "analyze_backlog": calls("GET", f"{ONE}/partitions/0/backlog/g-rest"),
    }),
    act("see where a group is", DESCRIBERS, {"describe_subscription": calls("GET", SUB)},
        {"OffsetFetch": kafka.reads_offsets, "ConsumerGroupDescribe": kafka.describes_consumers}),
    act("describe a group", DESCRIBERS | {"joiner"},
        kafka={"DescribeGroups": kafka.describes_group, "FindCoordinator": kafka.finds_group}),
    act("be shown the groups of a topic", DESCRIBERS, {"list_subscriptions": rest.is_shown_group}),
    act("be shown the lag of a group", DESCRIBERS, {"list_lags": rest.is_shown_lag}),
    act("be shown a group", DESCRIBERS | {"joiner"}, kafka={"ListGroups": kafka.is_shown_group}),
    act("delete a group", ADMINS, {"delete_subscription": calls("DELETE", SUB)},
        {"DeleteGroups": kafka.deletes_group, "OffsetDelete": kafka.deletes_offsets}),
    # transactions
    act("write in one's own transaction", SENDERS,
        {"begin add_partitions get_transaction commit": rest.writes_in_its_transaction}),
    act("write under one's own transactional id", WRITERS, kafka={
        "InitProducerId AddPartitionsToTxn EndTxn": kafka.writes_in_its_transaction,
    }),
    act("consume in one's own transaction", MEMBERS,
        {"begin add_subscriptions ack commit": rest.commits_offsets_in_its_transaction},
        {"AddOffsetsToTxn TxnOffsetCommit": kafka.commits_offsets_in_its_transaction}),
    act("have a transactional id", OWNERS, {"commit_all": rest.commits_together, "once": rest.asks_for_number},
        {"FindCoordinator": kafka.finds_transaction}),
    act("do one step in one call", frozenset({"prefixed"}) | ADMINS, {"execute": calls(
        "POST", "/v1/transactions:execute",
        {"acks": [{"topic": "orders", "subscription": "g-rest", **ACK}], "records": [{"topic": "orders", **RECORDS}]},
    )}),
    act("end another's transaction", ADMINS, {"commit": with_another_s("POST", f"{_TXN}:commit"),
                                              "abort": with_another_s("POST", f"{_TXN}:abort")},
        {"EndTxn": kafka.ends_another_s, "WriteTxnMarkers": kafka.aborts_hanging}),
    act("describe another's transaction", ADMINS,
        {"get_transaction": with_another_s("GET", _TXN),
         "get_participants": with_another_s("GET", f"{_TXN}/participants")},
        {"DescribeTransactions": kafka.describes_another_s}),
    act("be shown another's transaction", ADMINS, {"list_transactions": rest.is_shown_another_s},
        {"ListTransactions": kafka.is_shown_another_s}),
    act("write into another's transaction", ADMINS,
        kafka={"AddPartitionsToTxn Produce": kafka.writes_into_another_s, "InitProducerId": kafka.takes_another_s_place,
               "TxnOffsetCommit": kafka.commits_offsets_in_another_s, "AddPartitionsToTxn": kafka.adds_as_a_broker}),
    act("write into another's transaction by its id", ROOT, {
        "produce": with_another_s("POST", f"{ONE}/records", {**RECORDS, "transaction": "TXN"}),
        "write_large_message": with_another_s("POST", f"{ONE}/largeMessages?transaction=TXN", RECORDS),
        "ack": with_another_s("POST", f"{SUB}:ack", {**ACK, "transaction": "TXN"}),
        "add_partitions": with_another_s(
            "POST", f"{_TXN}/partitions", {"partitions": [{"topic": "orders", "partition": 0}]}
        ),
        "commit_all": with_another_s("POST", "/v1/transactions:commitAll", {"transactions": ["TXN"]}),
    }),
    act("describe coordinators", ADMINS, {
        "list_coordinators": calls("GET", "/v1/coordinators"), "get_coordinator": calls("GET", "/v1/coordinators/0"),
        "coordinator_log": calls("GET", "/v1/coordinators/0/log"),
    }),
    act("add coordinators", ADMINS, {"raise_coordinators": calls("PATCH", "/v1/coordinators", {"count": 20})}),
    # who may do what
    act("see the rules", ADMINS, {"list_acls": calls("GET", "/v1/acls")}, {"DescribeAcls": kafka.lists_rules}),
    act("change the rules", ADMINS, {
        "add_acls": calls("POST", "/v1/acls", {"acls": [RULE]}),
        "delete_acls": calls("POST", "/v1/acls:delete", {"filters": [{"principal": "User:made"}]}),
    }, {"CreateAcls": kafka.adds_rule, "DeleteAcls": kafka.removes_rules}),
    act("see the quotas", ADMINS, {"list_quotas": calls("GET", "/v1/quotas")},
        {"DescribeClientQuotas": kafka.lists_quotas}),
    act("change the quotas", ADMINS, {
        "set_quota": calls("PUT", "/v1/quotas/User:made", {"requests_per_s": 1_000}),
        "remove_quota": calls("DELETE", "/v1/quotas/User:made"),
    }, {"AlterClientQuotas": kafka.sets_quota}),
    act("see the batched writes", ADMINS, {"list_batched_writes": calls("GET", "/v1/batched-writes")}),
    act("change the batched writes", ADMINS, {
        "set_batched_write": calls("PUT", "/v1/batched-writes/transaction_log", {"enabled": True}),
    }),
    act("see the users", ADMINS, {"list_users": calls("GET", "/v1/users")},
        {"DescribeUserScramCredentials": kafka.lists_users}),
    act("change the users", ADMINS, {
        "set_user": calls("PUT", "/v1/users/made", {"password": "sesame and more"}),
        "remove_user": calls("DELETE", "/v1/users/made"),
    }, {"AlterUserScramCredentials": kafka.adds_user, "AlterUserScramCredentials ": kafka.removes_user}),
    act("give tokens", ADMINS, {"create_token": calls("POST", "/v1/tokens", {"principal": "User:made"}),
                                "revoke_token": rest.revokes_token}),
    act("revoke one's own token", ALL_USERS, {"revoke_token": rest.revokes_its_own_token}),
    act("be shown others' tokens", ADMINS, {"list_tokens": rest.is_shown_tokens_of_others}),
    act("see what was done", ADMINS, {"list_audit": calls("GET", "/v1/audit")}),
]  # fmt: skip
UNEQUAL = {
    "join by the classic protocol": "Its members name their topics to each other only, as in Kafka.",
    "describe a group": "Its answers have no offsets, so it requires no right to the topics, as in Kafka.",
    "be shown the groups of a topic": "REST lists groups by topic, so it requires the right to describe the topic too.",
    "be shown a group": "Kafka lists groups without their topics.",
    "write in one's own transaction": "A REST transaction has no transactional id.",
    "write under one's own transactional id": "A Kafka transaction has one, which needs a right of its own.",
    "describe settings": "REST shows a topic's settings to who may describe it; Kafka has a right of its own for them.",
    "write into another's transaction": "By its transactional id: to write under it is a right, so admins have it.",
    "write into another's transaction by its id": "A REST transaction is its owner's; no rule grants it.",
}
# What is well formed and authorized may still find nothing to do; these say so and have asked the rules before.
BUT = {"publish_segments", "abandon_plan", "swap_segments", "ack_cumulative"}


@pytest.fixture
async def g(redis_url, prefix, tmp_path) -> AsyncIterator[Ground]:
    async with ground(redis_url, prefix, str(tmp_path)) as opened:
        yield opened


async def prepare(g: Ground, act: Act) -> None:
    await g.reset()
    if act.name == "create a topic":
        await g.broker.topics.delete("orders")


def judge(answer: Any, covers: str) -> bool | str:
    """True if allowed, False if forbidden, else a description of the unexpected answer."""
    if isinstance(answer, bool):
        return answer
    if isinstance(answer, int):
        return answer == 0 or (False if answer in FORBIDDEN else f"error {answer}")
    assert isinstance(answer, httpx.Response)
    if answer.status_code == 403:
        assert answer.json()["code"].endswith("_forbidden")
        return False
    return answer.status_code < 300 or covers in BUT or answer.text


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name.replace(" ", "-"))
async def test_both_ports_follow_the_table_for_all_users(g, act):
    wrong: list[str] = []
    done: bool | str = True
    for door, ways in (("rest", act.rest), ("kafka", act.kafka)):
        for covers, way in ways.items():
            for user in sorted(ALL_USERS):
                if done is not False:  # what was refused has changed nothing, or what follows fails
                    await prepare(g, act)
                g.user = user
                done = judge(await way(g), covers)
                if done is not (user in act.may):
                    wrong.append(f"{door} {covers.strip()}: {user}: {done}")
    assert not wrong, "\n".join(wrong)


def test_every_operation_and_every_api_is_in_the_matrix():
    operations = {name for act in ACTS for ways in act.rest for name in ways.split()}
    apis = {name for act in ACTS for ways in act.kafka for name in ways.split()}
    assert operations == {operation.id for operation in OPERATIONS}
    assert apis == {route.name for route in routes().values()}


def test_differences_between_the_ports_have_a_reason():
    assert {act.name for act in ACTS} >= UNEQUAL.keys()
