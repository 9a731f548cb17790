"""DeleteTopics 1-6: deletes topics with all their records, offsets and subscriptions.

1-5   by name; 5: errors have messages     6   by name or by id

A topic that occurs twice, also once by name and once by id, is not deleted.  A topic is deleted on all brokers when the
response is sent, so the timeout is ignored.  Without permission to describe a topic, neither its name nor its existence
is revealed.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from redis_ledger.auth.acl import Op, Resource
from redis_ledger.errors import InvalidRequest, LedgerError, TopicForbidden
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.protocol.messages.delete_topics_request import DeleteTopicsRequest
from redis_ledger.kafka.protocol.messages.delete_topics_response import DeletableTopicResult, DeleteTopicsResponse
from redis_ledger.kafka.protocol.primitives import NO_UUID
from redis_ledger.kafka.request_context import NONE, RequestContext, controller_code, message_of, repeated_whole
from redis_ledger.kafka.security.api_authorization import note
from redis_ledger.ledger.topic_entry import TopicEntry

VERSIONS = (1, 6)


NOT_YOURS = "The caller may neither delete nor describe the topic with this id."


class RequestedTopic(NamedTuple):
    name: str | None
    topic_id: bytes


async def handle(request: DeleteTopicsRequest, call: RequestContext) -> DeleteTopicsResponse:
    times = Counter(RequestedTopic(each.name, each.topic_id) for each in request.topics)
    times.update(RequestedTopic(name, NO_UUID) for name in request.topic_names)
    found = dict(zip(times, await gather_bounded(lambda requested: _find(requested, call), times), strict=True))
    ids = Counter(entry.id for entry in found.values() if isinstance(entry, TopicEntry))

    async def delete(requested: RequestedTopic) -> DeletableTopicResult:
        entry, shown = found[requested], requested
        try:
            if times[requested] > 1:
                raise InvalidRequest("The topic is named twice.")
            if isinstance(entry, LedgerError):
                raise entry
            if requested.name is None and not call.allows(Op.DESCRIBE, Resource.TOPIC, entry.name):
                call.check_topic(Op.DELETE, entry.name)
            shown = RequestedTopic(entry.name, bytes.fromhex(entry.id))
            if ids[entry.id] > 1:
                raise InvalidRequest("The topic occurs twice, by its name and by its id.")
            call.check_topic(Op.DELETE, entry.name)
            await call.broker.topics.delete(entry.name, entry.id)
        except LedgerError as error:
            await note(
                call, "topic.delete", entry.name if isinstance(entry, TopicEntry) else requested.name or "", error
            )
            message = NOT_YOURS if shown.name is None and isinstance(error, TopicForbidden) else message_of(error)
            return DeletableTopicResult(*shown, controller_code(error), message)
        await note(call, "topic.delete", entry.name)
        return DeletableTopicResult(*shown, NONE)

    return DeleteTopicsResponse(responses=repeated_whole(await gather_bounded(delete, times)))


async def _find(requested: RequestedTopic, call: RequestContext) -> TopicEntry | LedgerError:
    catalog = call.broker.catalog
    try:
        if requested.name is None:
            if requested.topic_id == NO_UUID:
                raise InvalidRequest("Neither the topic's name nor its id is given.")
            return await catalog.by_id(requested.topic_id)
        if requested.topic_id != NO_UUID:
            raise InvalidRequest("Give the topic's name or its id, not both.")
        if not call.allows(Op.DESCRIBE, Resource.TOPIC, requested.name):
            call.check_topic(Op.DELETE, requested.name)  # before its existence is checked
        return await catalog.get(requested.name, fresh=True)
    except LedgerError as error:
        return error.with_traceback(
            None
        )  # with tracebacks, the errors of a long request would take hundreds of megabytes
