"""Runs jupyter_kernel_test against the kernels of `reckon jupyter install`, for test_jupyter_kernel.py.

    JUPYTER_DATA_DIR=… python -m unittest jupyter_conformance
"""
import jupyter_kernel_test


class Python(jupyter_kernel_test.KernelTests):
    kernel_name = "reckon-python"
    language_name = "python"
    file_extension = ".py"
    code_hello_world = "print('hello, world')"
    code_stderr = "import sys; print('test', file=sys.stderr)"
    completion_samples = [{"text": "zi", "matches": {"zip"}}]
    complete_code_samples = ["1", "print('hello, world')", "def f(x):\n  return x*2\n\n\n"]
    incomplete_code_samples = ["print('''hello", "def f(x):\n  x*2"]
    invalid_code_samples = ["import = 7q"]
    code_generate_error = "raise ValueError('bad')"
    code_execute_result = [{"code": "1+2+3", "result": "6"},
                           {"code": "[n*n for n in range(1, 4)]", "result": "[1, 4, 9]"}]
    code_display_data = [
        {"code": "from IPython.display import HTML, display; display(HTML('<b>test</b>'))",
         "mime": "text/html"},
        {"code": "from IPython.display import Math, display; display(Math('\\\\frac{1}{2}'))",
         "mime": "text/latex"}]
    code_history_pattern = "1?2*"
    supported_history_operations = ("tail", "range", "search")
    code_inspect_sample = "zip"
    code_clear_output = "from IPython.display import clear_output; clear_output()"


class Welcome(jupyter_kernel_test.IopubWelcomeTests):
    kernel_name = "reckon-python"
    support_iopub_welcome = True


class Bash(jupyter_kernel_test.KernelTests):
    kernel_name = "reckon-bash"
    language_name = "bash"
    file_extension = ".sh"
    code_hello_world = "echo hello, world"
    code_stderr = "echo test >&2"
    code_generate_error = "false"
    complete_code_samples = ["echo 1"]
    incomplete_code_samples = ["if true; then"]


del jupyter_kernel_test
