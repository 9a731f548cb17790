"""Every operation that changes data is an operation of the model in tests/model, or is listed with a reason."""

from __future__ import annotations

from redis_ledger.app.http.application import OPERATIONS
from redis_ledger.kafka.router import routes
from tests.model.operations import IN_KAFKA, IN_REST, NOT_YET, ROWS
from tests.model.spec import SPECIFICATIONS

# Kafka requests that read, or that concern the connection only.
READ = {
    "OffsetFetch", "FindCoordinator", "Metadata", "DescribeGroups", "ListGroups", "SaslHandshake", "SaslAuthenticate",
    "ApiVersions", "ConsumerGroupDescribe",
}  # fmt: skip


def test_every_operation_that_changes_data_is_in_the_model_or_has_a_reason():
    rest = {operation.id for operation in OPERATIONS if operation.method != "GET"}
    kafka = {route.name for route in routes().values() if not route.is_read} - READ
    assert (rest | kafka) - IN_REST - IN_KAFKA == NOT_YET.keys()
    assert rest >= IN_REST
    assert kafka >= IN_KAFKA


def test_every_row_of_the_model_has_a_specification():
    assert {row.operation for row in ROWS.values()} <= SPECIFICATIONS.keys()
