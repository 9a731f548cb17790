"""The documentation is true: generated pages are fresh and complete, links lead somewhere."""

from __future__ import annotations

import dataclasses
import re

from redis_ledger import errors
from redis_ledger.app.http.application import OPERATIONS
from redis_ledger.config import Config
from redis_ledger.store import keys
from redis_ledger.telemetry import exposition
from scripts import gen_docs
from scripts.site_hooks import PAGES
from tests.tidy.tree import ROOT, files, shown

REFERENCE = ROOT / "docs" / "reference"
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def test_generated_pages_are_fresh():
    stale = [shown(path) for path, text in gen_docs.pages().items() if not path.exists() or path.read_text() != text]
    assert stale == [], "run: make generate"


def test_every_error_is_documented():
    page = (REFERENCE / "errors.md").read_text()
    missing = [cls.__name__ for cls in errors.leaves() if f"| `{cls.code}` | `{cls.__name__}` |" not in page]
    assert missing == []


def test_every_error_says_what_it_means_and_what_to_do():
    silent = [cls.__name__ for cls in errors.leaves() if not all(gen_docs.sentences(cls))]
    assert silent == []


def test_every_error_code_belongs_to_one_error():
    codes = [cls.code for cls in errors.leaves()]
    assert sorted(codes) == sorted(set(codes))


def test_every_setting_is_documented():
    page = (REFERENCE / "settings.md").read_text()
    missing = [field.name for field in dataclasses.fields(Config) if f"| `{field.name}` |" not in page]
    assert missing == [], "a field needs a comment behind it on its line"


def test_every_key_is_documented():
    page = (REFERENCE / "keys.md").read_text()
    partition = keys.PartitionKeys("rl", "orders", 3)
    coordinator = keys.CoordinatorKeys("rl", 5)
    catalog = keys.CatalogKeys("rl")
    names = [
        *partition.end_keys,
        partition.offload,
        *coordinator.all(),
        *(getattr(catalog, slot) for slot in catalog.__slots__),
    ]
    listed = [key.decode() for key in names]
    suffixes = [key.decode().partition("|")[2] for key in partition.sub("x").all()]
    missing = [name for name in listed if f"`{name}`" not in page]
    missing += [suffix for suffix in suffixes if suffix and f"...:<name>|{suffix}`".replace("|", "\\|") not in page]
    assert missing == []


def test_every_call_and_every_metric_is_documented():
    rest, shown = (REFERENCE / "rest.md").read_text(), (REFERENCE / "metrics.md").read_text()
    assert [each.id for each in OPERATIONS if f"### {each.method} {each.path}\n" not in rest] == []
    assert [each.name for each in exposition.declared() if f"| `{each.name}` |" not in shown] == []


def slug(heading: str) -> str:
    """The anchor a heading gets: lower case, punctuation dropped, blanks to dashes."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def test_relative_links_lead_somewhere():
    dead = []
    for page in files(".md"):
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for found in LINK.finditer(text):
            target, _, anchor = (found[1] or found[2]).partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            aim = (page.parent / target).resolve() if target else page
            if not aim.exists():
                dead.append(f"{shown(page)}: {target}")
            elif anchor and aim.suffix == ".md":
                anchors = {slug(line.lstrip("#")) for line in aim.read_text().splitlines() if line.startswith("#")}
                dead += [] if anchor in anchors else [f"{shown(page)}: {target}#{anchor}"]
    assert dead == []


def test_the_site_has_every_page_that_a_page_links_to():
    sources = [path for path in files(".md") if shown(path).startswith("docs/")] + [ROOT / path for path in PAGES]
    linked = {
        (shown(path), shown((path.parent / target.partition("#")[0]).resolve()))
        for path in sources
        for target in (found[1] or "" for found in LINK.finditer(path.read_text()))
        if target.partition("#")[0].endswith(".md") and "://" not in target
    }
    missing = {each for each in linked if not each[1].startswith("docs/") and each[1] not in {*PAGES, "README.md"}}
    assert not missing, "add it to PAGES in scripts/site_hooks.py, and to the navigation in mkdocs.yml"


def test_every_picture_is_on_a_page():
    pages = "".join(page.read_text() for page in files(".md"))
    pictures = [
        path.relative_to(ROOT / "docs").as_posix() for path in sorted((ROOT / "docs" / "images").rglob("*.png"))
    ]
    assert pictures
    assert [each for each in pictures if each not in pages] == []
