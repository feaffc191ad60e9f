"""The code interpreter with E2B's Python SDK."""
import threading
import time

from e2b_code_interpreter import NotFoundException, Sandbox, TimeoutException

sandbox = Sandbox.create(timeout=300, envs={"FROM_CREATE": "yes"})

out, err, results = [], [], []
execution = sandbox.run_code("print('hello'); import sys; print('no', file=sys.stderr); 'x'",
                             on_stdout=lambda message: out.append((message.line, message.timestamp)),
                             on_stderr=lambda message: err.append(message.line), on_result=results.append)
assert execution.logs.stdout == ["hello\n"] and execution.logs.stderr == ["no\n"], execution.logs
assert [each[0] for each in out] == ["hello\n"] and out[0][1] and err == ["no\n"]
assert execution.text == "x" and len(results) == 1 and execution.execution_count == 1
assert sandbox.run_code("import os; os.environ['FROM_CREATE']").text == "yes"
assert sandbox.run_code("x = 1").execution_count == 3

# Environment variables of one execution: the previous values return afterwards.
ask = "import os; os.environ.get('OWN'), os.environ.get('FROM_CREATE')"
assert sandbox.run_code(ask, envs={"OWN": "it's", "FROM_CREATE": "no"}).text == '("it\'s", \'no\')'
assert sandbox.run_code(ask).text == "(None, 'yes')"
shown = sandbox.run_code("echo $OWN $FROM_CREATE", language="bash", envs={"OWN": "it's $x", "FROM_CREATE": "no"})
assert "".join(shown.logs.stdout) == "it's $x no\n", shown
assert "".join(sandbox.run_code("echo ${OWN-none} $FROM_CREATE", language="bash").logs.stdout) == "none yes\n"

failed = sandbox.run_code("1/0").error
assert (failed.name, failed.value) == ("ZeroDivisionError", "division by zero")
assert "ZeroDivisionError" in failed.traceback and "\x1b" not in failed.traceback
assert sandbox.run_code("import os; os._exit(3)").error.name == "KernelDied"
assert sandbox.run_code("1+1").text == "2"

shown = sandbox.run_code("from IPython.display import display\n"
                         "display({'text/latex': '$a$'}, raw=True)\n"
                         "display({'text/x-own': 'b'}, raw=True)\n"
                         "display({'application/json': {'a': [1]}}, raw=True)\n7")
assert list(shown.results[0].formats()) == ["latex"] and shown.results[0].latex == "$a$"
assert shown.results[1].extra == {"text/x-own": "b"}
assert shown.results[2].json == {"a": [1]}
assert shown.results[3].is_main_result and not shown.results[0].is_main_result and shown.text == "7"

# A list or dict of plain values is also returned as JSON.
shown = sandbox.run_code("{'a': [1, 2.5, None, True], 3: float('nan'), None: (1,)}").results[0]
assert shown.json == {"a": [1, 2.5, None, True], "3": None, "null": [1]} and shown.text, shown
assert sandbox.run_code("[{1, 2}]").results[0].json is None

# Contexts share files but not variables.
context = sandbox.create_code_context()
assert context.language == "python" and context.cwd == "/home/user"
sandbox.run_code("y = 5; open('shared', 'w').write('of both')", context=context)
assert sandbox.run_code("y", context=context).text == "5"
assert sandbox.run_code("y").error.name == "NameError"
assert sandbox.run_code("open('shared').read()").text == "of both"
if hasattr(sandbox, "list_code_contexts"):
    assert [each.id for each in sandbox.list_code_contexts()][-1] == context.id
    sandbox.restart_code_context(context)
    assert sandbox.run_code("y", context=context).error.name == "NameError"
    sandbox.remove_code_context(context)
    try:
        sandbox.run_code("1", context=context)
        raise AssertionError("it runs in a context that is gone")
    except NotFoundException:
        pass

printed = sandbox.run_code("echo $((6 * 7)); cat shared", language="bash").logs.stdout
assert "".join(printed) == "42\nof both", printed

# The sandbox is killed while code runs: the call raises an error.
timer = threading.Timer(1, sandbox.kill)
timer.start()
try:
    raise AssertionError(sandbox.run_code("import time; time.sleep(300)"))
except TimeoutException as error:
    assert "killed" in str(error) or "timeout" in str(error), error
timer.join()
try:
    raise AssertionError(sandbox.run_code("1"))
except TimeoutException as error:
    assert "not found" in str(error), error
