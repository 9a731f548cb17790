"""What a client goes through whose answer was lost: its topic is changed, it repeats the request, and so on.

    produce_keyed ┃ the broker dies     grow_topic     produce_keyed again     grow_topic     produce_keyed again

A request that its Idempotency-Key or its transaction identifies may be repeated several times.  A Kafka producer
repeats one until it is answered, and goes on.
"""

from __future__ import annotations

import random

from tests.model.operations import ROWS
from tests.model.steps import Hold, Known, Step, Story

REPEAT = "repeat"
# A change of a topic, and one that undoes it or goes further.
CHANGES = (("grow_topic", "grow_topic"), ("lower_limit", "raise_limit"), ("delete_topic", "create_topic"))
TRIES = 30


def begun(step: Step, rng: random.Random) -> Story:
    change, back = rng.choice(CHANGES)
    left = list(rng.choice((
        (REPEAT,), (change, REPEAT), (change, REPEAT, REPEAT), (change, REPEAT, back, REPEAT),
        (REPEAT, change, REPEAT), (change, back, REPEAT),
    )))  # fmt: skip
    return Story(step, left[: left.index(REPEAT) + 1] if ROWS[step.row].door == "Kafka" else left)


def next_step(known: Known, number: int, broker: int) -> Step | None:
    """Of one of the stories.  None: the change that is due is not possible."""
    story = known.rng.choice(known.owed)
    name = story.left.pop(0)
    if not story.left:
        known.owed.remove(story)
    if name != REPEAT:
        given = _near(known, number, name, story.step)
        return None if given is None else Step(number, name, given, broker)
    again = Step(number, story.step.row, story.step.arguments, broker, repeats=story.step.number)
    return again if not story.left or known.rng.random() < 0.7 else lost(again, known.rng)


def lost(step: Step, rng: random.Random) -> Step:
    """Its answer is lost, at any of its calls."""
    hold = Hold(rng.randint(1, 6), rng.choice(("before", "after")), rng.choice((1, 2, 2, 3, 4)))
    return Step(
        step.number, step.row, step.arguments, step.broker, hold, rng.choice(("abandoned", "crashed")), step.repeats
    )


def _near(known: Known, number: int, name: str, step: Step) -> dict[str, object] | None:
    """Arguments of a change that concerns a topic of the step, if it names any."""
    topics = {each for each in ROWS[step.row].touches(dict(step.arguments)) if each.startswith("topic ")}
    for _ in range(TRIES):
        given = ROWS[name].draw(known, number)
        if given is not None and (not topics or topics & ROWS[name].touches(given)):
            return given
    return None
