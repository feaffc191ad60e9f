"""get_ipython(): the part of IPython's shell object that notebooks and libraries use."""

import builtins
import sys

from _reckon import formatters, magics

_getframe = sys._getframe


class _Events:
    """Accepted and not called: a cell's end is the kernel's own business."""

    def register(self, event, function):
        pass

    unregister = trigger = register


class Shell:
    """What get_ipython() returns."""

    kernel = True  # pandas asks for it, and then lays tables out for a notebook
    config = {}
    colors = "nocolor"
    events = _Events()
    ast_node_interactivity = "last_expr"  # which expressions of a cell are shown
    display_formatter = formatters.display_formatter
    system = staticmethod(magics.shell)
    getoutput = staticmethod(magics.shell_lines)
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

    def run_cell(self, source, *_options, **_more):
        return magics.runner(source, 1)

    def ev(self, expression):
        return eval(expression, self.user_ns)

    def ex(self, statements):
        exec(statements, self.user_ns)

    def push(self, variables, interactive=True):
        self.user_ns.update(variables)

    def set_next_input(self, text, replace=False):
        """Accepted: there is no next cell to fill in."""

    def enable_matplotlib(self, gui=None):
        return None, "agg"

    def enable_gui(self, gui=None):
        pass

    def __repr__(self):
        return "<get_ipython() of the kernel>"


_shell = Shell(magics._namespace())


def get_ipython():
    return _shell


def imported_get_ipython():
    """
    IPython.get_ipython(): the shell for cells, None for libraries. Those that import it take a shell
    for a notebook's front end, and plotly, for one, would send five megabytes of JavaScript ahead.
    """
    return _shell if _getframe(1).f_globals is _shell.user_ns else None


builtins.get_ipython = get_ipython
