"""What is read from the source of a test is what pytest does with it."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from scripts.gen_requirements import collected
from tests.tidy.marked import left_out, share_marked, uncollected

# Source of a module with a test that pytest collects, or does not.
COLLECTED = [
    "def test_x(): assert 1",
    "async def test_x(): assert 1",
    "import pytest\n@pytest.mark.parametrize('a', [1])\ndef test_x(a): assert a",
    "import pytest\nEACH = pytest.mark.parametrize('a', [1])\n@EACH\ndef test_x(a): assert a",
    "from hypothesis import given, strategies\n@given(strategies.none())\ndef test_x(a): assert 1",
    "class TestX:\n    def test_x(self): assert 1",
    "def test_x():\n    def test_x(): yield 1\n    assert test_x()",
    "def test_y(): assert 1\ntest_z = [test_x for test_x in ()]\ndef test_x(): assert 1",
]
NOT_COLLECTED = [
    "def test_x(): assert 1\ntest_x = None",
    "def test_x(): assert 1\nif 1:\n    test_x = None",
    "def test_x(): assert 1\ndel test_x",
    "def test_x(): assert 1\nfrom os import path as test_x",
    "def test_x(): assert 1\nimport os as test_x",
    "def test_x(): assert 1\nfor test_x in [1]: pass",
    "def test_x(): assert 1\nclass test_x: pass",
    "def test_x(): yield 1",
    "import pytest\n@pytest.fixture\ndef test_x(): return 1",
    "@lambda function: None\ndef test_x(): assert 1",
    "__test__ = False\ndef test_x(): assert 1",
    "class TestX:\n    def __init__(self): pass\n    def test_x(self): assert 1",
    "class TestX:\n    def __new__(cls): return 1\n    def test_x(self): assert 1",
    "class TestX:\n    __test__ = False\n    def test_x(self): assert 1",
    "class TestX:\n    def test_x(self): assert 1\n    test_x = None",
    "class TestX:\n    def test_x(self): assert 1\nTestX = None",
    "class Base:\n    def __init__(self): pass\nclass TestX(Base):\n    def test_x(self): assert 1",
]


def reasons(source: str) -> list[str]:
    module = ast.parse(source)
    return [
        each
        for name, function in collected(module)
        if name.endswith("test_x")
        for each in uncollected(module, name, function)
    ]


def test_what_is_read_is_what_pytest_collects(tmp_path):
    sources = [*COLLECTED, *NOT_COLLECTED]
    for number, source in enumerate(sources):
        (tmp_path / f"test_{number}.py").write_text(source)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:schemathesis",
        "-c",
        "/dev/null",
    ]
    done = subprocess.run([*command, "--rootdir=.", "."], cwd=tmp_path, capture_output=True, text=True, check=False)
    names = {line.partition("[")[0] for line in done.stdout.splitlines()}
    found = [
        f"test_{number}.py::{of}test_x" in names
        for number, source in enumerate(sources)
        for of in ["TestX::" if "TestX" in source else ""]
    ]
    assert found == [True] * len(COLLECTED) + [False] * len(NOT_COLLECTED), done.stdout + done.stderr
    assert [not reasons(source) for source in sources] == found


def test_a_test_without_parameters_is_not_run():
    assert reasons("import pytest\n@pytest.mark.parametrize('a', [])\ndef test_x(a): assert a") == [
        "it has no parameters"
    ]


FULL = "pytest.param(2, marks=pytest.mark.full)"


@pytest.mark.parametrize(
    ("source", "share"),
    [
        ("def test_x(): ...", "none"),
        ("@pytest.mark.full\ndef test_x(): ...", "all"),
        ("pytestmark = pytest.mark.full\ndef test_x(): ...", "all"),
        ("pytestmark = [pytest.mark.full]\ndef test_x(): ...", "all"),
        ("@pytest.mark.full\nclass TestX:\n    def test_x(self): ...", "all"),
        ("def test_x(): ...\n@pytest.mark.full\ndef test_y(): ...", "none"),
        ("@pytest.mark.parametrize('a', [1, 2])\ndef test_x(a): ...", "none"),
        (f"@pytest.mark.parametrize('a', [1, {FULL}])\ndef test_x(a): ...", "some"),
        (f"@pytest.mark.parametrize('a', argvalues=[1, {FULL}])\ndef test_x(a): ...", "some"),
        (f"@pytest.mark.parametrize('a', [{FULL}])\ndef test_x(a): ...", "all"),
        (f"@pytest.mark.parametrize('b', [1])\n@pytest.mark.parametrize('a', [{FULL}])\ndef test_x(a, b): ...", "all"),
        (f"VALUES = [1, {FULL}]\n@pytest.mark.parametrize('a', VALUES)\ndef test_x(a): ...", "some"),
        (f"VALUES = [1, {FULL}]\n@pytest.mark.parametrize('a', [*VALUES, 3])\ndef test_x(a): ...", "some"),
        (f"VALUES = [{FULL}]\n@pytest.mark.parametrize('a', VALUES + [3])\ndef test_x(a): ...", "some"),
        (f"EACH = pytest.mark.parametrize('a', [1, {FULL}])\n@EACH\ndef test_x(a): ...", "some"),
        ("FULL = pytest.mark.full\n@FULL\ndef test_x(a): ...", "all"),
        (
            "@pytest.mark.parametrize('a', [pytest.param(a, marks=pytest.mark.full) for a in B])\ndef test_x(a): ...",
            "all",
        ),
        ("def test_x():\n    assert queue.full", "none"),
    ],
)
def test_the_marks_of_a_test_are_read(source, share):
    module = ast.parse(source)
    (found,) = [share_marked(module, name, each, "full") for name, each in collected(module) if "test_x" in name]
    assert found == share


@pytest.mark.parametrize(
    ("source", "skips"),
    [
        ("def test_x(): assert 1", set()),
        ("@pytest.mark.skip\ndef test_x(): assert 1", {"skip"}),
        ("@pytest.mark.skipif(True, reason='')\ndef test_x(): assert 1", {"skipif"}),
        ("@pytest.mark.slow\ndef test_x(): assert 1", {"slow"}),
        ("@pytest.mark.full\ndef test_x(): assert 1", set()),
        ("def test_x():\n    pytest.skip('no')", {"skip"}),
        ("from pytest import skip\ndef test_x():\n    skip('no')", {"skip"}),
        ("pytestmark = [pytest.mark.xfail]\ndef test_x(): assert 1", {"xfail"}),
        ("redis = pytest.importorskip('redis')\ndef test_x(): assert 1", {"importorskip"}),
        ("if 1:\n    pytest.skip('no', allow_module_level=True)\ndef test_x(): assert 1", {"skip"}),
        ("@pytest.mark.skip\ndef test_y(): assert 1\ndef test_x(): assert 1", set()),
    ],
)
def test_the_ways_to_skip_a_test_are_found(source, skips):
    module = ast.parse(source)
    (function,) = [each for name, each in collected(module) if name == "test_x"]
    assert left_out(module, "test_x", function) == skips


def test_a_class_that_is_skipped_skips_its_tests_and_no_others():
    module = ast.parse("@pytest.mark.skip\nclass TestA:\n    def test_x(self): ...\ndef test_y(): ...")
    assert [left_out(module, name, function) for name, function in collected(module)] == [{"skip"}, set()]
