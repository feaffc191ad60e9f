"""The checkers find what they check for, and a run of tests cannot pass by accident."""
import importlib.machinery
import importlib.util
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest
from leftovers import stat_of

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = ROOT / "tools"


def run(tool, *arguments):
    done = subprocess.run([sys.executable, str(TOOLS / tool), *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def plant(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


# ---- layers ---------------------------------------------------------------------------------

@pytest.mark.parametrize("name, line", [
    ("base/a.c", '#include "wire/kernel.h"'),
    ("codec/a.c", '#include "wire/kernel.h"'),
    ("wire/a.c", '#include "codec/json.h"'),
    ("box/a.c", '#include "inside/kernel.h"'),
    ("inside/a.c", '#include "lib/session.h"'),
    ("lib/a.c", '#include "box/cgroup.h"'),
    ("cli/a.c", '#include "wire/kernel.h"'),
    ("bench/a.c", '#include "lib/session.h"'),
    ("bench/a.c", '#include "wire/warden.h"'),
    ("box/a.c", '#include "reckon.h"'),
    ("codec/a.c", "#include <reckon.h>"),
    ("box/a.c", '#include "nowhere/a.h"'),
    ("lib/a.c", "#include <seccomp.h>"),
    ("lib/a.c", "#include <jansson.h>"),
    ("box/a.c", "# include <Python.h>"),
    ("base/a.c", "#include <curl/curl.h>"),
    ("base/a.c", "#include <unheard_of.h>"),
    ("elsewhere/a.c", "#include <stdio.h>"),
])
def test_a_forbidden_include_is_found(tmp_path, name, line):
    status, text = run("check_layers.py", plant(tmp_path, {name: "#include <stdio.h>\n" + line}))
    assert status == 1
    assert name in text


def test_allowed_includes_pass(tmp_path):
    status, text = run("check_layers.py", plant(tmp_path, {
        "base/a.c": '#include "a.h"\n#include "base/b.h"\n#include <sys/mman.h>\n',
        "box/a.c": '#include <seccomp.h>\n#include "base/a.h"\n#include "wire/warden.h"\n',
        "lib/a.c": '#include "reckon.h"\n#include <sodium.h>\n#include "codec/json.h"\n',
        "cli/a.c": '#include <reckon.h>\n#include "codec/json.h"\n',
        "bench/a.c": '#include <reckon.h>\n#include "lib/session/branch.h"\n',
    }))
    assert (status, text.strip()) == (0, f"{tmp_path}: every include stays in its layer")


# ---- languages ------------------------------------------------------------------------------

ROW = 'static const char *const aliases[] = { "ck", NULL };\n'


@pytest.mark.parametrize("name, line, status", [
    ("cli/a.c", 'return strcmp(language, "cake") == 0;', 1),
    ("cli/a.c", 'f("Cake 3");', 1),
    ("box/a.c", 'g("/opt/reckon/reckon-zygote-cake");', 1),
    ("agent/a.h", 'static const char *const labels[] = { "x", "ck" };', 1),
    ("inside/a.c", 'f("cake");', 1),
    ("inside/cake/a.c", 'f("cake");', 0),
    ("languages/a.c", 'f("cake");', 0),
    ("cli/a.c", 'f("pancake", "cakes", "ckx"); /* "cake" */ // "cake"', 0),
    ("cli/a.c", '#include "inside/cake/a.h"', 0),
    ("cli/a.c", """f('"', "x", '"');""", 0),
])
def test_a_named_language_is_found(tmp_path, name, line, status):
    plant(tmp_path, {"inside/cake/language.c": ROW, name: "int a;\n" + line + "\n"})
    found, text = run("check_languages.py", tmp_path)
    assert (found, f"{name}:2: " in text) == (status, status == 1), text


def test_an_exception_is_allowed_only_if_needed(tmp_path):
    plant(tmp_path, {"inside/python/language.c": ROW, "lib/session/open.c": 'return "python";\n'})
    assert run("check_languages.py", tmp_path)[0] == 0
    plant(tmp_path, {"lib/session/open.c": "int a;\n"})
    status, text = run("check_languages.py", tmp_path)
    assert (status, "lib/session/open.c needs no exception" in text) == (1, True)


def test_a_tree_without_languages_is_refused(tmp_path):
    assert run("check_languages.py", plant(tmp_path, {"cli/a.c": "int a;\n"}))[0] == 1


# ---- sizes ----------------------------------------------------------------------------------

def function(length):
    return "int f(void)\n{\n" + "\tg();\n" * length + "}\n"


@pytest.mark.parametrize("name, text, status, says", [
    ("a.c", "\n" * 600, 0, "every file"),
    ("a.c", "\n" * 601, 0, "warning: "),
    ("a.c", "\n" * 1001, 1, "1001 lines"),
    ("a.h", "\n" * 400, 0, "every file"),
    ("a.h", "\n" * 401, 1, "401 lines"),
    ("a.c", function(100), 0, "every file"),
    ("a.c", "\n" + function(101), 1, "a.c:3: a function of 101 lines"),
    ("a.c", "static int t[] = {\n" + "\t1,\n" * 300 + "};\n", 0, "every file"),
])
def test_sizes_are_limited(tmp_path, name, text, status, says):
    found, output = run("check_size.py", plant(tmp_path, {name: text}))
    assert found == status
    assert says in output


@pytest.mark.parametrize("count, status", [(25, 0), (26, 1)])
def test_files_of_a_folder_are_limited(tmp_path, count, status):
    files = {f"src/host/f{number}.c": "int x;\n" for number in range(count)}
    files |= {f"src/host/room/f{number}.h": "int x;\n" for number in range(9)}
    found, output = run("check_size.py", plant(tmp_path, files))
    assert found == status and ("src/host: 26 files" in output) == bool(status)


# ---- clones ---------------------------------------------------------------------------------

CLONE = """/* Of the first. */
static int count_of(const struct list *list, const char *name)
{
	int count = 0;

	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i].name, name) == 0)
			count++; // of them
	return count;
}
"""
RENAMED = CLONE.replace("count_of", "number").replace("*name", "*word").replace(
    ", name)", ", word)").replace("int count", "int n").replace("count++", "n++").replace("return count", "return n")


@pytest.mark.parametrize("other, status", [
    (CLONE, 1),
    (CLONE.replace("\t", "    ").replace(" // of them", "\n"), 1),
    (RENAMED, 1),
    (CLONE.replace("struct list *", "struct chain *"), 0),
    (CLONE.replace("->count", "->size"), 0),
    (CLONE.replace("== 0", "!= 0"), 0),
])
def test_a_duplicated_function_is_found(tmp_path, other, status):
    plant(tmp_path, {"base/a.c": CLONE, "cli/b.c": '#include "c.h"\n\n' + other})
    found, text = run("check_clones.py", tmp_path)
    assert found == status
    if status:
        assert "a.c:2: count_of() = " in text and "b.c:4: " in text


@pytest.mark.parametrize("words, status", [(16, 0), (17, 1)])
def test_a_one_line_function_may_be_duplicated(tmp_path, words, status):
    text = "int f(void)\n{\n\treturn " + "-" * words + "1;\n}\n"
    assert run("check_clones.py", plant(tmp_path, {"a.c": text, "b.c": text}))[0] == status


def test_a_file_may_repeat_itself(tmp_path):
    text = CLONE + "\n" + RENAMED
    assert run("check_clones.py", plant(tmp_path, {"a.c": text}))[0] == 0


# ---- cleanup --------------------------------------------------------------------------------

@pytest.mark.parametrize("lines, status", [
    ("cleanup_fd int fd = -1;\nif (a)\n\treturn -1;", 0),
    ("cleanup_fd int fd;\nif (a)\n\treturn -1;\nfd = open();", 1),
    ("__attribute__((cleanup(done))) struct s fd;\nif (a)\n\treturn -1;", 1),
    ("cleanup_s struct s fd;\ns_init(&fd);\nreturn 0;", 0),
    ("cleanup_s struct s fd;\nif (s_open(&fd) < 0)\n\treturn -1;", 0),
    ("cleanup_s struct s fd;\nif (a || s_open(&fd) < 0)\n\treturn -1;", 1),
    ("cleanup_s struct s fd;\nif (a)\n\ts_init(&fd);\nreturn 0;", 1),
    ("cleanup_s struct s fd;\nif (a)\n\tb();\nelse\n\ts_init(&fd);\nreturn 0;", 1),
    ("cleanup_s struct s fd;\nif (a) {\n\ts_init(&fd);\n}\nreturn 0;", 1),
    ("cleanup_s struct s a = { .b = { 1, 2 }, .c = f(3, 4) }, fd;\nreturn 0;", 1),
    ("cleanup_s struct s fd, a = INIT(1, 2);\nreturn 0;", 1),
    ("cleanup_s struct s a = INIT(1, 2), fd[3] = { 0 };\nreturn 0;", 0),
    ("for (;;) {\n\tcleanup_s struct s fd;\n\tif (a)\n\t\tbreak;\n\ts_init(&fd);\n}", 1),
    ("for (;;) {\n\tcleanup_s struct s fd;\n\ts_init(&fd);\n}\nreturn fd;", 0),
    ("cleanup_s struct s fd; /* return */\ns_init(&fd);", 0),
])
def test_an_uninitialised_cleanup_variable_is_found(tmp_path, lines, status):
    body = "".join(f"\t{line}\n" for line in lines.split("\n"))
    plant(tmp_path, {"a.c": f"int f(void)\n{{\n\tint a;\n\n{body}}}\n"})
    found, text = run("check_cleanup.py", tmp_path)
    assert (found, ": fd has no value" in text) == (status, status == 1), text
    at = next(number for number, line in enumerate(lines.split("\n"), 5) if "fd" in line)
    assert not status or f"a.c:{at}: " in text


# ---- limits ---------------------------------------------------------------------------------

@pytest.mark.parametrize("source, table, status, says", [
    ("\tif (n > A_MAX)\n", "a.c A_MAX: test/unit/test_a.c::it_ends\n", 0, ""),
    ("\tif (n > A_MAX)\n", "a.c A_MAX: no clock runs so long\n", 0, ""),
    ("\tchar text[A_MAX + 1];\n\tstruct buf b = BUF_INIT(2 * A_MAX);\n", "", 0, ""),
    ("\tif (n > A_MAX)\n", "", 1, "a.c A_MAX: no line"),
    ("\tif (n > A_MAX)\n", "a.c A_MAX: test/unit/test_a.c::it_goes_on\n", 1, "there is no test/unit/test_a.c::it_goes_on"),
    ("", "a.c B_MAX: gone\n", 1, "there is no B_MAX in a.c"),
    ("\tif (n > A_MAX)\n", "a.c A_MAX\n", 1, "expected FILE NAME"),
    ("\tif (n > A_MAX)\n", "a.c A_MAX: one\na.c A_MAX: two\n", 1, "stands there twice"),
])
def test_each_limit_has_a_line(tmp_path, source, table, status, says):
    plant(tmp_path, {"src/a.c": f"#define A_MAX 8u /* of them */\n{source}", "test/data/limits.txt": "# a table\n" + table,
                     "test/unit/test_a.c": "UNIT_TEST(it_ends)\n{\n"})
    found, output = run("check_limits.py", tmp_path)
    assert found == status, output
    assert says in output


# ---- headers --------------------------------------------------------------------------------

@pytest.mark.parametrize("public, private, status", [
    ("typedef int reckon_t;\n", "#include <stddef.h>\nsize_t f(void);\n", 0),
    ("typedef int reckon_t;\n", "size_t f(void);\n", 1),
    ("// a comment that C89 does not know\n", "int f(void);\n", 1),
    ("int f(int class);\n", "int f(void);\n", 1),
])
def test_headers_must_compile_alone(tmp_path, public, private, status):
    plant(tmp_path, {"include/reckon.h": public, "src/base/a.h": private})
    assert run("check_headers.py", "gcc", "g++", tmp_path)[0] == status


# ---- walls ----------------------------------------------------------------------------------

def test_the_lines_that_wall_test_replaces_exist():
    loader = importlib.machinery.SourceFileLoader("wall_test", str(TOOLS / "wall-test"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("wall_test", loader))
    loader.exec_module(module)
    for name, (changes, tests) in module.WALLS.items():
        for file, old, new in changes:
            assert old in (ROOT / file).read_text(encoding="utf-8") and old != new, (name, file)
        assert (ROOT / tests.split()[0]).is_file(), name


# ---- the tally ------------------------------------------------------------------------------

@pytest.fixture
def run_tests():
    loader = importlib.machinery.SourceFileLoader("run_tests", str(TOOLS / "run-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    loader.exec_module(module)
    return module


JUNIT = """<testsuites><testsuite>
<testcase classname="one" name="a"/>
<testcase classname="one" name="b"><failure>x.py:3: in b
    assert f() == 1
y.py:9: in f
    return 1 / 0
E   ZeroDivisionError: division by zero</failure></testcase>
<testcase classname="one" name="c"><error>why</error></testcase>
<testcase classname="one" name="d"><skipped/></testcase>
<testcase classname="two" name="e"><skipped/></testcase>
</testsuite></testsuites>"""


def test_junit_cases_are_counted_and_a_skipped_suite_fails(run_tests, tmp_path):
    (tmp_path / "junit.xml").write_text(JUNIT, encoding="utf-8")
    tally = run_tests.Tally()
    failures = []
    assert tally.add_junit(tmp_path / "junit.xml", "lane", failures) == (5, 2)
    assert tally.line() == "1 passed, 2 failed, 2 skipped"
    assert failures == [["one: b", "x.py:3: in b", "y.py:9: in f",
                         "E   ZeroDivisionError: division by zero"], ["one: c", "why"]]
    tally.require_suites()
    assert tally.line() == "1 passed, 3 failed, 2 skipped"


def junit_step(run_tests, tmp_path, command):
    run_tests.REPORTS = tmp_path
    run_tests.ROOT = tmp_path
    runner = run_tests.Runner()
    runner.junit("step", command, tmp_path / "junit.xml")
    return runner.tally.line()


def test_a_run_that_ends_badly_without_a_failed_case_fails(run_tests, tmp_path):
    good = "<testsuite><testcase classname='c' name='n'/></testsuite>"
    write = f"cat >{tmp_path}/junit.xml <<'E'\n{good}\nE\n"
    assert junit_step(run_tests, tmp_path, ["sh", "-c", write]) == "1 passed, 0 failed, 0 skipped"
    assert junit_step(run_tests, tmp_path, ["sh", "-c", write + "exit 3"]) == \
        "1 passed, 1 failed, 0 skipped"


UNSTEADY = """import pathlib
import pytest

def test_once():
    mark = pathlib.Path(__file__).with_suffix(".mark")
    was_there = mark.exists()
    mark.touch()
    assert was_there

def test_never(): assert False, "as ever"
"""


@pytest.mark.parametrize("tests, line, start", [
    (UNSTEADY, "1 passed, 1 failed, 0 skipped", "FAIL step: 2 tests"),
    (UNSTEADY.partition("def test_never")[0], "1 passed, 0 failed, 0 skipped", "UNSTEADY"),
    (UNSTEADY.replace("def test_once()", "@pytest.mark.parametrize('n', range(9))\ndef test_once(n)"),
     "0 passed, 10 failed, 0 skipped", "FAIL step: 10 tests"),
])
def test_a_case_that_failed_is_run_again_alone(run_tests, tmp_path, capsys, tests, line, start):
    run_tests.REPORTS = run_tests.ROOT = tmp_path
    if "range" in tests:  # each of the nine cases fails once
        tests = tests.replace('.with_suffix(".mark")', '.with_suffix(f".{n}")')
    inner = tmp_path / "test/e2e"  # as in this repository: pytest names cases from pytest.ini's folder
    for folder in (inner, tmp_path / "test/support"):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "test/pytest.ini", tmp_path / "test")
    (tmp_path / "test/support/helper.py").touch()
    (tmp_path / "test/conftest.py").write_text("import helper", encoding="utf-8")
    (inner / "test_it.py").write_text(tests, encoding="utf-8")
    runner = run_tests.Runner()
    runner.pytest("step", "test/e2e/test_it.py")
    runner.look_again()
    capsys.readouterr()
    runner.summary()
    assert runner.tally.line() == line
    assert capsys.readouterr().out.startswith(start)


@pytest.mark.parametrize("command", [
    ["true"],
    ["no-such-program"],
    ["sh", "-c", "kill -9 $$"],
])
def test_a_run_without_a_report_fails(run_tests, tmp_path, command):
    assert junit_step(run_tests, tmp_path, command) == "0 passed, 1 failed, 0 skipped"


def test_a_step_that_hangs_is_ended_with_its_children(run_tests, tmp_path):
    run_tests.STEP_SECONDS = 0.3
    run_tests.INTERRUPT_SECONDS = 0.3
    script = f"sleep 1000 & echo $! >{tmp_path}/pid; wait"
    assert junit_step(run_tests, tmp_path, ["sh", "-c", script]) == "0 passed, 1 failed, 0 skipped"
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 60  # the process ends some time after the signal
    while (about := stat_of(pid)) is not None and about[1] not in "ZX":
        assert time.monotonic() < deadline, about
        time.sleep(0.01)


TAP = """<testsuites><testsuite name="unit / x"><testcase classname="unit / x" name="1 - good"/>
<testcase classname="unit / x" name="2 - bad"><failure/></testcase>
<system-out>1..2
ok 1 - good
not ok 2 - bad
# 0x1 != 0x2
# ../test/unit/test_x.c:12: error: Failure!
# not ok - x</system-out></testsuite></testsuites>"""


def test_a_failed_step_lists_its_failures_first_and_at_the_end(run_tests, tmp_path, capsys):
    write = f"cat >{tmp_path}/junit.xml <<'E'\n{TAP}\nE\nseq 100; exit 1"
    run_tests.REPORTS = run_tests.ROOT = tmp_path
    runner = run_tests.Runner()
    runner.junit("step", ["sh", "-c", write], tmp_path / "junit.xml")
    short = ["     ! unit / x: 2 - bad", "         # 0x1 != 0x2",
             "         # ../test/unit/test_x.c:12: error: Failure!", "         # not ok - x"]
    out = capsys.readouterr().out.splitlines()
    assert out[1].startswith("FAIL step: 2 tests") and out[2:6] == short
    assert out[6:-1] == [f"     | {number}" for number in range(81, 101)]
    runner.summary()
    assert capsys.readouterr().out.splitlines()[1:] == short


def test_a_failed_command_shows_its_errors(run_tests, tmp_path, capsys):
    run_tests.REPORTS = run_tests.ROOT = tmp_path
    runner = run_tests.Runner()
    assert not runner.command("step", ["sh", "-c", "echo a.c:3: error: no; seq 100; exit 1"])
    assert capsys.readouterr().out.splitlines()[2] == "     a.c:3: error: no"
    assert runner.tally.line() == "0 passed, 1 failed, 0 skipped"


def two_rows(run_tests, tmp_path, first, second):
    """A runner whose lanes `e2e` and `lint` run these commands, and `build` and `attack` do nothing."""
    run_tests.REPORTS = run_tests.ROOT = tmp_path
    runner = run_tests.Runner()
    for lane, script in (("build", "true"), ("e2e", first), ("attack", "true"), ("lint", second)):
        def steps(lane=lane, script=script):
            runner.command(lane, ["sh", "-c", script])
        setattr(runner, lane, steps)
    return runner


def test_rows_of_lanes_run_at_the_same_time(run_tests, tmp_path):
    """Each command waits for a file of the other: run one after the other, they would not end."""
    wait = "while [ ! -e {1} ]; do touch {0}; sleep 0.01; done; touch {0}"
    here, there = tmp_path / "here", tmp_path / "there"
    run_tests.STEP_SECONDS = 60
    runner = two_rows(run_tests, tmp_path, wait.format(here, there), wait.format(there, here))
    run_tests.run_all(runner, ["build", "e2e", "attack", "lint"])
    assert runner.tally.line() == "4 passed, 0 failed, 0 skipped"


def test_a_failure_in_the_second_row_counts(run_tests, tmp_path):
    runner = two_rows(run_tests, tmp_path, "true", "exit 1")
    run_tests.run_all(runner, ["build", "e2e", "lint"])
    assert runner.tally.line() == "2 passed, 1 failed, 0 skipped"
    runner = two_rows(run_tests, tmp_path, "true", "true")
    runner.lint = lambda: 1 / 0
    run_tests.run_all(runner, ["e2e", "lint"])
    assert runner.tally.line() == "1 passed, 1 failed, 0 skipped"


def test_a_lane_without_a_test_fails_wherever_it_runs(run_tests, tmp_path):
    runner = two_rows(run_tests, tmp_path, "true", "true")
    runner.lint = runner.build = lambda: None
    run_tests.run_all(runner, ["build", "e2e", "lint"])
    assert runner.tally.line() == "1 passed, 2 failed, 0 skipped"


def test_a_finished_row_runs_the_shared_lanes(run_tests, tmp_path):
    """The lane e2e waits for a file that a shared lane writes, so the other row must run the shared
    lanes, each once, without a low priority."""
    done = tmp_path / "done"
    runner = two_rows(run_tests, tmp_path, f"while [ ! -e {done} ]; do sleep 0.01; done", "true")
    taken = []

    def left(lane):
        taken.append((lane, runner.here.beside))
        runner.command(lane, ["touch", str(done)] if len(taken) == 3 else ["true"])
    for lane in run_tests.SHARED:
        setattr(runner, lane, lambda lane=lane: left(lane))
    run_tests.run_all(runner, ["e2e", "attack", "lint", *run_tests.SHARED])
    assert sorted(taken) == sorted((lane, False) for lane in run_tests.SHARED)
    assert runner.tally.line() == "6 passed, 0 failed, 0 skipped"
    runner = two_rows(run_tests, tmp_path, "true", "true")
    runner.doors = lambda: 1 / 0
    run_tests.run_all(runner, ["doors"])
    assert runner.tally.line() == "0 passed, 1 failed, 0 skipped"


def test_the_row_that_compiles_has_a_low_priority(run_tests, tmp_path):
    runner = two_rows(run_tests, tmp_path, f"nice >{tmp_path}/e2e", f"nice >{tmp_path}/lint")
    run_tests.run_all(runner, ["e2e", "lint"])
    assert int((tmp_path / "lint").read_text()) == min(int((tmp_path / "e2e").read_text()) + 10, 19)


def test_an_interruption_ends_both_rows(run_tests, tmp_path):
    hang = f"echo $$ >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; exec sleep 1000"
    runner = two_rows(run_tests, tmp_path, "true", hang)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    def interrupt():
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)
    runner.e2e = interrupt
    try:
        with pytest.raises(SystemExit):
            run_tests.run_all(runner, ["e2e", "attack", "lint"])
    finally:
        signal.signal(signal.SIGTERM, before)
    assert run_tests.running == set()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_an_unknown_lane_is_a_usage_error():
    assert run("run-tests", "no-such-lane")[0] == 2
    assert run("run-tests")[0] == 2


def test_every_lane_is_in_one_row(run_tests):
    lanes = [*run_tests.FIRST, *(lane for row in (*run_tests.ROWS, run_tests.SHARED) for lane in row)]
    assert sorted(lanes) == sorted(run_tests.LANES)


def test_a_copy_of_the_programs_has_other_inodes(run_tests, tmp_path):
    """Leftovers recognise programs by their inodes, so the copy must have others."""
    for name in ("bin/reckon", "libexec/reckond", "libexec/reckond.p/a.o", "share/reckon/x"):
        plant(tmp_path / "build", {name: name})
    run_tests.ROOT = tmp_path
    for _ in range(2):
        run_tests.copy_programs(tmp_path / "apart")
    copied = sorted(path for path in (tmp_path / "apart").rglob("*") if path.is_file())
    assert [str(path.relative_to(tmp_path / "apart")) for path in copied] == [
        "bin/reckon", "libexec/reckond", "share/reckon/x"]
    for path in copied:
        assert path.stat().st_ino != (tmp_path / "build" / path.relative_to(tmp_path / "apart")).stat().st_ino
