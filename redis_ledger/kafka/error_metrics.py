"""The outcome of a Kafka request for the metrics: the first error in its response, by Kafka's name.

A response may contain a top-level error and one for each topic, partition, group or key.  Their positions depend only
on the message's type, so they are determined once per type: fields named `error_code` or `..._error_code`, and the
lists that lead to more of them.  Cost: O(number of error codes in the response).  Source: Kafka's Errors.java (names).
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Any

import msgspec

from redis_ledger.telemetry import metrics

OK, CLOSED, UNKNOWN = "ok", "closed", "unknown_server_error"
NAMES = (
    "none",
    *"""
    offset_out_of_range corrupt_message unknown_topic_or_partition invalid_fetch_size leader_not_available
    not_leader_or_follower request_timed_out broker_not_available replica_not_available message_too_large
    stale_controller_epoch offset_metadata_too_large network_exception coordinator_load_in_progress
    coordinator_not_available not_coordinator invalid_topic_exception record_list_too_large not_enough_replicas
    not_enough_replicas_after_append invalid_required_acks illegal_generation inconsistent_group_protocol
    invalid_group_id unknown_member_id invalid_session_timeout rebalance_in_progress invalid_commit_offset_size
    topic_authorization_failed group_authorization_failed cluster_authorization_failed invalid_timestamp
    unsupported_sasl_mechanism illegal_sasl_state unsupported_version topic_already_exists invalid_partitions
    invalid_replication_factor invalid_replica_assignment invalid_config not_controller invalid_request
    unsupported_for_message_format policy_violation out_of_order_sequence_number duplicate_sequence_number
    invalid_producer_epoch invalid_txn_state invalid_producer_id_mapping invalid_transaction_timeout
    concurrent_transactions transaction_coordinator_fenced transactional_id_authorization_failed security_disabled
    operation_not_attempted kafka_storage_error log_dir_not_found sasl_authentication_failed unknown_producer_id
    reassignment_in_progress delegation_token_auth_disabled delegation_token_not_found
    delegation_token_owner_mismatch delegation_token_request_not_allowed delegation_token_authorization_failed
    delegation_token_expired invalid_principal_type non_empty_group group_id_not_found fetch_session_id_not_found
    invalid_fetch_session_epoch listener_not_found topic_deletion_disabled fenced_leader_epoch unknown_leader_epoch
    unsupported_compression_type stale_broker_epoch offset_not_available member_id_required
    preferred_leader_not_available group_max_size_reached fenced_instance_id eligible_leaders_not_available
    election_not_needed no_reassignment_in_progress group_subscribed_to_topic invalid_record unstable_offset_commit
    throttling_quota_exceeded producer_fenced resource_not_found duplicate_resource unacceptable_credential
    inconsistent_voter_set invalid_update_version feature_update_failed principal_deserialization_failure
    snapshot_not_found position_out_of_range unknown_topic_id duplicate_broker_registration broker_id_not_registered
    inconsistent_topic_id inconsistent_cluster_id transactional_id_not_found fetch_session_topic_id_error
    ineligible_replica new_leader_elected offset_moved_to_tiered_storage fenced_member_epoch unreleased_instance_id
    unsupported_assignor stale_member_epoch mismatched_endpoint_type unsupported_endpoint_type unknown_controller_id
    unknown_subscription_id telemetry_too_large invalid_registration transaction_abortable invalid_record_state
    share_session_not_found invalid_share_session_epoch fenced_state_epoch invalid_voter_key duplicate_voter
    voter_not_found invalid_regular_expression rebootstrap_required streams_invalid_topology
    streams_invalid_topology_epoch streams_topology_fenced share_session_limit_reached
""".split(),
)  # by error code
Finder = Callable[[Any], Any]


class ErrorMetrics:
    """Counts the outcomes of one API.  The error finder is built with the first response."""

    __slots__ = ("_counts", "_find")

    def __init__(self, api: str) -> None:
        self._counts = metrics.kafka_outcomes.setdefault(api, {OK: 0})
        self._find: Finder | None = None

    def answered(self, answer: Any) -> None:
        """answer: None for a request without a response."""
        find = self._find
        if find is None and answer is not None:
            find = self._find = finder(type(answer))
        code = 0 if answer is None or find is None else find(answer)
        if code == 0:
            self._counts[OK] += 1
        else:
            self._count(NAMES[code] if 0 < code < len(NAMES) else UNKNOWN)

    def closed(self) -> None:
        self._count(CLOSED)

    def _count(self, outcome: str) -> None:
        self._counts[outcome] = self._counts.get(outcome, 0) + 1


_FINDERS: dict[type, Finder] = {}


def finder(cls: type) -> Finder:
    """Returns a function that finds the first nonzero error code in messages of this type, outermost first; 0: none."""
    if cls not in _FINDERS:
        _FINDERS[cls] = _made(cls)
    return _FINDERS[cls]


def _made(cls: type) -> Finder:
    codes, leaves, lists = _codes(cls), list[tuple[Finder, Finder]](), list[tuple[Finder, Finder]]()
    for name, element in lists_of(cls):
        inner = finder(element)
        if isinstance(inner, attrgetter):
            leaves.append((attrgetter(name), inner))
        elif inner is not _nothing:
            lists.append((attrgetter(name), inner))
    if not codes and not leaves and not lists:
        return _nothing
    if len(codes) == 1 and not leaves and not lists:
        return attrgetter(codes[0])

    def find(message: Any) -> int:
        for name in codes:
            if code := getattr(message, name):
                return int(code)
        for listed, leaf in leaves:
            elements = listed(message)
            if elements and any(map(leaf, elements)):  # the common case: no error
                return int(next(filter(None, map(leaf, elements))))
        for listed, inner in lists:
            for each in listed(message) or ():
                if code := inner(each):
                    return int(code)
        return 0

    return find


def _codes(cls: type) -> list[str]:
    return [field.name for field in msgspec.structs.fields(cls) if field.name.endswith("error_code")]


def lists_of(cls: type) -> Iterator[tuple[str, type]]:
    """The message lists of a message type: their names and element types."""
    hints = typing.get_type_hints(cls, vars(sys.modules[cls.__module__]))
    for field in msgspec.structs.fields(cls):
        for element in _elements(hints[field.name]):
            yield field.name, element


def _nothing(message: Any) -> int:
    return 0


def _elements(hint: Any) -> list[type]:
    """The element type of a list of messages; None for another field."""
    options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    found = [typing.get_args(each)[0] for each in options if typing.get_origin(each) is list]
    return [each for each in found if isinstance(each, type) and issubclass(each, msgspec.Struct)]
