"""Hooks of mkdocs: headings get the anchors of GitHub, and the site includes files outside docs/ that pages link to.

A link from a page to another file of the repository becomes
    a page      for the Markdown files of PAGES, such as bench/RESULTS.md
    the home    for README.md, which docs/index.md replaces here, and for folders
    a download  for any other file, such as compose.yaml
"""

from __future__ import annotations

import os.path
import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "bench/RESULTS.md": "project/benchmarks.md",
    "bench/delay/README.md": "project/bench-delay.md",
    "bench/kafka_peer/README.md": "project/bench-kafka.md",
    "bench/spark/README.md": "project/bench-spark.md",
    "helm/redis-ledger/README.md": "reference/chart.md",
    "lua/README.md": "project/lua.md",
    "tests/README.md": "project/tests.md",
}
SOURCES = {uri: path for path, uri in PAGES.items()}
# A link, or code, in which a link is only text.  The text of a link may be code.
LINK_OR_CODE = re.compile(
    r"^```.*?^```$|`[^`\n]+`|(?P<text>\[[^\]]*\]\()(?P<target>[^)\s]+)(?P<end>\))", re.DOTALL | re.MULTILINE
)


def slug(heading: str, separator: str) -> str:
    """GitHub's anchor of a heading; tests/tidy/test_docs.py checks links by the same rule."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def on_config(config: Any) -> Any:
    config.mdx_configs["toc"] = {"permalink": True, **config.mdx_configs.get("toc", {}), "slugify": slug}
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File  # installed by make site only

    for path, uri in PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / path).read_text()))
    for path in sorted(_downloads(files)):
        files.append(File.generated(config, _download(path), content=(ROOT / path).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Points the links of a page at what the site has in place of the repository's files."""
    here = page.file.src_uri

    def link(found: re.Match[str]) -> str:
        if found["target"] is None:
            return found[0]
        return found["text"] + _linked(here, found["target"]) + found["end"]

    return LINK_OR_CODE.sub(link, markdown)


def _linked(here: str, target: str) -> str:
    path, mark, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", path):
        return target
    uri = _uri(_repository_path(here, path))
    return posixpath.relpath(uri, posixpath.dirname(here) or ".") + mark + anchor


def _repository_path(here: str, path: str) -> str:
    """The file that a link of the page `here` names, from the repository's root."""
    source = SOURCES.get(here, f"docs/{here}")
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), path))


def _uri(path: str) -> str:
    """The URL of a repository file on the site."""
    if path in PAGES:
        return PAGES[path]
    if path == "README.md" or (ROOT / path).is_dir():
        return "index.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else _download(path)


def _download(path: str) -> str:
    return f"files/{path}"


def _downloads(files: Any) -> set[str]:
    """The files outside docs/ that a page links to and that are no page of the site."""
    found = set()
    for file in files.documentation_pages():
        for match in LINK_OR_CODE.finditer(file.content_string):
            target = (match["target"] or "").partition("#")[0]
            if not target or re.match(r"[a-z]+:", target):
                continue
            path = _repository_path(file.src_uri, target)
            if _uri(path) == _download(path) and os.path.isfile(ROOT / path):
                found.add(path)
    return found
