"""Runs of steps: verdicts, limits, what runs beside what, and the lines at the end."""

from __future__ import annotations

import os
import sys
import time

import pytest

from redis_ledger.app.embedded_redis import binary
from scripts import check, left_out, steps
from scripts.check import FAILED, LEFT_OUT, OK, StepResult, judge, run, table
from scripts.steps import Step


@pytest.fixture(autouse=True)
def logs(tmp_path, monkeypatch):
    folder = tmp_path / "build" / "check"
    monkeypatch.setattr(check, "LOGS", folder)
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(steps.ROOT))
    return folder


def python(code: str, *arguments: object, name: str = "step", minutes: float = 1.0, prepare: str = "") -> Step:
    prepared = [sys.executable, "-c", prepare] if prepare else []
    return Step(name, "", minutes, [sys.executable, "-c", code, *map(str, arguments)], prepared)


def notes(*reasons: tuple[str, str], code: int) -> Step:
    lines = [f"left_out.note({what!r}, {why!r})" for what, why in reasons]
    return python("\n".join(["from scripts import left_out", *lines, f"exit({code})"]))


@pytest.mark.parametrize(
    ("code", "reasons", "verdict"),
    [
        (0, [], OK),
        (0, ["java: mvn is not on PATH"], OK),
        (left_out.EXIT_CODE, ["spark: there is no Java"], LEFT_OUT),
        (left_out.EXIT_CODE, [], FAILED),  # nothing is left out without a reason
        (1, ["java: mvn is not on PATH"], FAILED),
        (5, [], FAILED),  # pytest found no tests
        (-9, [], FAILED),
        (None, [], FAILED),  # ended at its limit
    ],
)
def test_the_verdict_follows_from_the_exit_code_and_the_notes(code, reasons, verdict):
    assert judge(code, reasons) == verdict


def test_a_step_with_omissions_is_marked_in_the_table(capsys):
    result = run(notes(("java", "mvn is not on PATH"), ("franz-go", "go is not on PATH"), code=0))
    assert result[:2] == ("step", OK)
    assert result.notes == ["java: mvn is not on PATH", "franz-go: go is not on PATH"]
    assert "left out: java: mvn is not on PATH" in capsys.readouterr().out


def test_a_step_that_ran_nothing_is_left_out_and_not_ok():
    result = run(notes(("spark", "there is no Java"), code=left_out.EXIT_CODE))
    assert result.verdict == LEFT_OUT


def test_a_step_does_not_see_the_notes_of_the_one_before():
    run(notes(("java", "no"), code=0))
    assert run(notes(code=0)).notes == []


def test_the_output_of_a_step_is_printed_and_kept(logs, capsys):
    run(python("import sys; print('one'); print('two', file=sys.stderr)"))
    assert sorted(capsys.readouterr().out.split()) == ["one", "two"]
    run(python("print('three')"), show=False)
    assert capsys.readouterr().out == ""
    assert (logs / "step.log").read_text() == "three\n"


def test_the_table_has_a_line_for_each_step_and_for_everything_that_was_left_out():
    results = [
        StepResult("unit", OK, 61.25, 100.0, details=["unit: 5 tests"]),
        StepResult("compat", OK, 9.0, 1.0, ["java: mvn is not on PATH"]),
        StepResult("spark-quick", LEFT_OUT, 1.0, 0.5, ["spark: there is no Java"]),
        StepResult("crash", FAILED, 2.0, 1.5),
    ]
    assert list(table(results)) == [
        "ok           61.2 s   100.0 CPU s  unit",
        "                                 unit: 5 tests",
        "ok            9.0 s     1.0 CPU s  compat",
        "left out                         java: mvn is not on PATH",
        "left out                         spark: there is no Java",
        "FAILED        2.0 s     1.5 CPU s  crash",
        "",
        "1 of 3 steps failed: crash; 2 left out",
    ]
    assert list(table(results[:1]))[-1] == "all 1 steps passed"
    assert list(table(results[:2]))[-1] == "all 2 steps passed; 1 left out"


def test_the_end_of_the_output_of_failed_steps_is_in_fifty_lines(capsys):
    results = [run(python("print(*range(60), sep='\\n'); exit(1)", name="bad")), run(python("print('fine')"))]
    title, *lines = check.last_lines(results)
    assert title == "\n=== bad FAILED; the last of 60 lines of build/check/bad.log:"
    assert lines == [str(number) for number in range(10, 60)]


def test_the_tests_of_a_report_are_counted_by_folder(logs):
    logs.mkdir(parents=True)
    report = logs / "tests.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.unit.test_a" name="x" time="1.5"/>'
        '<testcase classname="tests.unit.store.test_b" name="y" time="2.0"><failure>no</failure></testcase>'
        '<testcase classname="tests.lua.test_c" name="z" time="0.1"/></testsuite></testsuites>'
    )
    step = Step("tests", "", 1.0, ["pytest", f"--junitxml={report}"])
    assert list(check.by_folder(step)) == [
        "unit: 2 tests in 4 s of a worker, 1 failed",
        "lua: 1 tests in 0 s of a worker",
    ]
    assert list(check.by_folder(step)) == []  # an older report is not read again


# -- limits ------------------------------------------------------------------------------------------------------------

# Programs that do not end by themselves; the second one is a child, and shows whether it is alive.
SLEEPS = (
    "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', sys.argv[1]])\n"
    "time.sleep(600)"  # longer than any limit
)
TOUCHES = "import os, pathlib, time\nwhile True: pathlib.Path({!r}).touch(); time.sleep(0.01)"  # between two signs


def test_a_step_is_ended_at_its_limit_with_its_children(tmp_path, monkeypatch, logs):
    monkeypatch.setattr(steps, "LIMIT_S", 0.5)
    alive = tmp_path / "alive"
    result = run(python(SLEEPS, TOUCHES.format(str(alive)), minutes=0.0))
    assert result.verdict == FAILED
    assert "the limit is 0 s (scripts/steps.py)" in (logs / "step.log").read_text()
    alive.unlink(missing_ok=True)
    time.sleep(0.2)  # a child that is still there would make the file again
    assert not alive.exists()


def test_a_step_that_does_not_fit_is_left_out_with_the_reason():
    result = run(python("exit(1)", minutes=10.0), seconds_left=700.0)
    assert (result.verdict, result.notes) == (LEFT_OUT, ["step: it takes 10 minutes, and 12 were left"])


def test_a_step_that_fits_but_takes_longer_is_left_out_when_the_time_is_over():
    result = run(python("import time; time.sleep(600)", minutes=0.001), seconds_left=0.5)  # longer than is left
    assert result.verdict == LEFT_OUT
    assert "when the time was over" in result.notes[0]


def test_a_step_that_fails_in_the_time_that_is_left_has_failed():
    assert run(python("exit(1)", minutes=0.1), seconds_left=60.0).verdict == FAILED


def test_a_step_fails_if_its_preparation_fails(tmp_path):
    trace = tmp_path / "ran"
    assert run(python(f"open({str(trace)!r}, 'w')", prepare="exit(3)")).verdict == FAILED
    assert not trace.exists()


def test_the_cpu_time_of_children_counts():
    spins = "import time; until = time.process_time() + 0.3\nwhile time.process_time() < until: pass"
    result = run(python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spins!r}])"))
    assert result.cpu_s > 0.3


# -- what runs beside what ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            steps.TEST,
            (
                ["format-check", "lint", "layers", "tests"],
                ["types", "compat-setup", "compat-quick", "sim-quick"],
                ["attack"],
            ),
        ),
        (["compat-quick"], (["compat-quick"], [], [])),  # what it prints is seen at once
        (["compat-quick", "attack"], (["compat-quick"], [], ["attack"])),
        (["attack"], ([], [], ["attack"])),
    ],
)
def test_steps_that_wait_run_beside_others_and_steps_that_measure_run_alone(names, expected):
    lanes = check.schedule([steps.STEPS[name] for name in names])
    assert tuple([step.name for step in lane] for lane in lanes) == expected


def test_results_are_in_the_order_of_the_plan(tmp_path):
    # Given two steps that each end once the other has begun, and one that must not begin before both have ended
    first, second = tmp_path / "first", tmp_path / "second"
    meets = (
        "import pathlib, sys, time; mine, other = map(pathlib.Path, sys.argv[1:])\n"
        "mine.touch(); until = time.monotonic() + 60\n"
        "while not other.exists() and time.monotonic() < until: time.sleep(0.01)\n"  # between two looks
        # so that a third step that does not wait for both begins before they have ended
        "time.sleep(0.2); mine.with_suffix('.ended').touch(); exit(not other.exists())"
    )
    ended = "import pathlib, sys; exit(not all(pathlib.Path(each + '.ended').exists() for each in sys.argv[1:]))"
    planned = [
        python(meets, first, second, name="tests"),
        python(ended, first, second, name="attack"),
        python(meets, second, first, name="compat-quick"),
    ]
    results = check.run_all(planned)
    assert [(each.name, each.verdict) for each in results] == [
        ("tests", OK), ("attack", OK), ("compat-quick", OK),
    ]  # fmt: skip


# -- plans and the command ---------------------------------------------------------------------------------------------


def test_every_check_is_part_of_test_all_or_of_the_one_pytest():
    in_one = {*steps.FOLDERS, "quick"} - {"sim"}
    assert {step.name for step in steps.CHECKS} - in_one == set(steps.PLANS["test-all"])


def test_every_folder_of_tests_belongs_to_a_step():
    folders = {path.name for path in (steps.ROOT / "tests").iterdir() if any(path.glob("**/test_*.py"))}
    elsewhere = {"attack", "browser", "chart", "compat", "image", "mutants", "spark", "support", "upgrade"}
    assert folders - elsewhere == set(steps.FOLDERS)


@pytest.mark.parametrize("asked", ["test", "ci-rest", "quick"])
def test_steps_that_do_not_run_are_listed_by_name(asked, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["check.py", asked])
    monkeypatch.setattr(check, "run", lambda step, **_: StepResult(step.name, OK, 1.0))
    assert check.main() == 0
    printed = capsys.readouterr().out
    assert ("make test-all also runs full" in printed) is (asked == "test")
    assert ("make test-all also runs sim random" in printed) is (asked == "ci-rest")
    assert ("by name (scripts/check.py NAME): crash-slow" in printed) is (asked != "quick")


def test_the_list_has_a_line_for_every_step(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["check.py", "--list"])
    assert check.main() == 0
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")}
    assert listed == steps.STEPS.keys()


def test_an_unknown_step_is_an_error(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["check.py", "lint", "unti"])
    assert check.main() == 2
    assert "no such step: unti" in capsys.readouterr().err


def test_a_failed_step_makes_the_run_fail(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["check.py", "format-check", "lint"])
    monkeypatch.setattr(
        check, "run", lambda step, **_: StepResult(step.name, FAILED if step.name == "format-check" else OK, 1.0)
    )
    assert check.main() == 1


def test_lua_on_the_other_server_is_left_out_where_the_only_one_on_path_is_too_old(tmp_path, monkeypatch):
    old = tmp_path / "redis-server"
    old.write_text("#!/bin/sh\necho 'Redis server v=6.2.14 sha=0:0'\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin-that-is-not-there")
    step = steps.lua_other()
    assert step.left_out == f"no redis-server 7.0 or later is on PATH ({old} is version 6.2.14)"
    old.write_text("#!/bin/sh\necho 'Redis server v=7.0.15 sha=0:0'\n")
    step = steps.lua_other()
    assert step.left_out == ""
    assert step.env == {"REDIS_LEDGER_SERVER_BIN": str(binary.bundled_server())}
