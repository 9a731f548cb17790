"""What clients know after an answer, so that later steps are sensible."""

from __future__ import annotations

from tests.model.answers import UNSURE
from tests.model.checker import Call
from tests.model.steps import Known, Step


def learn(known: Known, step: Step, call: Call, ids: dict[str, str], received: dict[int, tuple[int, ...]]) -> None:
    given, is_ok = call.arguments, call.answer.code == "ok"
    topic: str = given.get("topic", "")
    if (
        call.answer.code in ("unknown_topic", "unknown_topic_or_partition")
        and topic in known.topics
        and call.operation != "execute"
    ):
        known.topics.pop(topic)
    if call.operation in ("commit", "abort") and call.answer.code not in UNSURE:
        _ended(known, given["txn"])
    name, _, number = given.get("txn", "").partition("#")
    if number and int(number) == known.kafka.get(name, (0, False))[0] and call.operation not in ("commit", "abort"):
        known.kafka[name] = int(number), True
    if topic and "txn" in given:
        known.written.setdefault(given["txn"], set()).add(topic)
    if not is_ok:
        return
    match call.operation:
        case "create_topic":
            known.topics[topic] = given["partitions"]
            known.scheduled = [each for each in known.scheduled if each[0] != topic]
        case "grow_topic":
            known.topics[topic] = max(known.topics.get(topic, 0), given["partitions"])
        case "list_topics":
            known.topics = dict(call.answer.value)
        case "delete_topic":
            known.topics.pop(topic, None)
            known.scheduled = [each for each in known.scheduled if each[0] != topic]
            known.subscriptions = [each for each in known.subscriptions if each[0] != topic]
        case "init_producer":
            known.kafka[given["producer"]] = 1, False
        case "begin":
            ids[given["txn"]] = call.answer.value
            known.open.append(given["txn"])
        case "schedule":
            if call.answer.value:
                ids[given["value"]] = call.answer.value[0]
                known.scheduled.append((topic, given["value"]))
        case "subscribe":
            known.subscriptions.append((topic, given["name"]))
        case "receive":
            received[step.number] = tuple(offset for offset, _ in call.answer.value)
            if call.answer.value:
                known.received[step.number] = dict(given)


def _ended(known: Known, txn: str) -> None:
    name, _, number = txn.partition("#")
    if number:
        known.kafka[name] = max(known.kafka.get(name, (0, False)), (int(number) + 1, False))
        return
    if txn in known.open:
        known.open.remove(txn)
    if txn not in known.ended:
        known.ended.append(txn)
