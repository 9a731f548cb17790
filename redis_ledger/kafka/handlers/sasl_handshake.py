"""SaslHandshake 0-1: the SASL mechanism of the login.

0   tokens follow as bare frames     1   in SaslAuthenticate requests
PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 use the same credentials; PLAIN accepts API tokens too.  PLAIN sends passwords in
clear text: use it only with TLS or on trusted networks.  Without auth_required, if repeated or already authenticated:
ILLEGAL_SASL_STATE.  A login takes precedence over a client certificate.
"""

from __future__ import annotations

from redis_ledger.kafka.protocol.messages.sasl_handshake_request import SaslHandshakeRequest
from redis_ledger.kafka.protocol.messages.sasl_handshake_response import SaslHandshakeResponse
from redis_ledger.kafka.request_context import NONE, RequestContext
from redis_ledger.kafka.security.sasl import MECHANISMS, Login

VERSIONS = (0, 1)
UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE = 33, 34


async def handle(request: SaslHandshakeRequest, call: RequestContext) -> SaslHandshakeResponse:
    peer = call.peer
    if not call.broker.config.auth_required or peer.credential is not None or peer.sasl is not None:
        return SaslHandshakeResponse(ILLEGAL_SASL_STATE)
    if request.mechanism not in MECHANISMS:
        peer.is_refused = True
        return SaslHandshakeResponse(UNSUPPORTED_SASL_MECHANISM, list(MECHANISMS))
    peer.sasl = Login(request.mechanism, call.broker.scram_credentials, call.broker.security, bare=call.version == 0)
    return SaslHandshakeResponse(NONE, list(MECHANISMS))
