"""SaslAuthenticate 0-2: one token of a SASL exchange; after the last one the connection is authenticated.

1   lifetime of the session: 0, as long as the connection     2   flexible

Unknown users and wrong passwords get the same error.  After the response, a failed login closes the connection.
Without a handshake, or if already authenticated: ILLEGAL_SASL_STATE.
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
        return SaslAuthenticateResponse(
            ILLEGAL_SASL_STATE, "SaslHandshake must come first, and a connection authenticates once."
        )
    try:
        return SaslAuthenticateResponse(NONE, None, await step(login, request.auth_bytes, call.peer))
    except LedgerError as error:
        return SaslAuthenticateResponse(code_of(error), message_of(error))
