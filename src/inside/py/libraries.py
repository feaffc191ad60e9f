"""Hooks for libraries that look for a front end, called when they are imported."""

import ast
import os
import tempfile
import textwrap
import types

from _reckon import display, errors, figures, magics, programs

_HTML = "text/html"


def matplotlib_backends(module):
    """After the import of matplotlib.backends.registry: makes use("inline") known."""
    registry = module.backend_registry
    registry._backend_to_gui_framework.setdefault("inline", "headless")
    registry._name_to_module.setdefault("inline", "module://matplotlib_inline.backend_inline")


def plotly_renderers(module):
    """
    After the import of plotly.io._renderers: shows a figure as its JSON and a small HTML page,
    whether it is a value, displayed or shown. A box has no browser, and plotly's renderers for
    notebooks would first send five megabytes of JavaScript. fig.show() also requires nbformat in a
    notebook.
    """
    if module.nbformat is None:
        module.nbformat = types.SimpleNamespace(__version__="5.0.0")

    class Renderer(module.PlotlyRenderer):
        """application/vnd.plotly.v1+json, and HTML that loads plotly.js from its web site."""

        def to_mimebundle(self, fig_dict):
            from plotly.io import to_html

            page = to_html(fig_dict, full_html=False, include_plotlyjs="cdn", validate=False)
            return {**super().to_mimebundle(fig_dict), _HTML: page}

    renderer = Renderer()
    for name in ("plotly_mimetype", "jupyterlab", "nteract", "vscode", "notebook",
                 "notebook_connected", "browser", "firefox", "chrome", "chromium"):
        module.renderers[name] = renderer
    if not module.env_renderer:
        module.renderers.default = "plotly_mimetype"


def plotly_figures(module):
    """
    After the import of plotly.basedatatypes: a figure at the end of a cell is the cell's result.
    """
    del module.BaseFigure._ipython_display_


def bokeh_showing(module):
    """
    After the import of bokeh.io.showing: show() displays a whole page that loads bokeh.js from its
    web site, with or without output_notebook(). output_file() also writes its file.
    """

    def show(obj, state, browser, new, notebook_handle=False):
        from bokeh.embed import file_html
        from bokeh.resources import CDN

        title = state.file.title if state.file else None
        display.display({_HTML: file_html(obj, CDN, title), "text/plain": repr(obj)}, raw=True)
        if state.file:
            module.save(obj, state=state)

    module._show_with_state = show


def bokeh_notebook(module):
    """After the import of bokeh.io.notebook: output_notebook() does nothing."""
    module.load_notebook = lambda *_arguments, **_options: None


def tqdm_notebook(module):
    """After the import of tqdm.notebook: uses text bars where there are no widgets."""
    if module.IProgress is not None:
        return
    from tqdm import std

    module.tqdm = module.tqdm_notebook = std.tqdm
    module.trange = module.tnrange = std.trange


def _main_source():
    """
    The source of __main__ for a process that multiprocessing spawns: the imports, functions and
    classes of the cells so far, and plain values; none of the cells' other statements.
    """
    names, lines = programs.namespace(), []
    for name, value in list(names.items()):
        if not name.startswith("_") and type(value) in (int, float, str, bytes, bool, complex):
            lines.append(f"{name} = {value!r}" if len(repr(value)) < 100_000 else "")
    for file, source in list(errors.sources.items()):
        if not file.startswith("<cell "):
            continue
        try:
            tree = ast.parse(magics.plain("".join(source)))
        except SyntaxError:
            continue
        for node in tree.body:
            is_import = isinstance(node, (ast.Import, ast.ImportFrom))
            is_definition = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
            if is_import or (is_definition and node.name in names):
                lines.append("try:\n" + textwrap.indent(ast.unparse(node), "    ") + "\nexcept Exception: pass")
    return "\n".join(lines) + "\n"


def spawned_main(module):
    """
    After the import of multiprocessing.spawn: makes functions of cells available in new processes.
    """
    prepare = module.get_preparation_data

    def get_preparation_data(name):
        data = prepare(name)
        if not data.keys() & {"init_main_from_name", "init_main_from_path"}:
            path = os.path.join(tempfile.gettempdir(), f".main-of-cells-{os.getpid()}.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(_main_source())
            data["init_main_from_path"] = path
        return data

    module.get_preparation_data = get_preparation_data


# By the name of the imported module.
HOOKS = {
    "bokeh.io.notebook": bokeh_notebook,
    "bokeh.io.showing": bokeh_showing,
    "matplotlib.backends.registry": matplotlib_backends,
    "matplotlib.pyplot": figures.hook,
    "multiprocessing.spawn": spawned_main,
    "plotly.basedatatypes": plotly_figures,
    "plotly.io._renderers": plotly_renderers,
    "tqdm.notebook": tqdm_notebook,
}
