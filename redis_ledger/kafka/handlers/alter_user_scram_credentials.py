"""AlterUserScramCredentials 0: sets and removes SCRAM credentials of users (KIP-554).

The client salts and hashes the password, so the broker never sees it; 4096 to 16384 iterations.  A user may occur once
in a request, as in Kafka.  PLAIN authenticates against the same credentials.
"""

from __future__ import annotations

from collections import Counter

from redis_ledger.auth.scram import Verifier
from redis_ledger.broker.security.scram_credentials import Verifiers, check_salted
from redis_ledger.errors import LedgerError, UnacceptableCredential, UnknownUser
from redis_ledger.kafka.bounded_gather import gather_bounded
from redis_ledger.kafka.handlers.describe_user_scram_credentials import DUPLICATE_RESOURCE, MECHANISMS
from redis_ledger.kafka.handlers.sasl_handshake import UNSUPPORTED_SASL_MECHANISM
from redis_ledger.kafka.protocol.messages.alter_user_scram_credentials_request import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from redis_ledger.kafka.protocol.messages.alter_user_scram_credentials_response import (
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, controller_code, message_of, repeated_whole
from redis_ledger.kafka.security.api_authorization import note

VERSIONS = (0, 0)
Alteration = ScramCredentialDeletion | ScramCredentialUpsertion


async def handle(request: AlterUserScramCredentialsRequest, call: RequestContext) -> AlterUserScramCredentialsResponse:
    alterations: list[Alteration] = [*request.deletions, *request.upsertions]
    times = Counter(each.name for each in alterations)
    last = {each.name: each for each in alterations}
    users = call.broker.scram_credentials

    async def alter(each: Alteration) -> AlterUserScramCredentialsResult:
        name, mechanism = each.name, MECHANISMS.get(each.mechanism)
        if times[name] > 1:
            return AlterUserScramCredentialsResult(name, DUPLICATE_RESOURCE, "The user is named twice.")
        if not name:
            return AlterUserScramCredentialsResult(name, UnacceptableCredential.kafka_code, "The user has no name.")
        if mechanism is None:
            return AlterUserScramCredentialsResult(name, UNSUPPORTED_SASL_MECHANISM, "There is no such mechanism.")
        try:
            await users.change(name, {mechanism: _new_credential(each, mechanism, known.get(name, {}))})
        except LedgerError as error:
            return AlterUserScramCredentialsResult(name, controller_code(error), message_of(error))
        act = "user.add" if isinstance(each, ScramCredentialUpsertion) else "user.remove"
        await note(call, act, name, mechanism=mechanism)
        return AlterUserScramCredentialsResult(name, NONE, None)

    try:
        known = await users.all() if request.deletions else {}
    except LedgerError as error:
        return refused(request, call, error)
    return AlterUserScramCredentialsResponse(results=repeated_whole(await gather_bounded(alter, last.values())))


def refused(
    request: AlterUserScramCredentialsRequest, call: RequestContext, error: LedgerError
) -> AlterUserScramCredentialsResponse:
    alterations: list[Alteration] = [*request.deletions, *request.upsertions]
    names = dict.fromkeys(each.name for each in alterations)
    outcome = (controller_code(error), message_of(error))
    return AlterUserScramCredentialsResponse(
        results=[AlterUserScramCredentialsResult(name, *outcome) for name in names]
    )


def _new_credential(alterations: Alteration, mechanism: str, known: Verifiers) -> Verifier | None:
    """The credential to store; None deletes it.  Raises UnacceptableCredential, UnknownUser."""
    if isinstance(alterations, ScramCredentialUpsertion):
        return check_salted(mechanism, alterations.salted_password, alterations.salt, alterations.iterations)
    if mechanism not in known:
        raise UnknownUser(f"User {alterations.name[:80]!r} has no credential of {mechanism}.")
    return None
