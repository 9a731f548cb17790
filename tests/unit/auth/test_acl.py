"""redis_ledger/auth/acl: every rule of the decision, with and without its cache."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redis_ledger.auth.acl import (
    AUDITED_MAX,
    CLUSTER_NAME,
    IMPLIED_BY,
    OPERATIONS_OF,
    Caller,
    Effect,
    Filter,
    Op,
    Pattern,
    Resource,
    Rule,
    Rules,
    facts,
    flaw,
    said,
)

ADA, BOB = Caller("User:ada", "10.0.0.1"), Caller("User:bob", "10.0.0.2")
ALLOW, DENY = Effect.ALLOW, Effect.DENY
LITERAL, PREFIXED = Pattern.LITERAL, Pattern.PREFIXED


def rule(effect=ALLOW, principal="User:ada", host="*", op=Op.READ, kind=Resource.TOPIC, pattern=LITERAL, name="orders"):
    return Rule(effect, principal, host, op, kind, pattern, name)


@pytest.mark.parametrize(
    ("rules", "caller", "op", "name", "expected"),
    [
        ([], ADA, Op.READ, "orders", False),
        ([rule()], ADA, Op.READ, "orders", True),
        ([rule()], BOB, Op.READ, "orders", False),
        ([rule()], ADA, Op.WRITE, "orders", False),
        ([rule()], ADA, Op.READ, "orders2", False),
        ([rule(name="*")], ADA, Op.READ, "orders2", True),
        ([rule(pattern=PREFIXED)], ADA, Op.READ, "orders2", True),
        ([rule(pattern=PREFIXED)], ADA, Op.READ, "order", False),
        ([rule(pattern=PREFIXED, name="*")], ADA, Op.READ, "orders", False),
        ([rule(principal="User:*")], BOB, Op.READ, "orders", True),
        ([rule(host="10.0.0.1")], ADA, Op.READ, "orders", True),
        ([rule(host="10.0.0.9")], ADA, Op.READ, "orders", False),
        ([rule(op=Op.ALL)], ADA, Op.DELETE, "orders", True),
        ([rule(op=Op.ALL), rule(DENY, op=Op.DELETE)], ADA, Op.DELETE, "orders", False),
        ([rule(DENY, op=Op.DELETE), rule(op=Op.ALL)], ADA, Op.READ, "orders", True),
        ([rule(), rule(DENY, principal="User:*", name="*", op=Op.ALL)], ADA, Op.READ, "orders", False),
        ([rule(), rule(DENY, pattern=PREFIXED, name="or")], ADA, Op.READ, "orders", False),
        ([rule(), rule(DENY, host="10.0.0.2")], ADA, Op.READ, "orders", True),
        # Describing is implied by what is allowed, never by what is denied.
        ([rule(op=Op.WRITE)], ADA, Op.DESCRIBE, "orders", True),
        ([rule(op=Op.CREATE)], ADA, Op.DESCRIBE, "orders", False),
        ([rule(op=Op.ALTER_CONFIGS)], ADA, Op.DESCRIBE_CONFIGS, "orders", True),
        ([rule(op=Op.READ), rule(DENY, op=Op.WRITE)], ADA, Op.DESCRIBE, "orders", True),
        ([rule(op=Op.READ), rule(DENY, op=Op.DESCRIBE)], ADA, Op.DESCRIBE, "orders", False),
        # Another kind of resource of the same name is another resource.
        ([rule(kind=Resource.GROUP)], ADA, Op.READ, "orders", False),
    ],
)
def test_the_decision(rules, caller, op, name, expected):
    compiled = Rules(rules)
    assert compiled.allow(caller, op, Resource.TOPIC, name) is expected
    assert compiled.allow(caller, op, Resource.TOPIC, name) is expected, "also when it is remembered"


def test_no_rule_is_asked_for_a_super_user():
    rules = Rules([rule(DENY, principal="User:*", name="*", op=Op.ALL)], ["User:ada"])
    assert rules.allow(ADA, Op.ALTER, Resource.CLUSTER, CLUSTER_NAME)
    assert rules.allow(ADA, Op.READ, Resource.TOPIC, "orders")
    assert rules.allow_some(ADA, Op.WRITE, Resource.TOPIC)
    assert not rules.allow(BOB, Op.READ, Resource.TOPIC, "orders")


def test_resources_without_rules_are_open_only_if_configured():
    rules = Rules([rule(principal="User:carol")], open_without_rule=True)
    assert rules.allow(ADA, Op.READ, Resource.TOPIC, "payments")
    assert not rules.allow(ADA, Op.READ, Resource.TOPIC, "orders"), "a rule names it, and not for ada"


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ([], False),
        ([rule(op=Op.WRITE)], True),
        ([rule(op=Op.READ)], False),
        ([rule(op=Op.WRITE), rule(DENY, op=Op.WRITE, name="*")], False),
        ([rule(op=Op.WRITE), rule(DENY, op=Op.ALL)], False),
        ([rule(op=Op.WRITE, name="*"), rule(DENY, op=Op.WRITE, name="orders")], True),
        ([rule(op=Op.WRITE, pattern=PREFIXED, name="or"), rule(DENY, op=Op.ALL, pattern=PREFIXED, name="o")], False),
        ([rule(op=Op.WRITE, pattern=PREFIXED, name="o"), rule(DENY, op=Op.ALL, pattern=PREFIXED, name="or")], True),
    ],
)
def test_permission_on_some_topic_is_found(rules, expected):
    assert Rules(rules).allow_some(ADA, Op.WRITE, Resource.TOPIC) is expected


_NAMES = st.sampled_from(["a", "ab", "abc", "b", "*"])
_RULES = st.builds(
    Rule,
    st.sampled_from([ALLOW, DENY]), st.sampled_from(["User:ada", "User:bob", "User:*"]),
    st.sampled_from(["*", "10.0.0.1"]), st.sampled_from([Op.ALL, Op.READ, Op.WRITE, Op.DESCRIBE]),
    st.sampled_from([Resource.TOPIC, Resource.GROUP]), st.sampled_from([LITERAL, PREFIXED]), _NAMES,
)  # fmt: skip


@given(st.lists(_RULES, max_size=8), st.sampled_from([ADA, BOB]), st.sampled_from(["a", "ab", "abd", "c"]))
def test_deciding_is_what_the_documentation_of_kafka_says(rules, caller, name):
    def fits(each: Rule, op: Op) -> bool:
        named = name.startswith(each.name) if each.pattern is PREFIXED else each.name in ("*", name)
        whose = each.principal in ("User:*", caller.principal) and each.host in ("*", caller.host)
        return each.resource is Resource.TOPIC and named and whose and each.operation in (op, Op.ALL)

    for op in (Op.READ, Op.DESCRIBE):
        enough = [op, *IMPLIED_BY.get(op, ())]
        denied = any(each.effect is DENY and fits(each, op) for each in rules)
        allowed = any(each.effect is ALLOW and fits(each, one) for each in rules for one in enough)
        assert Rules(rules).allow(caller, op, Resource.TOPIC, name) is (allowed and not denied)


def test_rules_about_others_cost_a_decision_nothing(monkeypatch):
    """Names are the caller's to think up, so what it asks for the first time must not look at every rule there is."""
    looked, is_for = [0], Rule.is_for

    def counting(self: Rule, principal: str, host: str) -> bool:
        looked[0] += 1
        return is_for(self, principal, host)

    others = [rule(name=f"o{n}", principal=f"User:{n}", pattern=(LITERAL, PREFIXED)[n % 2]) for n in range(2_000)]
    compiled = Rules([*others, rule(pattern=PREFIXED), rule(op=Op.WRITE)])
    monkeypatch.setattr(Rule, "is_for", counting)
    assert not any(compiled.allow(ADA, Op.READ, Resource.TOPIC, f"nothing-{n}") for n in range(100))
    assert compiled.allow(ADA, Op.READ, Resource.TOPIC, "orders-eu")
    assert all(compiled.allow_some(ADA, Op.WRITE, Resource.TOPIC) for _ in range(100))
    assert looked[0] <= 10


@given(st.lists(_RULES, max_size=8), st.sampled_from(["a", "ab", "abd", "c"]))
def test_permission_on_a_topic_implies_permission_on_any_topic(rules, name):
    compiled = Rules(rules)
    if compiled.allow(ADA, Op.WRITE, Resource.TOPIC, name):
        assert compiled.allow_some(ADA, Op.WRITE, Resource.TOPIC)


@pytest.mark.parametrize(
    ("wanted", "taken"),
    [
        (Filter(), {"exact", "prefix", "star"}),
        (Filter(name="orders-eu", pattern=Pattern.MATCH), {"exact", "prefix", "star"}),
        (Filter(name="orders-us", pattern=Pattern.MATCH), {"prefix", "star"}),
        (Filter(name="orders-eu"), {"exact"}),
        (Filter(name="orders-", pattern=PREFIXED), {"prefix"}),
        (Filter(name="*", pattern=LITERAL), {"star"}),
        (Filter(principal="User:bob"), set()),
        (Filter(resource=Resource.GROUP), set()),
        (Filter(operation=Op.READ, effect=ALLOW, host="*"), {"exact", "prefix", "star"}),
        (Filter(effect=DENY), set()),
    ],
)
def test_filters_take_what_kafkas_would(wanted, taken):
    rules = {
        "exact": rule(name="orders-eu"),
        "prefix": rule(name="orders-", pattern=PREFIXED),
        "star": rule(name="*"),
    }
    assert {what for what, each in rules.items() if wanted.takes(each)} == taken


@pytest.mark.parametrize(
    "wrong",
    [
        rule(principal="ada"),
        rule(principal="User:"),
        rule(name=""),
        rule(name="a\nb"),
        rule(name="x" * 256),
        rule(op=Op.ANY),
        rule(op=Op.CLUSTER_ACTION),
        rule(effect=Effect.ANY),
        rule(pattern=Pattern.MATCH),
        rule(kind=Resource.ANY),
        rule(kind=Resource.CLUSTER, name="other", op=Op.ALTER),
        rule(kind=Resource.GROUP, op=Op.WRITE),
    ],
)
def test_impossible_rules_have_a_sentence(wrong):
    assert (flaw(wrong) or "").endswith(".")


def test_every_operation_of_a_resource_makes_a_rule():
    for kind, operations in OPERATIONS_OF.items():
        name = CLUSTER_NAME if kind is Resource.CLUSTER else "orders"
        assert [flaw(rule(kind=kind, op=op, name=name)) for op in operations] == [None] * len(operations)


@pytest.mark.parametrize(
    ("given_rule", "sentence"),
    [
        (rule(pattern=PREFIXED, name="pay-"), "ALLOW User:ada READ on TOPIC pay-*"),
        (
            rule(DENY, "User:eve", "10.0.0.1", Op.ALL, Resource.CLUSTER, name=CLUSTER_NAME),
            "DENY User:eve ALL on CLUSTER kafka-cluster from 10.0.0.1",
        ),
    ],
)
def test_rule_has_the_same_sentence_everywhere(given_rule, sentence):
    assert said(given_rule) == sentence
    assert facts([given_rule] * (AUDITED_MAX + 1)) == {"acls": [sentence] * AUDITED_MAX}
