"""get_ipython(): the part of IPython's shell object that notebooks and libraries use."""

import builtins
import sys
import traceback

from _reckon import errors, formatters, magics, programs

_getframe = sys._getframe
_type = type


class ExecutionResult:
    """The result of run_cell()."""

    error_before_exec = error_in_exec = result = None

    def __init__(self, count):
        self.execution_count = count

    @property
    def success(self):
        return self.error_before_exec is None and self.error_in_exec is None

    def raise_error(self):
        if not self.success:
            raise self.error_before_exec or self.error_in_exec

    def __repr__(self):
        return (f"<ExecutionResult object at {id(self):x}, execution_count={self.execution_count} "
                f"error_before_exec={self.error_before_exec} error_in_exec={self.error_in_exec} "
                f"result={self.result}>")


ExecutionResult.__module__ = "IPython.core.interactiveshell"


class ZMQInteractiveShell:
    """The result of get_ipython(). Libraries recognise a notebook by the class's name."""

    kernel = True  # read by pandas, which then formats tables for a notebook
    config = {"IPKernelApp": {}}  # by which code recognises a notebook
    colors = "nocolor"
    last_execution_result = None
    find_line_magic = staticmethod(magics.find_line)
    find_cell_magic = staticmethod(magics.find_cell)
    ast_node_interactivity = "last_expr"  # which expressions of a cell are shown
    display_formatter = formatters.display_formatter
    system = system_raw = system_piped = staticmethod(programs.shell)
    getoutput = staticmethod(programs.shell_lines)
    register_magic_function = staticmethod(magics.register)

    def __init__(self, names):
        self.user_ns = self.user_global_ns = names

    @classmethod
    def instance(cls, *_options, **_more):
        return _shell

    @classmethod
    def initialized(cls):
        return True

    @property
    def execution_count(self):
        return len(self.user_ns.get("In", ()))

    def run_line_magic(self, name, line="", _stack_depth=1):
        return magics.line(f"{name} {line}")

    def magic(self, line):
        return magics.line(line.lstrip("%"))

    def run_cell_magic(self, name, line, cell):
        return magics.cell(name, line, cell)

    def run_cell(self, source, store_history=False, silent=False, *_options, **_more):
        """Runs source as a separate cell; the result has its exception."""
        result = ExecutionResult(self.execution_count)
        try:
            result.result = magics.prepare(source, 1)()
        except (SyntaxError, magics.UsageError) as error:
            result.error_before_exec = error
        except Exception as error:
            result.error_in_exec = error
        if not result.success:
            self.showtraceback(result.error_before_exec or result.error_in_exec)
        elif result.result is not None and not silent:
            sys.displayhook(result.result)
        self.last_execution_result = result
        return result

    def showtraceback(self, error=None, **_options):
        """Prints the current exception, or the last one."""
        error = error if isinstance(error, BaseException) else sys.exc_info()[1] or getattr(
            sys, "last_value", None)
        if error is None:
            print("No traceback available to show.", file=sys.stderr)
        else:
            traceback.print_exception(_type(error), error, errors.strip(error.__traceback__))

    def ev(self, expression):
        return eval(expression, self.user_ns)

    def ex(self, statements):
        exec(statements, self.user_ns)

    def push(self, variables, interactive=True):
        self.user_ns.update(variables)

    def set_next_input(self, text, replace=False):
        """Accepted without an effect: there is no front end with a next cell."""

    def enable_matplotlib(self, gui=None):
        return None, "agg"

    def enable_gui(self, gui=None):
        pass

    def __repr__(self):
        return "<get_ipython() of the kernel>"


ZMQInteractiveShell.__module__ = "ipykernel.zmqshell"
Shell = ZMQInteractiveShell
_shell = ZMQInteractiveShell(programs.namespace())


def get_ipython():
    return _shell


def imported_get_ipython():
    """
    IPython.get_ipython(): the shell for cells, None for libraries. A library that gets a shell
    assumes a notebook's front end; plotly, for example, would send five megabytes of JavaScript.
    """
    return _shell if _getframe(1).f_globals is _shell.user_ns else None


builtins.get_ipython = get_ipython
