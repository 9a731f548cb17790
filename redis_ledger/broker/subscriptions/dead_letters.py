"""Dead letters: what a subscription delivered often enough goes to another topic, and back when somebody says so.

    {catalog}:deadletters   ["topic","subscription"] → JSON of its rule      {catalog}:state   "deadletters" → version

    receive ─▶ lease ─▶ delivered max_deliveries times before? ─▶ acknowledge it and write it there, in one transaction

Each broker keeps a copy of the rules (copied.py).  A rule counts for one incarnation of its topic, and whoever finishes
the deletion of a topic removes its rules.  A dead letter keeps its key, value, headers and timestamp, and headers of
its own (HEADERS) tell where it came from.  What cannot be moved stays leased, and is tried again when its ack timeout
has passed; on an exclusive subscription, where a cumulative acknowledgement would take it along unseen, it is delivered
again.  Without a rule a receive costs one look into a dict.  Kafka consumer groups have none.
Source: Pulsar's DeadLetterPolicy, but decided and done by the broker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from redis_ledger.broker.cluster.metadata_cache import MetadataCache, Row
from redis_ledger.broker.types import ExecuteAcks, ExecuteRecords, Message, NewRecord, Skipped, always, never
from redis_ledger.decoding.budget import Charge
from redis_ledger.errors import InvalidRequest, LedgerError, WrongSubscriptionKind
from redis_ledger.ids import MessageId
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store
from redis_ledger.telemetry import metrics
from redis_ledger.telemetry.logs import get

if TYPE_CHECKING:
    from redis_ledger.broker.produce.service import Records
    from redis_ledger.broker.subscriptions.service import Subscriptions
    from redis_ledger.broker.transactions.execute import Execute

DELIVERIES_MAX = 1_000_000
TOPIC, PARTITION, OFFSET, SUBSCRIPTION, DELIVERIES = HEADERS = (
    "dead-letter-topic", "dead-letter-partition", "dead-letter-offset", "dead-letter-subscription",
    "dead-letter-deliveries",
)  # fmt: skip
LAST_OFFSET, ERROR = UNREAD = "dead-letter-last-offset", "dead-letter-error"  # of records that could not be decoded
PUTS_BACK = "put-back"  # the consumer that takes what is put back

_log = get()


class Rule(msgspec.Struct, frozen=True):
    """What was delivered max_deliveries times is not delivered again, but moved to the topic.  source_id: of the topic
    it was delivered from, as it was when the rule was made; "" in rules that are older than this field."""

    max_deliveries: int
    topic: str
    source_id: str = ""


class Move(NamedTuple):
    """last: where the record stands for all up to this offset."""

    id: MessageId
    topic: str
    record: NewRecord
    last: int | None = None

    @property
    def ids(self) -> list[MessageId]:
        last = self.id.offset if self.last is None else self.last
        return [MessageId(self.id.partition, offset) for offset in range(self.id.offset, last + 1)]


def buried(message: Message, topic: str, name: str, rule: Rule) -> Move:
    """The message of topic and subscription as a dead letter."""
    at = message.id
    told = (topic, str(at.partition), str(at.offset), name, str(message.deliveries))
    headers = [*_own(message), *((header, text.encode()) for header, text in zip(HEADERS, told, strict=True))]
    return Move(at, rule.topic, NewRecord(message.key, message.value, headers, timestamp_ms=message.timestamp_ms))


def buried_unread(unread: Skipped, topic: str, name: str, rule: Rule, deliveries: int) -> Move:
    """One dead letter without key and value for records that could not be decoded: it says where they are."""
    told = (topic, str(unread.partition), str(unread.first_offset), name, str(deliveries))
    more = (str(unread.last_offset), unread.error.code)
    headers = [(h, text.encode()) for h, text in zip((*HEADERS, *UNREAD), (*told, *more), strict=True)]
    at = MessageId(unread.partition, unread.first_offset)
    return Move(at, rule.topic, NewRecord(None, None, headers), unread.last_offset)


def revived(message: Message) -> Move | None:
    """The dead letter as it was, for the topic that it came from; None if it does not say, or does not hold it."""
    headers = dict(message.headers)
    said = headers.get(TOPIC)
    if not said or ERROR in headers:
        return None
    record = NewRecord(message.key, message.value, _own(message), timestamp_ms=message.timestamp_ms)
    return Move(message.id, said.decode(errors="replace"), record)


def _own(message: Message) -> list[tuple[str, bytes | None]]:
    return [header for header in message.headers if header[0] not in HEADERS]


def _counts(rule: Rule, topic_id: str) -> bool:
    return rule.source_id in (topic_id, "")


class DeadLetters:
    """rules: by topic and subscription; this broker's copy, never changed in place.  What moves records is given after
    it is made."""

    step: Execute
    records: Records
    subscriptions: Subscriptions

    def __init__(self, store: Store) -> None:
        self._key = CatalogKeys(store.prefix).deadletters
        self._copied = MetadataCache(store, "deadletters", (self._key,), self._take)
        self._decode = msgspec.json.Decoder(Rule).decode
        self.rules: Mapping[tuple[str, str], Rule] = {}

    async def open(self) -> None:
        await self._copied.open()

    async def close(self) -> None:
        await self._copied.close()

    # -- rules -------------------------------------------------------------------------------------------------------

    async def set(
        self, topic: str, name: str, max_deliveries: int, to: str, *, may_create: Callable[[], bool] = always
    ) -> None:
        """Makes `to` if it is not there.  Raises UnknownTopic, UnknownSubscription, WrongSubscriptionKind,
        InvalidRequest; TopicForbidden without may_create."""
        if not 1 <= max_deliveries <= DELIVERIES_MAX:
            raise InvalidRequest(f"max_deliveries is 1 to {DELIVERIES_MAX}, not {max_deliveries}.")
        if to == topic:
            raise InvalidRequest("A topic cannot take its own dead letters: they would be delivered again.")
        stats = await self.subscriptions.stats(topic, name)
        if stats.kind == "kafka":
            raise WrongSubscriptionKind(f"{name!r} is a Kafka consumer group; only subscriptions have dead letters.")
        await self.records.topic(to, may_create)
        rule = Rule(max_deliveries, to, stats.topic_id)
        await self._write({(topic, name): msgspec.json.encode(rule).decode()})

    async def remove(self, topic: str, name: str) -> bool:
        """Whether there was a rule."""
        return await self._write({(topic, name): ""}) > 0

    async def remove_all(self, topic: str, topic_id: str) -> None:
        """Those of the topic's subscriptions."""
        await self.refresh()
        await self._write({at: "" for at, rule in self.rules.items() if at[0] == topic and _counts(rule, topic_id)})

    def rule(self, topic: str, topic_id: str, name: str) -> Rule | None:
        """The subscription's."""
        rule = self.rules.get((topic, name))
        return rule if rule is not None and _counts(rule, topic_id) else None

    async def _write(self, rows: Mapping[tuple[str, str], str]) -> int:
        fields = {msgspec.json.encode(where).decode(): row for where, row in rows.items()}
        return await self._copied.write(self._key, fields)

    async def refresh(self) -> None:
        """Reads the rules again if they changed."""
        await self._copied.refresh()

    def _take(self, tables: Sequence[Sequence[Row]]) -> None:
        self.rules = {tuple(msgspec.json.decode(field)): self._decode(row) for field, row in tables[0]}

    # -- moving ------------------------------------------------------------------------------------------------------

    async def sift(
        self, rule: Rule, topic: str, name: str, consumer: str, messages: Sequence[Message]
    ) -> list[Message]:
        """Of what the consumer has just leased, what it is to get; the rest is moved."""
        dead = {each.id: buried(each, topic, name, rule) for each in messages if each.deliveries >= rule.max_deliveries}
        if not dead:
            return list(messages)
        moved = await self._move(topic, name, consumer, list(dead.values()), always)
        metrics.topics.of(topic).dead += len(moved)
        if len(moved) < len(dead) and (await self.subscriptions.stats(topic, name)).kind == "exclusive":
            dead = {id: dead[id] for id in moved}
        return [each for each in messages if each.id not in dead]

    async def sift_unread(
        self, rule: Rule, topic: str, name: str, consumer: str, unread: Skipped, deliveries: int
    ) -> bool:
        """Whether records that the consumer has just leased, and that cannot be decoded, were moved."""
        move = buried_unread(unread, topic, name, rule, deliveries)
        moved = await self._move(topic, name, consumer, [move], always)
        metrics.topics.of(topic).dead += len(move.ids) if moved else 0
        return bool(moved)

    async def put_back(
        self,
        topic: str,
        name: str,
        limit: int,
        *,
        may_write: Callable[[str], bool] = lambda topic: True,
        done: Counter[str] | None = None,
        charge: Charge | None = None,
    ) -> Counter[str]:
        """How many of the next `limit` dead letters went back, by the topics they came from; the others stay: those
        that do not say where they came from, those of a topic without a rule that sends its dead letters here, and
        those whose topic the caller may not write or is not there.  done: counts them, also when this raises.
        charge: gets the bytes that are decoded.

        The rule decides and not the header, which anyone writes who may write dead letters.
        Raises what receive raises, such as ConsumerBusy.
        """
        await self.refresh()
        done = Counter() if done is None else done
        seen, stay, last = 0, list[MessageId](), dict[int, MessageId]()
        sources = {source for (source, _), rule in self.rules.items() if rule.topic == topic}
        try:
            while seen < limit:
                messages = await self.subscriptions.receive(
                    topic, name, PUTS_BACK, max_records=limit - seen, after=list(last.values()), charge=charge
                )
                if not messages:
                    break
                seen += len(messages)
                last |= {each.id.partition: each.id for each in messages}
                stay += [each.id for each in messages]
                moves = [
                    move
                    for each in messages
                    if (move := revived(each)) is not None and move.topic in sources and may_write(move.topic)
                ]
                gone = set(await self._move(topic, name, PUTS_BACK, moves, never)) if moves else set()
                done.update(move.topic for move in moves if move.id in gone)
                stay = [id for id in stay if id not in gone]
        finally:
            if stay:
                await self.subscriptions.nack(topic, name, PUTS_BACK, stay, unseen=True)
        return done

    async def _move(
        self,
        topic: str,
        name: str,
        consumer: str,
        moves: Sequence[Move],
        may_create: Callable[[], bool],
    ) -> list[MessageId]:
        """What was moved.  All in one transaction; if one of them is refused, each in its own."""
        ids = [id for each in moves for id in each.ids]
        records = [
            ExecuteRecords(to, [each.record for each in moves if each.topic == to], may_create)
            for to in dict.fromkeys(each.topic for each in moves)
        ]
        try:
            await self.step.run([ExecuteAcks(topic, name, consumer, ids)], records)
        except LedgerError as error:
            if len(moves) > 1 and not error.retriable:
                return [id for each in moves for id in await self._move(topic, name, consumer, [each], may_create)]
            _log.warning("a dead letter was not moved; it is tried again later", topic=topic, subscription=name,
                         first=str(ids[0]), messages=len(ids), reason=error.detail)  # fmt: skip
            return []
        return [each.id for each in moves]
