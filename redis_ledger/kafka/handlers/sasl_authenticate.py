"""SaslAuthenticate 0-2: one token of a login; the connection has the user's name when the last one is answered.

1   how long the session lasts: as long as the connection, 0     2   flexible
Unknown users and wrong passwords are told alike.  A login that failed closes the connection, once that is answered.
Without a handshake, or when logged in: ILLEGAL_SASL_STATE.
"""

from __future__ import annotations

from redis_ledger.errors import LedgerError
from redis_ledger.kafka.handlers.sasl_handshake import ILLEGAL_SASL_STATE
from redis_ledger.kafka.protocol.messages.sasl_authenticate_request import SaslAuthenticateRequest
from redis_ledger.kafka.protocol.messages.sasl_authenticate_response import SaslAuthenticateResponse
from redis_ledger.kafka.request_context import NONE, RequestContext, code_of, message_of
from redis_ledger.kafka.security.sasl import Login, step

VERSIONS = (0, 2)


async def handle(request: SaslAuthenticateRequest, call: RequestContext) -> SaslAuthenticateResponse:
    login = call.peer.sasl
    if not isinstance(login, Login):
        return SaslAuthenticateResponse(ILLEGAL_SASL_STATE, "The SASL handshake comes first, and each login once.")
    try:
        return SaslAuthenticateResponse(NONE, None, await step(login, request.auth_bytes, call.peer))
    except LedgerError as error:
        return SaslAuthenticateResponse(code_of(error), message_of(error))
