"""Links of the documentation's pages, as the site has them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scripts.site_hooks import on_page_markdown


@pytest.mark.parametrize(
    ("markdown", "on_the_site"),
    [
        ("[results](../bench/RESULTS.md#how)", "[results](project/benchmarks.md#how)"),
        ("[`tests/sim`](../tests/README.md)", "[`tests/sim`](project/tests.md)"),
        ("[errors](reference/errors.md)", "[errors](reference/errors.md)"),
        ("[docs](https://redis.io/docs)", "[docs](https://redis.io/docs)"),
        ("`[a](../bench/RESULTS.md)`", "`[a](../bench/RESULTS.md)`"),
        ("```md\n[a](../bench/RESULTS.md)\n```", "```md\n[a](../bench/RESULTS.md)\n```"),
    ],
)
def test_links_lead_to_pages_of_the_site_and_code_stays(markdown, on_the_site):
    page = SimpleNamespace(file=SimpleNamespace(src_uri="reliability.md"))
    assert on_page_markdown(markdown, page) == on_the_site
