"""DescribeUserScramCredentials 0: mechanisms and iterations of users; never salts or keys (KIP-554).

Without user names, all users are returned.  Duplicate name: DUPLICATE_RESOURCE; unknown user: RESOURCE_NOT_FOUND.
"""

from __future__ import annotations

from collections import Counter

from redis_ledger.broker.security.scram_credentials import Verifiers
from redis_ledger.errors import LedgerError, UnknownUser
from redis_ledger.kafka.protocol.messages.describe_user_scram_credentials_request import (
    DescribeUserScramCredentialsRequest,
)
from redis_ledger.kafka.protocol.messages.describe_user_scram_credentials_response import (
    CredentialInfo,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of, message_of

VERSIONS = (0, 0)
IS_READ = True
MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
DUPLICATE_RESOURCE = 92


async def handle(
    request: DescribeUserScramCredentialsRequest, call: RequestContext
) -> DescribeUserScramCredentialsResponse:
    try:
        users = await call.broker.scram_credentials.all()
    except LedgerError as error:
        return DescribeUserScramCredentialsResponse(0, code_of(error), message_of(error))
    times = Counter(each.name for each in request.users or ()) or Counter(users.keys())
    results = [_to_result(name, count, users.get(name)) for name, count in times.items()]
    return DescribeUserScramCredentialsResponse(0, NONE, None, results)


def _to_result(name: str, times: int, found: Verifiers | None) -> DescribeUserScramCredentialsResult:
    if times > 1:
        return DescribeUserScramCredentialsResult(name, DUPLICATE_RESOURCE, "The user is named twice.")
    if found is None:
        return DescribeUserScramCredentialsResult(name, UnknownUser.kafka_code, "There is no such user.")
    infos = [CredentialInfo(number, found[each].iterations) for number, each in MECHANISMS.items() if each in found]
    return DescribeUserScramCredentialsResult(name, NONE, None, infos)
