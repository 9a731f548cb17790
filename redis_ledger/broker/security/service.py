"""Authentication by token, authorization by ACL rules, and changes of both.

    {catalog}:acls     rule as a JSON array → creation time        {catalog}:tokens   id → digest, principal, end
    {catalog}:state    "security" → version of both

Every broker has a cached copy and decides from memory: a decision is a dict lookup and never waits for Redis.
Without auth_required all operations are allowed, at the cost of checking a flag.
Source: KIP-11, KIP-290, KIP-679.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Hashable, Iterable, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from redis_ledger.auth import tokens
from redis_ledger.auth.acl import (
    CLUSTER_NAME,
    Caller,
    Filter,
    Op,
    Resource,
    Rule,
    Rules,
    check_own_principal,
    flaw,
)
from redis_ledger.auth.requirement import FORBIDDEN
from redis_ledger.broker.cluster.metadata_cache import MetadataCache, Row
from redis_ledger.broker.security.jwks import Jwks
from redis_ledger.clock import Clock
from redis_ledger.config import Config
from redis_ledger.errors import (
    Forbidden,
    InvalidRequest,
    SecurityDisabled,
    Unauthenticated,
    UnknownToken,
)
from redis_ledger.store.keys import CatalogKeys
from redis_ledger.store.store import Store
from redis_ledger.store.stored_json import stored_json
from redis_ledger.telemetry.logs import get
from redis_ledger.txn.producer_ids import owner_of

_log = get()
ADMIN = "User:admin"  # whom the bootstrap token stands for
BOOTSTRAP_CHARACTERS_MIN = 32
NOTE_CHARACTERS_MAX = 200

_WORDS = {
    Resource.TOPIC: "topic",
    Resource.GROUP: "group",
    Resource.CLUSTER: "cluster",
    Resource.TRANSACTIONAL_ID: "transactional id",
}


class Security:
    """Authenticates and authorizes callers.

    rules, tokens  this broker's copy; replaced, never changed in place
    generation     increases when identities or permissions may have changed: cached decisions are then invalid
    changed        an event that is set at such a change and then replaced
    """

    def __init__(self, store: Store, config: Config, clock: Clock) -> None:
        self._config, self._clock = config, clock
        self._keys = keys = CatalogKeys(store.prefix)
        self._copied = MetadataCache(store, "security", (keys.acls, keys.tokens), self._take, look=self._look)
        self.is_on = config.auth_required
        self._supers = frozenset(each.strip() for each in config.super_users.split(";") if each.strip())
        self._bootstrap: bytes | None = None  # SHA-256 of the bootstrap token
        self._bootstrap_seen: tuple[int, int] | None = None  # of its file; None: there is none
        self._bootstrap_flaw = ""  # the last logged reason
        self._decode = stored_json(tokens.Stored, "A token", is_secret=True)
        self.generation = 0
        self.changed = asyncio.Event()
        self.jwts = Jwks(config) if config.jwt_jwks else None
        self._jwts_seen = 0
        self.tokens: dict[str, tokens.Stored] = {}
        self.rules = self._compile(())

    async def open(self) -> None:
        if not self.is_on:
            return
        self._read_bootstrap()
        if self.jwts is not None:
            await self.jwts.open()
        await self._copied.open()

    async def close(self) -> None:
        await self._copied.close()

    # -- decide ------------------------------------------------------------------------------------------------------

    def allows(self, caller: Caller, operation: Op, resource: Resource, name: str) -> bool:
        return not self.is_on or self.rules.allow(caller, operation, resource, name)

    def sees(self, who: Hashable, topic: str) -> bool:
        """who: a Caller, of whatever does not know what that is."""
        return not self.is_on or (isinstance(who, Caller) and self.allows(who, Op.DESCRIBE, Resource.TOPIC, topic))

    def owner(self, principal: str) -> str:
        """How a partition names the principal that writes under a producer id; "" while rules are off."""
        return owner_of(principal) if self.is_on else ""

    def check(self, caller: Caller, operation: Op, resource: Resource, name: str) -> None:
        """Raises the resource's kind of Forbidden."""
        if self.is_on and not self.rules.allow(caller, operation, resource, name):
            raise refusal(caller, operation, resource, name)

    def check_cluster(self, caller: Caller, operation: Op) -> None:
        self.check(caller, operation, Resource.CLUSTER, CLUSTER_NAME)

    def may_create(self, caller: Caller, topic: str) -> bool:
        """CREATE on the topic or on the cluster, as for Kafka's CreateTopics."""
        return self.allows(caller, Op.CREATE, Resource.TOPIC, topic) or self.allows(
            caller, Op.CREATE, Resource.CLUSTER, CLUSTER_NAME
        )

    def check_some(self, caller: Caller, operation: Op, resource: Resource) -> None:
        """Raises Forbidden if there is no name at all for which the caller may (KIP-679)."""
        if self.is_on and not self.rules.allow_some(caller, operation, resource):
            raise FORBIDDEN[resource](
                f"{caller.principal} may not {operation.name} any {_WORDS[resource]}. Ask an administrator for a rule "
                "that allows it."
            )

    @property
    def bootstrap(self) -> str | None:
        """The digest of the bootstrap token, if there is one."""
        return None if self._bootstrap is None else self._bootstrap.hex()

    @property
    def knows_anybody(self) -> bool:
        """Returns whether a client can authenticate other than as a SCRAM user."""
        return self._bootstrap is not None or bool(self.tokens or self.jwts or self._config.tls_client_ca)

    # -- identify ----------------------------------------------------------------------------------------------------

    def principal_of(self, token: str) -> str:
        """Returns the principal of an API token.  Raises Unauthenticated without a detailed reason."""
        return self.identify(token)[0]

    def identify(self, token: str) -> tuple[str, int]:
        """Returns the principal of an API token and its expiry (Unix ms, 0: never).  Raises as principal_of."""
        shown = tokens.read(token)
        stored = self.tokens.get(shown.id) if shown is not None else None
        if shown is not None and stored is not None and tokens.fits(shown, stored):
            if not stored.is_over(self._clock.now_ms()):
                return stored.principal, stored.expires_ms
            raise Unauthenticated("The token has expired. Ask an administrator for another one.")
        if self._bootstrap is not None and hmac.compare_digest(sha256(token.encode()).digest(), self._bootstrap):
            return ADMIN, 0
        raise Unauthenticated("The token is unknown or was revoked. Ask an administrator for another one.")

    async def recognize(self, token: str) -> tuple[str, int]:
        """As identify, but refreshes the copy for an unknown token: another process may just have created it."""
        shown = tokens.read(token)
        if shown is not None and shown.id not in self.tokens:
            await self._copied.catch_up()
        return self.identify(token)

    def check_on(self) -> None:
        """Raises SecurityDisabled if authentication is off: any client could create a token that stays valid once it is
        turned on."""
        if not self.is_on:
            raise SecurityDisabled

    # -- change ------------------------------------------------------------------------------------------------------

    async def add_rules(self, rules: Sequence[Rule]) -> int:
        """How many are new.  Raises InvalidRequest, and then adds none."""
        for rule in rules:
            if (wrong := flaw(rule)) is not None:
                raise InvalidRequest(wrong)
        now = str(self._clock.now_ms())
        await self.refresh()
        known = set(self.rules.all)
        return await self._copied.write(self._keys.acls, {_field(rule): now for rule in rules if rule not in known})

    async def remove_rules(self, filters: Sequence[Filter]) -> list[list[Rule]]:
        """Returns the rules that each filter removed.  A rule that matches several filters is listed for the first."""
        await self.refresh()
        left = list(self.rules.all)
        removed: list[list[Rule]] = []
        for each in filters:
            removed.append([rule for rule in left if each.takes(rule)])
            left = [rule for rule in left if not each.takes(rule)]
        await self._copied.write(self._keys.acls, {_field(rule): "" for rules in removed for rule in rules})
        return removed

    async def list_rules(self, wanted: Filter = Filter()) -> list[Rule]:  # noqa: B008 - a tuple
        await self.refresh()
        return sorted(rule for rule in self.rules.all if wanted.takes(rule))

    async def create_token(self, principal: str, *, expires_ms: int = 0, note: str = "") -> tuple[str, str]:
        """Returns id and text of a new token.  expires_ms: Unix time, 0: never.  Raises InvalidRequest."""
        check_own_principal(principal)
        now = self._clock.now_ms()
        if expires_ms and expires_ms <= now:
            raise InvalidRequest("The token would have expired already; give a time in the future, or none.")
        if len(note) > NOTE_CHARACTERS_MAX or (note and not note.isprintable()):
            raise InvalidRequest(f"The note has at most {NOTE_CHARACTERS_MAX} printable characters.")
        text, shown = tokens.make()
        row = tokens.Stored(principal, tokens.digest(shown.secret), now, expires_ms, note)
        await self._copied.write(self._keys.tokens, {shown.id: msgspec.json.encode(row).decode()})
        return shown.id, text

    async def revoke_token(self, id: str) -> tokens.Stored:
        """What it was.  Raises UnknownToken."""
        await self.refresh()
        stored = self.tokens.get(id)
        if stored is None:
            raise UnknownToken(f"There is no token {id[:40]!r}.")
        await self._copied.write(self._keys.tokens, {id: ""})
        return stored

    async def list_tokens(self) -> dict[str, tokens.Stored]:
        """By id, oldest first."""
        await self.refresh()
        return dict(sorted(self.tokens.items(), key=lambda item: (item[1].created_ms, item[0])))

    # -- the copy ----------------------------------------------------------------------------------------------------

    async def refresh(self) -> None:
        """Reads rules and tokens again if they changed."""
        await self._copied.refresh()

    def _take(self, tables: Sequence[Sequence[Row]]) -> None:
        rules, found = tables
        self.tokens = {id.decode(): self._decode(row) for id, row in found}
        self.rules = self._compile(_rule(field) for field, _ in rules)
        self._has_changed()

    async def _look(self) -> None:
        self._look_at_bootstrap()
        await self._look_at_jwts()

    def _look_at_bootstrap(self) -> None:
        """Reads the bootstrap token.  An invalid file keeps the previous token and is logged once."""
        try:
            self._read_bootstrap()
            self._bootstrap_flaw = ""
        except InvalidRequest as error:
            if error.detail != self._bootstrap_flaw:
                _log.warning(
                    "the bootstrap token cannot be read; the previous one stays in effect", reason=error.detail
                )
            self._bootstrap_flaw = error.detail

    async def _look_at_jwts(self) -> None:
        if self.jwts is None:
            return
        await self.jwts.look()
        if self.jwts.generation != self._jwts_seen:
            self._jwts_seen = self.jwts.generation
            self._has_changed()

    def _has_changed(self) -> None:
        self.generation += 1
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def _compile(self, rules: Iterable[Rule]) -> Rules:
        supers = self._supers if self._bootstrap is None else self._supers | {ADMIN}
        return Rules(rules, supers, open_without_rule=self._config.allow_everyone_if_no_acl)

    def _read_bootstrap(self) -> None:
        """Reads the first administrator's token when its file changes.  Removing the file revokes it."""
        if not self._config.bootstrap_token_file:
            return
        path = Path(self._config.bootstrap_token_file)
        try:
            if self._bootstrap_seen and not path.exists():
                _log.warning("the file of the bootstrap token has gone; the token does not count any more")
                self._be_administered_by(None, None)
                return
            stat = path.stat()
            seen = (stat.st_mtime_ns, stat.st_size)
            if seen == self._bootstrap_seen:
                return
            token = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidRequest(
                f"bootstrap_token_file cannot be read ({type(error).__name__}); correct the path, or leave it out."
            ) from None
        if len(token) < BOOTSTRAP_CHARACTERS_MIN:
            raise InvalidRequest(
                f"The token in bootstrap_token_file has fewer than {BOOTSTRAP_CHARACTERS_MIN} characters; give random "
                "ones."
            )
        self._be_administered_by(sha256(token.encode()).digest(), seen)

    def _be_administered_by(self, bootstrap: bytes | None, seen: tuple[int, int] | None) -> None:
        self._bootstrap, self._bootstrap_seen = bootstrap, seen
        self.rules = self._compile(self.rules.all)
        self._has_changed()


def refusal(caller: Caller, operation: Op, resource: Resource, name: str) -> Forbidden:
    what = _WORDS[resource] if resource is Resource.CLUSTER else f"{_WORDS[resource]} {name[:100]!r}"
    return FORBIDDEN[resource](
        f"{caller.principal} may not {operation.name} on {what}. Ask an administrator for an ACL that allows it."
    )


def _field(rule: Rule) -> str:
    return msgspec.json.encode(list(rule)).decode()


_rule = stored_json(Rule, "An ACL")
