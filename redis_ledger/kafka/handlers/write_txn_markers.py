"""WriteTxnMarkers 1-2: aborts a hanging transaction (Admin.abortTransaction, KIP-664).

The open transaction of the producer on the partition is aborted completely, through its coordinator; if no coordinator
has it, it is ended on that partition only.  A commit is rejected: only the coordinator commits.  Without an open
transaction the request succeeds.  2: transaction version.
"""

from __future__ import annotations

from collections.abc import Hashable

from redis_ledger.decoding.budget import Pace
from redis_ledger.errors import LedgerError
from redis_ledger.kafka.protocol.messages.write_txn_markers_request import WritableTxnMarker, WriteTxnMarkersRequest
from redis_ledger.kafka.protocol.messages.write_txn_markers_response import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersResponse,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of
from redis_ledger.kafka.security.api_authorization import note

VERSIONS = (1, 2)
INVALID_TXN_STATE = 48


async def handle(request: WriteTxnMarkersRequest, call: RequestContext) -> WriteTxnMarkersResponse:
    results, codes, pace = [], dict[Hashable, int](), Pace()  # codes: duplicates are processed once
    for marker in request.markers:
        who, topics = (marker.producer_id, marker.producer_epoch, marker.transaction_result), []
        for topic in marker.topics:
            slots = []
            for number in topic.partition_indexes:
                if (what := (who, topic.name, number)) not in codes:
                    codes[what] = await _end(marker, topic.name, number, call)
                slots.append(WritableTxnMarkerPartitionResult(number, codes[what]))
                await pace.rest()
            topics.append(WritableTxnMarkerTopicResult(topic.name, slots))
        results.append(WritableTxnMarkerResult(marker.producer_id, topics))
    return WriteTxnMarkersResponse(results)


def refused(request: WriteTxnMarkersRequest, call: RequestContext, error: LedgerError) -> WriteTxnMarkersResponse:
    code = code_of(error)
    return WriteTxnMarkersResponse(
        [
            WritableTxnMarkerResult(
                marker.producer_id,
                [
                    WritableTxnMarkerTopicResult(
                        topic.name,
                        [WritableTxnMarkerPartitionResult(number, code) for number in topic.partition_indexes],
                    )
                    for topic in marker.topics
                ],
            )
            for marker in request.markers
        ]
    )


async def _end(marker: WritableTxnMarker, topic: str, number: int, call: RequestContext) -> int:
    if marker.transaction_result:
        return INVALID_TXN_STATE
    try:
        await call.broker.producers.abort_hanging(topic, number, marker.producer_id, marker.producer_epoch)
    except LedgerError as error:
        return code_of(error)
    await note(call, "transaction.abort", f"{topic}-{number}", producer_id=marker.producer_id)
    return NONE
