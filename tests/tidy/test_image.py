"""The Dockerfile, and what is sent to it, keep to what docs/howto/container.md says."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.image import dockerfile
from tests.tidy.tree import ROOT

TEXT = (ROOT / "Dockerfile").read_text()
STAGES = dockerfile.stages(TEXT)
FINAL = STAGES[-1]
IGNORED = dockerfile.patterns((ROOT / ".dockerignore").read_text())


def test_every_stage_begins_with_the_one_base_that_a_digest_can_be_given_for():
    digest = "docker.io/library/python@sha256:" + "0" * 64
    assert {stage.base for stage in dockerfile.stages(TEXT, {"PYTHON_IMAGE": digest})} == {digest}
    assert {stage.base for stage in STAGES} == {"docker.io/library/python:3.11-slim-bookworm"}


def test_packages_come_from_locks_with_hashes_and_nothing_is_compiled():
    installs = [each.value for stage in STAGES for each in stage.all("RUN") if "pip" in each.value.split("--mount")[-1]]
    fetching = [
        each
        for each in installs
        if "--no-index" not in each
        and "pip install" in each.replace("pip --python /opt/redis-ledger/bin/python", "pip")
    ]
    assert len(fetching) == 2
    for each in fetching:
        assert "--require-hashes" in each
        assert "--only-binary :all:" in each
    assert re.search(r"\b(apt|apt-get|apk|curl|wget|gcc)\b", TEXT) is None


def test_image_runs_as_an_unprivileged_numeric_user():
    assert FINAL.last("USER").value == "10001:10001"
    after = FINAL.instructions[FINAL.instructions.index(FINAL.last("USER")) + 1 :]
    assert {each.word for each in after} & {"RUN", "COPY"} == set()


def test_image_starts_without_a_shell():
    assert FINAL.last("ENTRYPOINT").words() == ["redis-ledger"]
    assert FINAL.last("CMD").words() == ["serve"]
    assert FINAL.last("STOPSIGNAL").value == "SIGTERM"
    check = FINAL.last("HEALTHCHECK")
    assert check.value == 'CMD ["redis-ledger", "health"]'
    assert {each.partition("=")[0] for each in check.flags} == {
        "--interval",
        "--timeout",
        "--start-period",
        "--retries",
    }


def test_it_listens_where_it_says_keeps_data_where_it_says_and_asks_who_calls():
    env = {name: value for each in FINAL.all("ENV") for name, value in each.pairs({}).items()}
    ports = {env["REDIS_LEDGER_HTTP"], env["REDIS_LEDGER_KAFKA"]}
    assert ports == {f"0.0.0.0:{port}" for port in FINAL.last("EXPOSE").value.split()}
    volume = FINAL.last("VOLUME").words()[0]
    assert env["REDIS_LEDGER_DATA_DIR"].startswith(f"{volume}/"), (
        "a volume's own root may hold lost+found, or be root's"
    )
    assert env["REDIS_LEDGER_AUTH_REQUIRED"] == "true"


def test_the_label_has_the_projects_version():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    arguments = {name: value for each in FINAL.all("ARG") for name, value in each.pairs({}).items()}
    assert arguments["VERSION"] == version
    assert all(each.pairs(arguments)["org.opencontainers.image.version"] == version for each in FINAL.all("LABEL"))


def test_what_is_copied_is_sent_and_little_else():
    copied = {
        name
        for stage in STAGES
        for each in stage.all("COPY")
        if each.flag("from") is None
        for name in each.value.split()[:-1]
    }
    assert all(dockerfile.context(ROOT, [name], IGNORED) for name in copied)
    for path in (".git/config", ".venv/bin/python", "tests/conftest.py", "docs/glossary.md", "requirements/dev.lock"):
        assert not dockerfile.is_sent(path, IGNORED), path
    assert not dockerfile.is_sent("app/__pycache__/main.cpython-311.pyc", IGNORED)


@pytest.mark.parametrize(
    ("path", "lines", "is_sent"),
    [
        ("a/b.py", [], True),
        ("a/b.py", ["*"], False),
        ("a/b.py", ["*", "!a"], True),
        ("a/b.py", ["*", "!a/b.py"], True),
        ("a/c.py", ["*", "!a/b.py"], False),
        ("a/x/y.pyc", ["*", "!a", "**/*.pyc"], False),
        ("y.pyc", ["**/*.pyc"], False),
        ("ab", ["a"], True),
    ],
)
def test_the_last_pattern_that_matches_decides(path, lines, is_sent):
    assert dockerfile.is_sent(path, lines) is is_sent


def test_a_dockerfile_is_read_with_its_flags_lines_and_variables():
    # Given
    run = "RUN --mount=type=cache,target=/c \\\n  echo '$HOME  x' \\\n && true"
    text = f'ARG A=x\nFROM ${{A}}:1 AS one\n# why\n{run}\nENV B="b c" C=${{D}}'
    # When
    (stage,) = dockerfile.stages(text, {"A": "y"})
    # Then
    assert (stage.name, stage.base) == ("one", "y:1")
    step, env = stage.instructions
    assert (step.flags, step.value, step.line) == (("--mount=type=cache,target=/c",), "echo '$HOME  x'  && true", 4)
    assert env.pairs({"D": "d"}) == {"B": "b c", "C": "d"}
    with pytest.raises(AssertionError, match="line 2: ONBUILD"):
        dockerfile.stages("FROM a\nONBUILD x")
