"""The site has the links and anchors of the repository."""

from __future__ import annotations

import pytest

from scripts import site, site_hooks
from tests.tidy.test_docs import slug


@pytest.mark.parametrize(
    ("page", "target", "expected"),
    [
        ("howto/run.md", "../reference/settings.md", "../reference/settings.md"),
        ("howto/run.md", "#settings", "#settings"),
        ("howto/run.md", "https://example.com/a.md", "https://example.com/a.md"),
        (
            "howto/operate.md",
            "../../bench/RESULTS.md#against-apache-kafka",
            "../project/benchmarks.md#against-apache-kafka",
        ),
        ("howto/container.md", "../../compose.yaml", "../files/compose.yaml"),
        ("explanation/when-to-use.md", "../../README.md", "../index.md"),
        ("project/benchmarks.md", "../docs/decisions/0020-x.md", "../decisions/0020-x.md"),
        ("project/benchmarks.md", "delay/README.md", "bench-delay.md"),
        ("project/contributing.md", "docs/howto/operate.md#upgrade", "../howto/operate.md#upgrade"),
        ("project/changelog.md", "docs/reference", "../index.md"),
    ],
)
def test_a_link_of_the_repository_becomes_a_link_of_the_site(page, target, expected):
    page_of_a_file = type("Page", (), {"file": type("File", (), {"src_uri": page})})
    assert site_hooks.on_page_markdown(f"see [it]({target}).", page_of_a_file) == f"see [it]({expected})."


def test_links_in_code_stay_as_they_are():
    page = type("Page", (), {"file": type("File", (), {"src_uri": "index.md"})})
    text = "`[a](../b.md)`\n\n```text\n[a](../b.md)\n```\n"
    assert site_hooks.on_page_markdown(text, page) == text


@pytest.mark.parametrize(
    "heading", ["Why is my consumer stuck?", "GET /v1/topics/{topic}", "`disk`, the default", "A - B"]
)
def test_anchors_of_the_site_are_those_that_the_tidy_test_checks(heading):
    assert site_hooks.slug(heading, "-") == slug(heading)


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<script src="https://example.com/x.js"></script>', ["https://example.com/x.js"]),
        ("<img src=//example.com/x.png>", ["//example.com/x.png"]),
        ('<link rel="stylesheet" href="assets/site.css"><a href="https://example.com/">x</a>', []),
        ('<link rel="canonical" href="https://example.com/">', []),
    ],
)
def test_page_resources_from_other_servers_are_detected(html, expected):
    assert site.loaded_elsewhere(html) == expected
