"""reckon run, as people and programs use it."""
import io
import json
import os
import re
import shutil
import signal
import subprocess
import zipfile

import pytest
from cells import PICTURE
from private_daemon import end
from reckon_cli import ROOT, parse_json

PNG = b"\x89PNG\r\n\x1a\n"


# ---- output -----------------------------------------------------------------------------------

def test_print_goes_to_stdout_and_nothing_else_does(reckon):
    done = reckon("run", "-c", "import sys; print(6*7); print('oops', file=sys.stderr)").expect(0)
    assert done.out == "42\n"
    assert done.err == "oops\n"


def test_the_last_value_follows_on_a_line_of_its_own(reckon):
    assert reckon("run", "-c", "print('a', end=''); 6*7").expect(0).out == "a\n42\n"


def test_cells_share_variables_in_the_order_of_the_command_line(reckon):
    reckon.file("double.py", "x *= 2\n")
    done = reckon("run", "-c", "x = 5", "double.py", "-c", "x += 1", "double.py", "-c", "x")
    assert done.expect(0).out == "22\n"


def test_a_cell_from_stdin(reckon):
    assert reckon("run", "-", stdin="print('piped')").expect(0).out == "piped\n"
    assert reckon("run", stdin="print('alone')").expect(0).out == "alone\n"
    done = reckon("run", "-c", "x = 1", "-", "-c", "x", stdin="x += 1")
    assert done.expect(0).out == "2\n"


def test_bash(reckon):
    done = reckon("run", "-l", "bash", "-c", "x=4", "-c", "echo $((x + 1)); cd /tmp", "-c", "pwd")
    assert done.expect(0).out == "5\n/tmp\n"


def test_the_suffix_of_a_file_names_its_language(reckon):
    reckon.file("count.sh", "n=${n:-1}; n=$((n * 2)); echo $BASH_VERSINFO $n\n")
    reckon.file("odd.py", "print(6 * 7)\n")
    reckon.file("plain", "print('python')\n")
    assert re.fullmatch(r"\d+ 2\n", reckon("run", "count.sh").expect(0).out)
    assert re.fullmatch(r"\d+ 8\n", reckon("run", "-c", "n=4", "count.sh").expect(0).out)
    assert reckon("run", "odd.py", "plain").expect(0).out == "42\npython\n"
    done = reckon("run", "odd.py", "count.sh")
    assert done.status == 2
    assert "odd.py is Python, count.sh is bash" in done.err and "-l" in done.err
    # -l overrides the suffix: bash runs the file as a script, and fails.
    assert "syntax error" in reckon("run", "-l", "bash", "odd.py").expect(2).err


def test_an_alias_is_a_language(reckon):
    done = reckon("run", "-l", "sh", "--json", "-c", "echo $((6 * 7))").expect(0)
    record = parse_json(done.out)
    assert (record["stdout"], record["kernel"]) == ("42\n", "bash")


def test_bytes_reach_a_pipe_unchanged(reckon):
    code = r"print('\x1b[31mred\x1b[0m\x1b]0;title\x07')"
    assert reckon("run", "-c", code).expect(0).stdout == b"\x1b[31mred\x1b[0m\x1b]0;title\x07\n"


def test_a_terminal_gets_colours_and_no_control(reckon):
    code = r"print('\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b[2J')"
    main, side = os.openpty()
    try:
        with reckon.start("run", "-c", code, stdout=side, env={"TERM": "xterm"}) as process:
            process.wait(timeout=120)
        shown = os.read(main, 4096)
    finally:
        os.close(main)
        os.close(side)
    assert shown == b"\x1b[31mred\x1b[0m\\x1b]0;title\\x07\\x1b[2J\r\n"


def test_output_comes_while_the_code_runs(reckon):
    code = "print('first', flush=True)\ninput()\nprint('second')"
    read, write = os.pipe()
    try:
        with reckon.start("run", "--stdin", "-", "-c", code, stdin=read) as process:
            assert process.stdout.readline() == b"first\n"
            assert process.poll() is None
            os.write(write, b"go\n")
            assert process.stdout.readline() == b"second\n"
            assert process.wait(timeout=120) == 0
    finally:
        os.close(read)
        os.close(write)


def test_stdin_of_the_code(reckon):
    path = reckon.file("in.txt", "one\ntwo\n")
    code = "import sys; print(len(sys.stdin.read().split()))"
    assert reckon("run", "--stdin", path, "-c", code).expect(0).out == "2\n"
    done = reckon("run", "--stdin", "-", "-c", code, stdin="a b c")
    assert done.expect(0).out == "3\n"


def test_environment(reckon):
    done = reckon("run", "--env", "A=1", "--env", "B=x=y", "-c",
                  "import os; print(os.environ['A'], os.environ['B'])")
    assert done.expect(0).out == "1 x=y\n"


# ---- exit status ------------------------------------------------------------------------------

def test_failed_code_is_1_with_its_traceback(reckon):
    done = reckon("run", "-c", "def f():\n    return 1/0\nf()").expect(1)
    assert done.out == ""
    assert "ZeroDivisionError: division by zero" in done.err
    assert "line 2" in done.err


def test_the_first_failure_ends_the_run(reckon):
    done = reckon("run", "-c", "print(1)", "-c", "raise KeyError('x')", "-c", "print(3)").expect(1)
    assert done.out == "1\n"
    assert "1 of 3 cells not run" in done.err


def test_keep_going_runs_the_rest_and_keeps_the_first_status(reckon):
    done = reckon("run", "--keep-going", "--timeout", "2", "-c", "x = 1; 1/0",
                  "-c", "while True: pass", "-c", "print(x)").expect(1)
    assert done.out == "1\n"


def test_a_time_limit_is_124_and_keeps_the_output(reckon):
    done = reckon("run", "--timeout", "1s", "-c", "print('so far', flush=True)\nwhile True: pass")
    assert done.expect(124).out == "so far\n"
    line = done.err.splitlines()[0]
    assert line.startswith("reckon: cell 1: stopped at the time limit of 1 s")
    assert "--timeout" in line


def test_an_exceeded_memory_limit_is_reported(reckon):
    done = reckon("run", "--memory", "256M", "-c", "x = bytearray(4 << 30)")
    done.expect(1, 137)  # MemoryError, or killed by the Linux kernel
    assert "MemoryError" in done.err or "--memory" in done.err


def test_a_dead_kernel_is_a_failure_of_the_code(reckon):
    done = reckon("run", "-c", "import os; os.kill(os.getpid(), 9)").expect(1)
    assert re.fullmatch(r"reckon: cell 1: kernel_died: [^\n]+\n", done.err)
    assert "end with this command" in done.err and "-s NAME" in done.err and "stay in" not in done.err
    done = reckon("run", "--keep-going", "-c", "open('f', 'w').close(); import os; os._exit(3)",
                  "-c", "import os; print(os.listdir())").expect(1)
    assert done.out == "['f']\n" and "files stay in the session" in done.err


def test_sys_exit_is_not_an_error_of_reckon(reckon):
    assert reckon("run", "-c", "import sys; sys.exit(3)").status != 125


def test_ctrl_c_stops_the_cell_and_keeps_the_output(reckon):
    code = "import time\nprint('ready', flush=True)\ntime.sleep(100)"
    with reckon.start("run", "-c", code, "-c", "print('later')") as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        assert out == b""
        assert process.returncode == 1


def test_two_ctrl_c_end_the_run_with_130(reckon):
    code = ("import time\nwhile True:\n    try:\n        print('ready', flush=True)\n"
            "        time.sleep(100)\n    except KeyboardInterrupt:\n        pass")
    with reckon.start("run", "-c", code) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        assert process.returncode == 130


def test_a_closed_stdout_ends_the_run(reckon):
    code = "while True: print('y' * 1000)"
    with reckon.start("run", "--timeout", "60", "-c", code) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=120) == 141
        assert process.stderr.read().count(b"\n") <= 1


# ---- for programs -----------------------------------------------------------------------------

def test_json_is_one_record_for_each_cell_that_ran(reckon):
    records = reckon.records("-c", "x = 1; print(x)", "-c", "x + 1", "-c", "nope", "-c", "4")
    assert [record["status"] for record in records] == ["ok", "ok", "error"]
    assert [record["sequence"] for record in records] == [1, 2, 3]
    assert len({record["session"] for record in records}) == 1
    assert records[0]["stdout"] == "1\n"
    assert records[1]["results"][0]["data"]["text/plain"] == "2"
    assert records[2]["error"]["name"] == "NameError"


def test_json_leaves_stderr_empty(reckon):
    done = reckon("run", "--json", "-c", "1/0").expect(1)
    assert done.err == ""
    assert done.out.count("\n") == 1


def test_events_are_ordered_and_end_with_the_record(reckon):
    events = reckon.events("import sys\nprint('a')\nprint('b', file=sys.stderr)\ndisplay(1)\n2")
    names = [event["event"] for event in events]
    assert names == ["stream", "stream", "display_data", "execute_result", "done"]
    assert events[-1]["record"]["status"] == "ok"


def test_events_come_while_the_code_runs(reckon):
    read, write = os.pipe()
    try:
        with reckon.start("run", "--events", "--stdin", "-", "-c",
                          "print('first', flush=True)\ninput()", stdin=read) as process:
            event = parse_json(process.stdout.readline())
            assert (event["event"], event["text"]) == ("stream", "first\n")
            assert process.poll() is None
            os.write(write, b"\n")
            assert process.wait(timeout=120) == 0
    finally:
        os.close(read)
        os.close(write)


def test_the_receipt_goes_to_stderr(reckon):
    done = reckon("run", "--receipt", "-c", "print(1)", "-c", "2").expect(0)
    assert done.out == "1\n2\n"
    assert re.search(r"receipt of cell 1: ok\n  wall +\d+\.\d{3} s of 30 s\n  cpu ", done.err)
    assert re.search(r"  memory +\S+ \w*B peak of 1 GiB, and 1 GiB for files\n", done.err)
    assert "receipt of cell 2: ok" in done.err


# ---- files ------------------------------------------------------------------------------------

def test_files_go_in_under_their_own_name_or_another(reckon):
    path = reckon.file("a.csv", "x\n1\n")
    done = reckon("run", "-f", path, "-f", f"{path}:in/b.csv", "-c",
                  "print(open('a.csv').read() == open('in/b.csv').read() == 'x\\n1\\n')")
    assert done.expect(0).out == "True\n"


def test_input_files_are_not_listed_as_created(reckon):
    path = reckon.file("a.csv", "x\n")
    done = reckon("run", "-f", path, "-c", "open('b.txt', 'w').write('b')").expect(0)
    assert "b.txt" in done.err
    assert "a.csv" not in done.err


def test_files_come_out_with_their_directories(reckon):
    code = ("import os\nos.makedirs('sub/deep')\n"
            "_ = open('a.bin', 'wb').write(bytes(range(256)))\n"
            "_ = open('sub/deep/b.txt', 'w').write('b')")
    done = reckon("run", "-o", "out/new", "-c", code).expect(0)
    out = reckon.cwd / "out/new"
    assert (out / "a.bin").read_bytes() == bytes(range(256))
    assert (out / "sub/deep/b.txt").read_text() == "b"
    assert sorted(path.name for path in out.rglob("*")) == ["a.bin", "b.txt", "deep", "sub"]
    assert re.search(r"^created +a\.bin +256 B +saved as out/new/a\.bin$", done.err, re.M)


def test_a_later_cell_replaces_what_an_earlier_one_saved(reckon):
    reckon("run", "-o", "out", "-c", "_ = open('a', 'w').write('one')",
           "-c", "_ = open('a', 'w').write('two!')").expect(0)
    assert (reckon.cwd / "out/a").read_text() == "two!"


def test_files_made_before_a_failure_are_saved(reckon):
    reckon("run", "-o", "out", "-c", "_ = open('a', 'w').write('one'); 1/0").expect(1)
    assert (reckon.cwd / "out/a").read_text() == "one"


def test_links_and_fifos_are_not_saved(reckon):
    done = reckon("run", "-o", "out", "-c",
                  "import os\nos.symlink('/etc/passwd', 'link')\nos.mkfifo('fifo')\n"
                  "_ = open('plain', 'w').write('x')").expect(0)
    assert sorted(path.name for path in (reckon.cwd / "out").iterdir()) == ["plain"], done.err


def test_a_link_in_the_output_directory_is_replaced(reckon):
    secret = reckon.file("secret", "mine")
    out = reckon.cwd / "out"
    out.mkdir()
    reckon.user.own(out)
    (out / "a").symlink_to(secret)
    reckon("run", "-o", "out", "-c", "_ = open('a', 'w').write('new')").expect(0)
    assert secret.read_text() == "mine"
    assert (out / "a").read_text() == "new"
    assert not (out / "a").is_symlink()


def test_figures_are_saved_under_the_name_in_the_help(reckon):
    assert "reckon-figures/figure-CELL-NUMBER.png" in reckon("run", "--help").expect(0).out
    for _ in range(2):  # the second run replaces the figures of the first
        done = reckon("run", "-c", PICTURE).expect(0)
        saved = r"^figure \(PNG, \d+ B\): saved as reckon-figures/figure-1-1.png$"
        assert re.search(saved, done.err, re.M)
        assert (reckon.cwd / "reckon-figures/figure-1-1.png").read_bytes().startswith(PNG)
    reckon("run", "--json", "-c", PICTURE, "-c", PICTURE).expect(0)
    assert [path.name for path in (reckon.cwd / "reckon-figures").iterdir()] == ["figure-1-1.png"]
    # If the directory cannot be made, the message suggests -o.
    shutil.rmtree(reckon.cwd / "reckon-figures")
    (reckon.cwd / "reckon-figures").write_text("")
    done = reckon("run", "-c", PICTURE).expect(0)
    assert re.search(r"^figure \(PNG, \d+ B\): use -o DIR to save it$", done.err, re.M)


def test_figures_are_saved_with_o(reckon):
    done = reckon("run", "-o", "out", "-c", "1", "-c", PICTURE + PICTURE).expect(0)
    assert (reckon.cwd / "out/figure-2-1.png").read_bytes().startswith(PNG)
    assert "figure-2-1.png" in done.err
    assert "Picture" not in done.out


def test_o_saves_files_with_json(reckon):
    done = reckon("run", "--json", "-o", "out", "-c", "_ = open('a', 'w').write('x')").expect(0)
    assert (reckon.cwd / "out/a").read_text() == "x"
    assert done.out.count("\n") == 1


def test_an_artifact_outlives_its_session(reckon):
    record = reckon.record("_ = open('a.txt', 'w').write('kept')")
    artifact = record["files"][0]["artifact"]
    assert reckon("artifact", artifact).expect(0).out == "kept"
    reckon("artifact", artifact, "-o", "copy.txt").expect(0)
    assert (reckon.cwd / "copy.txt").read_text() == "kept"


def test_truncated_output_can_be_read_whole(reckon):
    record = reckon.record("for i in range(10000): print(f'{i:06}')", "--max-output", "4K")
    cut = record["truncated"]["stdout"]
    whole = reckon("output", cut["handle"], "--all").expect(0).out
    assert whole == "".join(f"{i:06}\n" for i in range(10000))
    assert len(record["stdout"]) < 8192
    part = reckon("output", cut["handle"], "--range", "7-13").expect(0).out
    assert part == "000001\n"
    tail = reckon("output", cut["handle"], "--range", "69993-").expect(0).out
    assert tail == "009999\n"


def test_a_mounted_directory_is_read_only_by_default(reckon):
    shared = reckon.cwd / "shared"
    shared.mkdir()
    reckon.user.own(shared)
    (shared / "a").write_text("host")
    reckon.user.own(shared / "a")
    code = "print(open('/mnt/shared/a').read()); open('/mnt/shared/b', 'w')"
    done = reckon("run", "-m", "shared", "-c", code).expect(1)
    assert done.out == "host\n"
    assert "Read-only file system" in done.err
    assert not (shared / "b").exists()
    code = "print(open('/mnt/in/a').read())"
    assert reckon("run", "-m", f"{shared}:/mnt/in:ro", "-c", code).expect(0).out == "host\n"


# ---- the data template ------------------------------------------------------------------------

@pytest.mark.slow
def test_the_example_prints_and_saves_its_results(reckon):
    if not (reckon.place.templates / "data").is_dir():
        pytest.fail("the data template is not built: reckon template build data")
    cells = sorted((ROOT / "examples/cells").glob("*.py"))
    for cell in cells:
        reckon.file(cell.name, cell.read_bytes())
    done = reckon("run", "-t", "data", "-o", "out", "--receipt", *[cell.name for cell in cells])
    done.expect(0)
    out = reckon.cwd / "out"
    assert "43 whole years" in done.out
    assert "2001  370.85" in done.out
    assert "highest in May" in done.out
    assert (out / "figure-2-1.png").read_bytes().startswith(PNG)
    with zipfile.ZipFile(io.BytesIO((out / "co2-report.xlsx").read_bytes())) as book:
        assert "xl/worksheets/sheet1.xml" in book.namelist()
        assert "xl/charts/chart1.xml" in book.namelist()
    assert done.err.count("receipt of cell") == 4


def test_piping_into_another_program(reckon):
    with reckon.start("run", "-c", "for i in range(1000): print(i)") as process:
        counted = subprocess.run(["wc", "-l"], stdin=process.stdout, capture_output=True,
                                 check=True, timeout=120)
        assert process.wait(timeout=120) == 0
    assert counted.stdout.strip() == b"1000"


def test_cpu_time_limit_keeps_variables(reckon):
    done = reckon("run", "-t", "python", "--cpu-time", "300ms", "--keep-going",
                  "-c", "x = 5\nwhile True: pass", "-c", "x")
    assert done.status == 124
    assert done.out == "5\n"
    assert "CPU" in done.err


@pytest.mark.parametrize("as_user", ["root"], indirect=True)
def test_process_limit_is_named(reckon):
    code = ("import os, time\npids = []\ntry:\n    while True:\n        pid = os.fork()\n"
            "        if pid == 0:\n            time.sleep(60)\n        pids.append(pid)\n"
            "except OSError:\n    print(len(pids))\nfor pid in pids: os.kill(pid, 9)")
    record = reckon.record(code, "-t", "python", "--pids", "20")
    assert record["status"] == "ok" and int(record["stdout"]) < 20
    assert "process_limit" in [note["code"] for note in record["diagnostics"]]


def test_interrupts_work_for_a_background_job(reckon):
    """A shell starts background jobs with SIGINT ignored, and that is inherited over exec."""
    ignore = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); " \
             "os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(
        ["/usr/bin/python3", "-c", ignore, str(reckon.place.program), "run", "--private",
         "-t", "python", "--timeout", "1s", "--keep-going", "-c", "x = 5\nwhile True: pass",
         "-c", "x"],
        cwd=reckon.cwd, env=reckon.env, capture_output=True, text=True, timeout=120,
        **reckon.user.switch)
    assert (done.returncode, done.stdout) == (124, "5\n"), done.stderr


def test_a_directory_goes_in_whole(reckon):
    for name in ("data/a.csv", "data/sub/b.csv", "data/.hidden"):
        (reckon.cwd / name).parent.mkdir(parents=True, exist_ok=True)
        reckon.file(name, name)
    (reckon.cwd / "data/link").symlink_to("/etc/passwd")
    (reckon.cwd / "empty").mkdir()
    code = "import pathlib; print(sorted(str(p) for p in pathlib.Path().rglob('*') if p.is_file()))"
    done = reckon("run", "-t", "python", "-f", "data/", "-f", "data/sub:other", "-f", "empty", "-c", code)
    assert done.expect(0).out == f"{['data/.hidden', 'data/a.csv', 'data/sub/b.csv', 'other/b.csv']}\n"
    assert "data/link is not a regular file" in done.err


# ---- programs and notebooks --------------------------------------------------------------------

NOTEBOOK = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "python"}},
            "cells": [{"cell_type": "markdown", "source": ["1/0"], "metadata": {}},
                      {"cell_type": "code", "source": ["x = 6\n", "print('one')"], "outputs": [],
                       "metadata": {}, "execution_count": 7},
                      {"cell_type": "code", "source": "  \n", "outputs": [], "metadata": {}},
                      {"cell_type": "code", "source": "x * 7", "outputs": [], "metadata": {}}]}


def test_a_notebook_runs_its_code_cells(reckon):
    reckon.file("nb.ipynb", json.dumps(NOTEBOOK).encode())
    assert reckon("run", "-t", "python", "nb.ipynb").expect(0).out == "one\n42\n"
    assert reckon("run", "-t", "python", "nb.ipynb", "-c", "x").expect(0).out == "one\n42\n6\n"
    bash = {**NOTEBOOK, "metadata": {"kernelspec": {"name": "bash", "language": "bash"}},
            "cells": [{"cell_type": "code", "source": "echo $((6 * 7))"}]}
    reckon.file("bash.ipynb", b"\xef\xbb\xbf" + json.dumps(bash).encode())
    assert reckon("run", "bash.ipynb").expect(0).out == "42\n"
    old = {"nbformat": 3, "metadata": {}, "worksheets": [
        {"cells": [{"cell_type": "code", "input": ["6 * ", "7"], "language": "python"}]}]}
    reckon.file("old.ipynb", json.dumps(old).encode())
    assert reckon("run", "-t", "python", "old.ipynb").expect(0).out == "42\n"


@pytest.mark.parametrize("text, why", [
    (b"x = 1", "is not a notebook: it is not JSON"), (b"{}", "is not a notebook: it has no cells"),
    (b'{"cells": [], "metadata": {"kernelspec": {"name": "ir", "language": "R"}}}',
     "Reckon has no kernel for its language"),
    (b'{"cells": [{"cell_type": "code", "source": "a\\u0000b"}]}', "")])
def test_invalid_notebooks_are_refused(reckon, text, why):
    reckon.file("nb.ipynb", text)
    done = reckon("run", "-t", "python", "nb.ipynb")
    assert done.status in (1, 2) and done.err.count("nb.ipynb: ") == bool(why) and why in done.err


def test_a_byte_order_mark_is_not_code(reckon):
    reckon.file("a.py", b"\xef\xbb\xbfprint(1)\n")
    reckon.file("a.sh", b"\xef\xbb\xbf#!/bin/sh\necho 2\n")
    assert reckon("run", "-t", "python", "a.py").expect(0).out == "1\n"
    assert reckon("run", "a.sh").expect(0).out == "2\n"
    assert reckon("run", "-t", "python", stdin=b"\xef\xbb\xbf'3'").expect(0).out == "'3'\n"


WORDS = ["", "-v", "--x=1", "it's", 'a "b" \\ $HOME `id`', "ü\U0001f600", "a\nb"]


def test_a_program_has_its_arguments(reckon):
    reckon.file("x.py", "import sys; print(sys.argv); 'sys' in dir() and None")
    done = reckon("run", "-t", "python", "x.py", "--", *WORDS).expect(0)
    assert done.out == f"{['x.py', *WORDS]}\n"
    reckon.file("x.sh", "printf '<%s>' \"$0\" \"$@\"")
    assert reckon("run", "x.sh", "--", *WORDS).expect(0).out == "".join(
        f"<{word}>" for word in ["x.sh", *WORDS])
    # No cell of its own sets the arguments: there is one record.
    (record,) = reckon("run", "-t", "python", "--json", "x.py", "--", "a").lines()
    assert record["status"] == "ok" and "'a'" in record["text"]
    assert "one program" in reckon("run", "-c", "1", "-c", "2", "--", "a").expect(2).err
    # Before any cell, "--" ends the options.
    reckon.file("-x.py", "print('dash')")
    assert reckon("run", "-t", "python", "--", "-x.py", "-x.py").expect(0).out == "dash\ndash\n"


@pytest.mark.parametrize("code, status, err", [
    ("import sys; sys.exit(3)", 3, ""), ("exit(4)", 4, ""), ("import sys; sys.exit(0)", 0, ""),
    ("import sys; sys.exit('it is bad')", 1, "it is bad\n"), ("import sys; sys.exit(-1)", 255, ""),
    ("import sys; sys.exit(256)", 1, ""), ("raise ValueError('3')", 1, "ValueError: 3")])
def test_the_exit_status_of_a_program(reckon, code, status, err):
    done = reckon("run", "-t", "python", "-c", code).expect(status)
    assert err in done.err and ("Traceback" in done.err) == ("ValueError" in err)
    assert done.err == err or "ValueError" in err


def test_the_exit_status_of_a_script(reckon):
    assert reckon("run", "-l", "bash", "-c", "echo a; exit 7").expect(7).out == "a\n"
    reckon("run", "-l", "bash", "-c", "ls /nowhere").expect(2)
    (record,) = reckon("run", "-l", "bash", "--json", "-c", "exit 7").expect(7).lines()
    assert record["status"] == "error"


def test_programs_in_a_session(reckon):
    try:
        reckon.file("x.py", "import sys; print(sys.argv[1:]); sys.exit(len(sys.argv))")
        done = reckon("run", "-s", "x", "-t", "python", "x.py", "--", "a", "b c").expect(3)
        assert done.out == "['a', 'b c']\n" and "Traceback" not in done.err
        reckon.file("nb.ipynb", json.dumps(NOTEBOOK).encode())
        assert reckon("run", "-s", "x", "nb.ipynb").expect(0).out == "one\n42\n"
    finally:
        end(reckon)
