"""Libraries that look for a front end, told about this one when they are imported."""

import types

from _reckon import display, figures

_HTML = "text/html"


def matplotlib_backends(module):
    """After the import of matplotlib.backends.registry: use("inline") is known."""
    registry = module.backend_registry
    registry._backend_to_gui_framework.setdefault("inline", "headless")
    registry._name_to_module.setdefault("inline", "module://matplotlib_inline.backend_inline")


def plotly_renderers(module):
    """
    After the import of plotly.io._renderers: a figure is its JSON and a small HTML page, whether it
    is a value, displayed or shown. There is no browser in a box, and the renderers for notebooks
    would first send five megabytes of JavaScript. In a notebook fig.show() also wants nbformat.
    """
    if module.nbformat is None:
        module.nbformat = types.SimpleNamespace(__version__="5.0.0")

    class Renderer(module.PlotlyRenderer):
        """application/vnd.plotly.v1+json, and HTML that loads plotly.js from its site."""

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
    """After the import of plotly.basedatatypes: a figure as a value is the cell's result."""
    del module.BaseFigure._ipython_display_


def bokeh_showing(module):
    """
    After the import of bokeh.io.showing: show() displays a whole page, which loads bokeh.js from its
    site, with output_notebook() or without. output_file() also writes its file.
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
    """After the import of bokeh.io.notebook: output_notebook() has nothing to load."""
    module.load_notebook = lambda *_arguments, **_options: None


def tqdm_notebook(module):
    """After the import of tqdm.notebook: bars of text where there are no widgets."""
    if module.IProgress is not None:
        return
    from tqdm import std

    module.tqdm = module.tqdm_notebook = std.tqdm
    module.trange = module.tnrange = std.trange


# By the module that is imported.
HOOKS = {
    "bokeh.io.notebook": bokeh_notebook,
    "bokeh.io.showing": bokeh_showing,
    "matplotlib.backends.registry": matplotlib_backends,
    "matplotlib.pyplot": figures.hook,
    "plotly.basedatatypes": plotly_figures,
    "plotly.io._renderers": plotly_renderers,
    "tqdm.notebook": tqdm_notebook,
}
