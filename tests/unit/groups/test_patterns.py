"""Regular expressions of topic names: compared with Python's where both agree, and hostile ones."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redis_ledger.errors import InvalidRegex
from redis_ledger.groups import patterns
from redis_ledger.groups.patterns import Pattern, Resolver
from tests.support.examples import examples

names = st.text("abA0_.-", min_size=1, max_size=12)  # \B and no text at all is where Python differs
atoms = st.sampled_from(
    [
        "a",
        "b",
        "0",
        ".",
        r"\.",
        "[ab]",
        "[^a]",
        "[a-c0-4]",
        "[^-_.]",
        "[]a]",
        r"\d",
        r"\W",
        r"[\w-]",
        "^",
        "$",
        r"\b",
        r"\B",
    ]
)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeated = st.sampled_from(["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{2,}", "{0}", "{0,3}?"])
    return st.one_of(
        st.tuples(inner, repeated).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
        st.lists(inner, max_size=4).map("".join),
        st.lists(inner, min_size=1, max_size=3).map(lambda some: f"({'|'.join(some)})"),
        inner.map(lambda one: f"(?i:{one})"),
    )


@settings(max_examples=examples(500))
@given(text=st.recursive(atoms, grown, max_leaves=8), name=names)
def test_it_matches_what_pythons_own_engine_matches(text, name):
    assert Pattern(text).matches(name) == (re.fullmatch(text, name) is not None)


@pytest.mark.parametrize(
    ("text", "matching", "others"),
    [
        ("orders", ["orders"], ["orders2", "myorders", "order", ""]),
        ("orders.*|pay", ["orders", "orders-1", "pay"], ["pays"]),
        ("^foo$", ["foo"], ["foo1"]),
        (r"\Aa\z", ["a"], ["aa"]),
        (r"\Qa.b\E+", ["a.b", "a.bb"], ["a.ba.b", "axb"]),
        (r"a\Q.", ["a."], ["ab"]),
        ("[[:digit:]]+", ["42"], ["4b"]),
        ("[[:^alpha:]_]+", ["4_2"], ["4b"]),
        (r"\pL+", ["Ab"], ["A1"]),
        (r"\p{Lu}\P{L}", ["A1"], ["a1", "AA"]),
        (r"\p{^Lu}", ["a"], ["A"]),
        ("(?i)abc", ["ABC", "aBc"], ["ab"]),
        ("(?i:a)b", ["Ab", "ab"], ["AB"]),
        ("a(?i)b|c", ["aB", "C"], ["AB"]),
        ("(?s-i)a.", ["ab"], ["AB"]),
        ("(?P<n>a)(?<m>b)", ["ab"], ["a"]),
        (r"\x61\x{62}\141", ["aba"], ["abb"]),
        (r"a{,2}", [], ["aa"]),  # no repetition in RE2: these characters
        (r"\s*é?Ω?a", ["a"], ["éb", "b"]),
        ("", [""], ["a"]),
    ],
)
def test_it_reads_re2s_syntax(text, matching, others):
    pattern = Pattern(text)
    assert [name for name in matching + others if pattern.matches(name)] == matching


@pytest.mark.parametrize(
    "text",
    [
        "(", ")", "a)", "[", "[a", "[b-a]", "[[:nothing:]]", "*", "a**", "a{2}{3}", "a{3,2}", "a{1001}", "(?=a)",
        "(?!a)",
        "(?<=a)", "(?<!a)", "(?>a)", "(?#a)", "(?P=a)", "(?P<>a)", r"(a)\1", r"\k<a>", r"\pX", r"\p{Klingon}",
        "\\", r"\x{110000}", r"\xzz", "(?q)", "a" * (patterns.PATTERN_CHARS_MAX + 1),
        "((a{100}){100}){100}", "(((){1000}){1000}){1000}", "(ab|bc|cd|de){1000}",
    ],
)  # fmt: skip
def test_patterns_invalid_in_re2_or_too_large_are_refused(text):
    with pytest.raises(InvalidRegex):
        Pattern(text)


@pytest.mark.parametrize(
    "text", ["(a+)+x", "(a|a)*x", "(a*)*x", ".*.*.*.*.*.*.*.*.*x", "(a?){40}a{40}x", "(.?.?.?.?.?.?.?.?){40}x"]
)
def test_an_expression_that_would_stop_a_backtracking_engine_costs_milliseconds(text):
    began = time.process_time()
    assert not Pattern(text).matches("a" * 249)
    assert time.process_time() - began < 1  # a backtracking engine would take longer than the universe is old


@given(st.text(max_size=40))
def test_any_text_is_compiled_or_refused(text):
    try:
        outcome: object = Pattern(text).matches("a-topic")
    except InvalidRegex as refusal:
        outcome = refusal
    assert isinstance(outcome, bool | InvalidRegex)


def test_an_expression_of_many_instructions_is_refused():
    with pytest.raises(InvalidRegex, match="instructions"):
        Pattern("(.?){1000}x")


def test_a_hostile_expression_costs_little_a_name():
    pattern, name = Pattern("(.?){660}x"), "-".join(["payments"] * 27)
    pattern.matches(name)
    began = time.process_time()
    assert not any(pattern.find([f"{name}{number}" for number in range(200)]).values())
    assert time.process_time() - began < 1


def test_a_name_is_tried_once_while_its_topic_exists():
    class Counting(Pattern):
        tried = 0

        def matches(self, name: str) -> bool:
            self.tried += 1
            return super().matches(name)

    pattern = Counting("a.*")
    resolver = Resolver(pattern, {"a0": True})
    assert [resolver.matches(name) for name in ("a0", "a1", "b1", "a1", "b1")] == [True, True, False, True, False]
    assert (pattern.tried, resolver.is_known_not_to_match("b1")) == (2, True)
    resolver.forget({"a1": 0})
    assert (resolver.matches("b1"), pattern.tried) == (False, 3)
