"""How messages of a subscription come again: the back-off of its redelivery rule."""

from __future__ import annotations

import msgspec

from redis_ledger.app.console.pages import ActionResult, PageContext, action, href
from redis_ledger.app.console.rights import ONE, READS


class SetRedelivery(msgspec.Struct):
    """min_ms 0 removes the rule."""

    topic: str
    name: str
    min_ms: int = 0
    factor: float = 2.0
    max_ms: int = 0


@action("subscription/redelivery", "subscription.redelivery", *ONE, requires=READS)
async def set_redelivery(context: PageContext, form: SetRedelivery) -> ActionResult:
    await context.broker.redelivery.set(form.topic, form.name, form.min_ms, form.factor, form.max_ms)
    sentence = f"{form.name} waits {form.min_ms} ms before the first redelivery of a message, at most {form.max_ms} ms."
    if form.min_ms == 0:
        sentence = f"Removed the redelivery back-off of {form.name}."
    facts = {"min_ms": form.min_ms, "factor": form.factor, "max_ms": form.max_ms}
    return ActionResult(sentence, href("subscription", topic=form.topic, name=form.name), facts=facts)
