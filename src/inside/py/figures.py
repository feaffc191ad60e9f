"""matplotlib figures: those open at the end of a cell, or shown, become images, once each."""

import io
import sys

from _reckon import charts, pretty, render, wire

FIGURES_MAX = 64
PIXELS_MAX = 20_000_000
_claimed = None
_BytesIO = io.BytesIO


def _managers():
    """The open figures, if pyplot was ever imported."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return []
    return list(helpers.Gcf.get_all_fig_managers())


def _is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def _fit(figure):
    """The dpi at which a figure stays within PIXELS_MAX."""
    width, height = figure.get_size_inches()
    dpi = figure.dpi
    pixels = width * height * dpi * dpi
    if pixels > PIXELS_MAX:
        dpi = max(1.0, dpi * (PIXELS_MAX / pixels) ** 0.5)
        wire.note("display_limit", f"a figure of {pixels / 1e6:.0f} megapixels was scaled to fit")
    return dpi


def _size_of(png):
    """Width and height from a PNG's first chunk."""
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def as_bundle(figure):
    axes = len(figure.axes)
    full_width, full_height = (figure.get_size_inches() * figure.dpi).astype(int)
    text = f"<Figure size {full_width}x{full_height} with {axes} Axes>"
    if axes == 0 and not figure.lines:
        return {"text/plain": text}, {}  # nothing to see, as in a notebook
    out = _BytesIO()
    figure.savefig(out, format="png", dpi=_fit(figure), bbox_inches="tight")
    png = out.getvalue()
    width, height = _size_of(png)
    data = {"text/plain": text, "image/png": png}
    chart = charts.extract(figure)
    if chart is not None:
        data["application/vnd.reckon.chart+json"] = chart
    return data, {"image/png": {"width": width, "height": height}}


def _display(figure):
    try:
        data, metadata = as_bundle(figure)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        wire.note("display_failed", f"figure: {pretty.describe(error)}")
        return
    render.show(wire.DISPLAY, data, metadata)


def flush(*_args, **_options):
    """Displays and closes every open figure, in the order of their making."""
    managers = _managers()
    if not managers:
        return
    gcf = sys.modules["matplotlib._pylab_helpers"].Gcf
    for done, manager in enumerate(managers):
        figure = manager.canvas.figure
        if done < FIGURES_MAX and figure is not _claimed:
            _display(figure)
        gcf.destroy(manager)
    if len(managers) > FIGURES_MAX:
        wire.note("display_limit",
                  f"{len(managers)} figures were open; the first {FIGURES_MAX} are shown")


def claim(value):
    """Remembers a figure that is the cell's value: its RESULT shows it."""
    global _claimed
    if not _is_figure(value):
        return False
    _claimed = value
    return True


def release(_value, claimed):
    global _claimed
    if claimed:
        _claimed = None


def extra(value, data, metadata):
    """For render.extras: a figure as a value."""
    if _is_figure(value):
        made, meta = as_bundle(value)
        data.update(made)
        metadata.update(meta)


def hook(pyplot):
    """After the import of pyplot: plt.show() displays now; no window is ever waited for."""

    def show(*_args, **_options):
        flush()

    pyplot.show = show


render.extras.append(extra)
