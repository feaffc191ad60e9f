"""Puts IPython and matplotlib_inline into sys.modules, for templates without them."""

import os
import re
import sys
import types

from _reckon import (
    capture, display, events, figures, formatters, magics, magics_more, objects, pretty, programs,
    shell)

_assignment = re.compile(r"\s*(\w+)\.(\w+)\s*=\s*(.+)", re.DOTALL).fullmatch


def config(rest):
    """InlineBackend and ast_node_interactivity have an effect; other settings are accepted."""
    targets = {"InlineBackend": figures.inline, "InteractiveShell": shell.get_ipython(),
               "ZMQInteractiveShell": shell.get_ipython(),
               "PlainTextFormatter": formatters.display_formatter.formatters["text/plain"]}
    found = _assignment(rest)
    if found is None:
        if rest.strip() == "InlineBackend":
            for name in ("close_figures", "figure_formats", "print_figure_kwargs", "rc"):
                print(f"InlineBackend.{name} = {getattr(figures.inline, name)!r}")
        return
    target, name = targets.get(found[1]), found[2]
    if target is None or not hasattr(target, name):
        return
    setattr(target, name, eval(found[3], shell.get_ipython().user_ns))


def set_matplotlib_formats(*formats, **options):
    """Set the formats of figures: 'png', 'retina', 'jpeg', 'svg', 'pdf'."""
    figures.inline.figure_formats = set(formats)
    figures.inline.print_figure_kwargs = {**figures.inline.print_figure_kwargs, **options}


def set_matplotlib_close(close=True):
    figures.inline.close_figures = bool(close)


def select_figure_formats(_shell, formats, **options):
    set_matplotlib_formats(*({formats} if isinstance(formats, str) else formats), **options)


def print_figure(figure, fmt="png", bbox_inches="tight", base64=False, **options):
    """A figure as an image: bytes, or text for SVG; base64 text if base64=True."""
    import binascii
    import io

    out = io.BytesIO()
    figure.savefig(out, format=fmt, bbox_inches=bbox_inches, **options)
    if fmt == "svg":
        return out.getvalue().decode()
    return binascii.b2a_base64(out.getvalue()).decode() if base64 else out.getvalue()


def figsize(width, height):
    """Set the default size of figures, in inches."""
    import matplotlib

    matplotlib.rcParams["figure.figsize"] = [width, height]


def latex_to_png(text, encode=False, backend=None, wrap=False, color="black", scale=1.0):
    """A formula as an image, drawn by matplotlib; None if it cannot parse it."""
    import base64
    import io

    from matplotlib import font_manager, mathtext

    text = text.replace("$$", "$").replace("\\displaystyle", "")
    out = io.BytesIO()
    try:
        mathtext.math_to_image(f"${text}$" if wrap else text, out, dpi=120 * scale, format="png",
                               prop=font_manager.FontProperties(size=12), color=color)
    except ValueError:
        return None
    return base64.encodebytes(out.getvalue()) if encode else out.getvalue()


def _register(kind):
    """register_line_magic and similar decorators, with or without a name."""

    def decorate(function, name=None):
        if isinstance(function, str):
            return lambda real: decorate(real, function)
        magics.register(function, kind, name or function.__name__)
        return function

    return decorate


def _mark(kind):
    """line_magic and similar decorators, for methods of a Magics class."""

    def decorate(function=None, name=None):
        if isinstance(function, str):
            return lambda real: decorate(real, function)
        if function is None:
            return decorate
        function._magic = (kind, name or function.__name__)
        return function

    return decorate


class Magics:
    """Base class for magics; get_ipython().register_magics() registers them."""

    def __init__(self, shell=None, **_options):
        self.shell = shell

    def plant(self):
        for name in dir(type(self)):
            marked = getattr(getattr(type(self), name), "_magic", None)
            if marked is not None:
                magics.register(getattr(self, name), *marked)


def register_magics(*many):
    """Implements get_ipython().register_magics()."""
    for magic in many:
        (magic(shell.get_ipython()) if isinstance(magic, type) else magic).plant()


shell.Shell.register_magics = staticmethod(register_magics)
shell.Shell.display_pub = types.SimpleNamespace(publish=display.publish_display_data,
                                                clear_output=display.clear_output)
magics.register(config, "line", "config")


class _Terminal:
    """TerminalInteractiveShell; the session's shell is not one."""


def _module(name, **names):
    module = types.ModuleType(name, "A part of IPython's interface, made by the kernel.")
    module.__path__ = []
    vars(module).update(names)
    sys.modules[name] = module
    parent, _, own = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], own, module)


def _canvas(name):
    """Members that make matplotlib_inline.backend_inline a backend, loaded on demand."""
    if name not in ("FigureCanvas", "FigureManager", "new_figure_manager"):
        raise AttributeError(name)
    from matplotlib.backends import backend_agg

    return getattr(backend_agg, name)


def fake_inline():
    """Creates matplotlib_inline."""
    _module("matplotlib_inline", __version__="0.2.0")
    _module("matplotlib_inline.config", InlineBackend=figures.InlineBackend)
    _module("matplotlib_inline.backend_inline", set_matplotlib_formats=set_matplotlib_formats,
            set_matplotlib_close=set_matplotlib_close, flush_figures=figures.flush,
            show=figures.show, InlineBackend=figures.InlineBackend, __getattr__=_canvas)


def fake():
    """Creates IPython and its modules."""
    session = shell.Shell
    core = {kind.__name__: kind for kind in objects.IN_CORE}
    lib = {kind.__name__: kind for kind in objects.IN_LIB}
    functions = display.FUNCTIONS
    _module("IPython", get_ipython=shell.imported_get_ipython, InteractiveShell=session,
            __version__="9.0.0", version_info=(9, 0, 0))
    _module("IPython.display", **core, **lib, **functions, **display.BY_MIME,
            DisplayHandle=display.DisplayHandle, set_matplotlib_formats=set_matplotlib_formats,
            set_matplotlib_close=set_matplotlib_close)
    _module("IPython.core")
    _module("IPython.core.display", **core, **functions, **display.BY_MIME)
    _module("IPython.core.display_functions", **functions, DisplayHandle=display.DisplayHandle)
    _module("IPython.core.getipython", get_ipython=shell.imported_get_ipython)
    _module("IPython.core.interactiveshell", InteractiveShell=session)
    _module("IPython.core.error", UsageError=magics.UsageError)
    _module("IPython.core.magic", Magics=Magics, magics_class=lambda kind: kind,
            register_line_magic=_register("line"), register_cell_magic=_register("cell"),
            register_line_cell_magic=_register("line_cell"), line_magic=_mark("line"),
            cell_magic=_mark("cell"), line_cell_magic=_mark("line_cell"))
    _module("IPython.core.magic_arguments", MagicArgumentParser=magics_more.MagicArgumentParser,
            magic_arguments=magics_more.magic_arguments, argument=magics_more.argument,
            argument_group=magics_more.argument_group, defaults=magics_more.defaults,
            kwds=magics_more.kwds, parse_argstring=magics_more.parse_argstring,
            construct_parser=magics_more.construct_parser)
    _module("IPython.core.events", EventManager=events.EventManager)
    _module("IPython.core.pylabtools", figsize=figsize, print_figure=print_figure,
            select_figure_formats=select_figure_formats)
    _module("IPython.terminal")
    _module("IPython.terminal.interactiveshell", TerminalInteractiveShell=_Terminal)
    _module("IPython.utils")
    for name in ("capture", "io"):
        _module(f"IPython.utils.{name}", capture_output=capture.capture_output)
    _module("IPython.lib", **lib)
    _module("IPython.lib.display", **lib)
    _module("IPython.lib.latextools", latex_to_png=latex_to_png)
    _module("IPython.lib.pretty", pretty=pretty.library_pretty, pprint=pretty.library_pprint,
            PrettyPrinter=pretty.LibraryPrinter, RepresentationPrinter=pretty.LibraryPrinter,
            for_type=pretty.library_for_type, for_type_by_name=pretty.library_for_type_by_name)
    _module("IPython.paths", get_ipython_dir=lambda: os.path.expanduser("~/.ipython"))
    _module("IPython.core.macro", Macro=magics.Macro)
    _module("IPython.utils.text", SList=programs.SList)
    sys.modules["IPython"].display = sys.modules["IPython.display"]
