"""matplotlib figures: those shown, or open at the end of a cell, become images, once each."""

import functools
import io
import os
import sys
import weakref

from _reckon import charts, render, wire

FIGURES_MAX = 64
PIXELS_MAX = 20_000_000
CHART = "application/vnd.reckon.chart+json"
_claimed = None
_saved = weakref.WeakKeyDictionary()  # figure -> the file with its current state
_BytesIO = io.BytesIO
_FORMATS = {"png": "image/png", "retina": "image/png", "png2x": "image/png", "jpeg": "image/jpeg",
            "jpg": "image/jpeg", "svg": "image/svg+xml", "pdf": "application/pdf"}


class InlineBackend:
    """%config InlineBackend: the image formats of figures, and whether they are closed."""

    def __init__(self):
        self._formats = {"png"}
        self.print_figure_kwargs = {"bbox_inches": "tight"}
        self.close_figures = True
        self.rc = {}

    def _get_formats(self):
        return self._formats

    def _set_formats(self, names):
        names = {names} if isinstance(names, str) else set(names)
        unknown = sorted(map(str, names - set(_FORMATS)))
        if unknown or not names:
            raise ValueError(f"figure formats are {', '.join(sorted(_FORMATS))}, "
                             f"not {', '.join(unknown) or 'none'}")
        self._formats = names

    figure_formats = property(_get_formats, _set_formats)
    figure_format = property(lambda self: min(self._formats), _set_formats)

    @classmethod
    def instance(cls, **_options):
        return inline


inline = InlineBackend()


def _managers():
    """The open figures, if pyplot was ever imported."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        return []
    return list(helpers.Gcf.get_all_fig_managers())


def _is_figure(value):
    module = sys.modules.get("matplotlib.figure")
    return module is not None and isinstance(value, module.Figure)


def _fit(figure, dpi):
    """The dpi at which a figure has at most PIXELS_MAX."""
    width, height = figure.get_size_inches()
    pixels = width * height * dpi * dpi
    if pixels > PIXELS_MAX:
        dpi = max(1.0, dpi * (PIXELS_MAX / pixels) ** 0.5)
        wire.note("display_limit", f"a figure of {pixels / 1e6:.0f} megapixels was scaled to fit")
    return dpi


def _is_empty(figure):
    """Whether a figure is empty; like ipykernel, makes no image then."""
    return not (figure.axes or figure.lines or figure.texts or figure.patches or figure.images
                or figure.legends or getattr(figure, "subfigs", None))


def _is_simple(figure, options, name):
    """Whether savefig() would only draw the figure and cut its margins."""
    settings = sys.modules["matplotlib"].rcParams
    return (name == "png" and options == {"bbox_inches": "tight"}
            and type(figure.canvas).__name__ == "FigureCanvasAgg"
            and figure.get_layout_engine() is None and not settings["savefig.transparent"]
            and settings["savefig.facecolor"] == settings["savefig.edgecolor"] == "auto"
            and figure.bbox.width * figure.bbox.height <= PIXELS_MAX)


def _cut(figure):
    """
    The pixels of a figure without its margins, as with bbox_inches="tight"; None if something is
    drawn beyond its edges. savefig() draws twice for that, this only once.
    """
    canvas, numpy = figure.canvas, sys.modules["numpy"]
    matplotlib = sys.modules["matplotlib"]
    canvas.draw()
    pixels = numpy.asarray(canvas.buffer_rgba())
    height, width = pixels.shape[:2]
    dpi, tight = figure.dpi, figure.get_tightbbox(canvas.get_renderer())
    if min(tight.p0) < 0 or tight.x1 * dpi > width or tight.y1 * dpi > height:
        return None
    box = tight.padded(matplotlib.rcParams["savefig.pad_inches"])
    left, bottom = (int(edge * dpi // 1) for edge in box.p0)
    right, top = left + int(box.width * dpi), bottom + int(box.height * dpi)
    out = numpy.empty((max(1, top - bottom), max(1, right - left), 4), pixels.dtype)
    out[:] = numpy.round(255 * numpy.array(matplotlib.colors.to_rgba(figure.get_facecolor())))
    first, last = max(left, 0), min(right, width)
    upper, lower = max(height - top, 0), min(height - bottom, height)
    out[upper - height + top : lower - height + top, first - left : last - left] = (
        pixels[upper:lower, first:last])
    return out


def _print_simple(figure):
    """A PNG of a figure, or None."""
    pixels = _cut(figure)
    if pixels is None:
        return None
    from PIL import Image

    out = _BytesIO()
    Image.fromarray(pixels).save(out, "png", dpi=(figure.dpi, figure.dpi))
    return out.getvalue()


def _print(figure, name):
    """A figure in one of _FORMATS: str or bytes."""
    out = _BytesIO()
    options = dict(inline.print_figure_kwargs)
    if _is_simple(figure, options, name) and (made := _print_simple(figure)) is not None:
        return made
    dpi = options.pop("dpi", figure.dpi)
    dpi = figure.dpi if isinstance(dpi, str) else dpi
    form = {"retina": "png", "png2x": "png", "jpg": "jpeg"}.get(name, name)
    if form in ("png", "jpeg"):
        dpi = _fit(figure, dpi * (2 if name in ("retina", "png2x") else 1))
    figure.savefig(out, format=form, dpi=dpi, **options)
    return out.getvalue().decode() if form == "svg" else out.getvalue()


def as_bundle(figure):
    """A figure's bundle: its images, and its data."""
    width, height = (figure.get_size_inches() * figure.dpi).astype(int)
    axes = len(figure.axes)
    data = {"text/plain": f"<Figure size {width}x{height} with {axes} Axes>"}
    metadata = {"saved_as": _saved[figure]} if figure in _saved else {}
    if _is_empty(figure):
        return data, metadata
    for name in sorted(inline.figure_formats):
        made = _print(figure, name)
        data[_FORMATS[name]] = made
        if _FORMATS[name] == "image/png":
            part = 2 if name in ("retina", "png2x") else 1
            metadata["image/png"] = dict(zip(("width", "height"),
                                             (n // part for n in render.size_of_png(made))))
    chart = charts.extract(figure)
    if chart is not None:
        data[CHART] = chart
    return data, metadata


def _display(figure):
    """Displays a figure; returns the exception if it cannot be drawn, or None."""
    try:
        data, metadata = as_bundle(figure)
    except Exception as error:
        return error
    figure.stale = False
    render.show(wire.DISPLAY, data, metadata)
    return None


def _show_all(close, all_of_them):
    """Shows all figures; then raises the first exception."""
    failed = None
    managers = _managers()
    if not managers:
        return
    gcf = sys.modules["matplotlib._pylab_helpers"].Gcf
    for done, manager in enumerate(managers):
        figure = manager.canvas.figure
        if done < FIGURES_MAX and figure is not _claimed and (all_of_them or figure.stale):
            error = _display(figure)
            failed = failed or error
        if close:
            gcf.destroy(manager)
    if len(managers) > FIGURES_MAX:
        wire.note("display_limit",
                  f"{len(managers)} figures were open; the first {FIGURES_MAX} are shown")
    if failed is not None:
        raise failed


def flush(*_args, **_options):
    """
    Displays and closes every open figure, in order of creation. If the user keeps them open
    (InlineBackend.close_figures), displays those that changed since they were drawn.
    """
    _show_all(inline.close_figures, inline.close_figures)


def show(*_args, **_options):
    """plt.show(): displays now, without waiting for a window."""
    _show_all(True, True)


def claim(value):
    """
    Claims a figure that is the cell's value, because its RESULT shows it. Other values reset the
    claim.
    """
    global _claimed
    _claimed = value if _is_figure(value) else None


def figure(value, data, metadata):
    """For render.takers: a figure as a value."""
    if not _is_figure(value):
        return False
    made, meta = as_bundle(value)
    data.update(made)
    metadata.update(meta)
    return True


def _note_saving(figure, name):
    """Notes the file to which a figure was written, until the figure changes."""
    before = figure.stale_callback

    def changed(artist, value):
        # pyplot.savefig() draws once more, which is not a change.
        if not getattr(artist.canvas, "_is_idle_drawing", False):
            _saved.pop(artist, None)
            artist.stale_callback = before
        if before is not None:
            before(artist, value)

    path = os.path.abspath(os.fspath(name))
    if not os.path.splitext(path)[1]:
        path += "." + sys.modules["matplotlib"].rcParams["savefig.format"]
    inside = path.removeprefix("/mnt/data/")
    if inside != path and os.path.exists(path):
        _saved[figure] = inside
        figure.stale_callback = changed


def hook(pyplot):
    """After the import of pyplot."""
    pyplot.show = show
    savefig = pyplot.Figure.savefig

    @functools.wraps(savefig)
    def noted(self, fname, *arguments, **options):
        savefig(self, fname, *arguments, **options)
        if isinstance(fname, (str, os.PathLike)):
            _note_saving(self, fname)

    pyplot.Figure.savefig = noted


render.takers.append(figure)
