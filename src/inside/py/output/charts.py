"""The data of a matplotlib figure (E2B's chart schema), if it is simple to determine."""

import re
import sys
import warnings

from _reckon import render

POINTS_MAX = 10_000  # in one series; of a longer one only every nth point is sent
FIGURE_POINTS_MAX = 40_000
ELEMENTS_MAX = 1_000  # series, bars, slices or boxes of one chart
_UNIT = re.compile(r"(?:\s\((?P<round>[^)]*)\))|(?:\[(?P<square>[^\]]*)\])")


class _Unclear(Exception):
    """The axes hold something this module does not describe."""


def _module(name):
    return sys.modules[f"matplotlib.{name}"]


def _number(value):
    value = float(value)
    if value != value or value in (float("inf"), float("-inf")):
        return None
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def _unit(label):
    match = _UNIT.search(label)
    return (match["round"] or match["square"]) if match else None


def _is_date(axis):
    dates = sys.modules.get("matplotlib.dates")
    return dates is not None and isinstance(axis.get_converter() if hasattr(axis, "get_converter")
                                            else axis.converter,
                                            (dates.DateConverter, dates._SwitchableDateConverter))


def _dates(raw):
    """Dates in their original form: without a time zone if they had none."""
    out = []
    for value in raw:
        if hasattr(value, "isoformat"):
            text = value.isoformat()
        elif type(value).__name__ == "datetime64":
            text = str(value.astype("datetime64[s]"))
        else:
            text = (_module("dates").num2date(float(value)).replace(tzinfo=None).isoformat()
                    if value == value else None)
        out.append(None if text == "NaT" else text)
    return out


def _values(raw, axis):
    """Coordinates as JSON: dates as ISO text, categories by name, numbers unchanged."""
    if hasattr(raw, "filled"):  # a masked array: its gaps become NaN
        raw = raw.astype(float).filled(float("nan"))
    if _is_date(axis):
        return _dates(raw)
    units = getattr(axis, "units", None)
    mapping = getattr(units, "_mapping", None)
    if mapping:
        names = {at: name for name, at in mapping.items()}
        return [names.get(int(v), _number(v)) if float(v).is_integer() else _number(v) for v in raw]
    return [_number(v) for v in raw]


def _scale(axis):
    if _is_date(axis):
        return "datetime"
    if getattr(getattr(axis, "units", None), "_mapping", None):
        return "categorical"
    return axis.get_scale()


def _labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def _ticks(axis):
    places = axis.get_ticklocs()
    if _is_date(axis):
        num2date = _module("dates").num2date
        return [num2date(place).isoformat() for place in places], _labels(axis)
    return [_number(place) for place in places], _labels(axis)


def _base(kind, axes):
    x, y = axes.get_xlabel() or None, axes.get_ylabel() or None
    return {"type": kind, "title": axes.get_title() or None, "x_label": x, "y_label": y,
            "x_unit": _unit(x) if x else None, "y_unit": _unit(y) if y else None, "elements": []}


def _with_scales(chart, axes):
    for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
        ticks, labels = _ticks(axis)
        chart.update({f"{name}_ticks": ticks, f"{name}_tick_labels": labels,
                      f"{name}_scale": _scale(axis)})
    return chart


class _Budget:
    """The number of points of a figure that may still be sent."""

    def __init__(self):
        self.left = FIGURE_POINTS_MAX

    def series(self, label, xs, ys, axes):
        """A series: all of its points, or every nth and the total."""
        total = min(len(xs), len(ys))
        step = -(-total // max(1, min(POINTS_MAX, self.left)))
        xs, ys = (part[:total:step] if step > 1 else part[:total] for part in (xs, ys))
        self.left -= len(xs)
        found = {"label": label,
                 "points": [list(p) for p in zip(_values(xs, axes.xaxis), _values(ys, axes.yaxis))]}
        return found | {"points_total": total} if step > 1 else found


def _first(elements, chart):
    """The elements that are sent; the chart says how many there are if some are omitted."""
    if len(elements) > ELEMENTS_MAX:
        chart["elements_total"] = len(elements)
    return list(elements)[:ELEMENTS_MAX]


def _label(artist, at, word):
    text = str(artist.get_label() or "")
    return f"{word} {at}" if text.startswith("_") or not text else text


def _data(line, axis, given, plain):
    """One coordinate of a line: dates as given, else numbers."""
    return given if _is_date(axis) and len(given) == len(plain) else plain


def _lines(axes, lines, budget):
    chart = _with_scales(_base("line", axes), axes)
    for at, line in enumerate(_first(lines, chart)):
        xs = _data(line, axes.xaxis, line.get_xdata(orig=True), line.get_xdata(orig=False))
        ys = _data(line, axes.yaxis, line.get_ydata(orig=True), line.get_ydata(orig=False))
        chart["elements"].append(budget.series(_label(line, at, "Line"), xs, ys, axes))
    return chart


def _scatter(axes, collections, budget):
    chart = _with_scales(_base("scatter", axes), axes)
    for at, collection in enumerate(_first(collections, chart)):
        offsets = collection.get_offsets()
        chart["elements"].append(budget.series(_label(collection, at, "Series"), offsets[:, 0],
                                               offsets[:, 1], axes))
    return chart


def _names(axis, middles):
    """
    Labels of bars: those of the ticks if they have their own names or are at each bar, else the
    positions of the bars.
    """
    ticks = [(float(place), text) for place, text in zip(axis.get_ticklocs(), _labels(axis)) if text]
    named = type(axis.get_major_locator()).__name__ in ("FixedLocator", "StrCategoryLocator")
    if named and len(ticks) > 1:
        reach = min(abs(a[0] - b[0]) for a, b in zip(ticks, ticks[1:])) / 2
    else:
        reach = 0.5 if named else 1e-9
    names = []
    for middle in middles:
        place, text = min(ticks, key=lambda tick: abs(tick[0] - middle), default=(middle, ""))
        names.append(text if text and abs(place - middle) <= reach else None)
    if None in names and not named:
        names = [None] * len(names)
    return [name or str(_number(round(middle, 9))) for name, middle in zip(names, middles)]


def _swap(chart):
    """For a horizontal chart: swaps the labels of both axes."""
    for part in ("label", "unit"):
        chart[f"x_{part}"], chart[f"y_{part}"] = chart[f"y_{part}"], chart[f"x_{part}"]


def _bars(axes):
    chart = _base("bar", axes)
    containers = [container for container in axes.containers if hasattr(container, "patches")]
    total = sum(len(container.patches) for container in containers)
    for at, container in enumerate(containers):
        patches = container.patches[: ELEMENTS_MAX - len(chart["elements"])]
        group = _label(container, at, "Group")
        flat = getattr(container, "orientation", "vertical") == "horizontal"
        middles = [patch.get_y() + patch.get_height() / 2 if flat
                   else patch.get_x() + patch.get_width() / 2 for patch in patches]
        for patch, name in zip(patches, _names(axes.yaxis if flat else axes.xaxis, middles)):
            value = patch.get_width() if flat else patch.get_height()
            chart["elements"].append({"label": name, "group": group, "value": _number(value)})
        if flat and at == 0:
            _swap(chart)
    if total > len(chart["elements"]):
        chart["elements_total"] = total
    return chart


def _pie(axes, wedges):
    texts = [t.get_text() for t in axes.texts if t.get_text()]
    elements = []
    for at, wedge in enumerate(wedges[:ELEMENTS_MAX]):
        label = wedge.get_label()
        if not label or label.startswith("_"):
            label = texts[at] if at < len(texts) else ""
        angle = round(abs(wedge.theta2 - wedge.theta1), 4)
        elements.append({"label": label, "angle": _number(angle), "radius": _number(wedge.r)})
    chart = {"type": "pie", "title": axes.get_title() or None, "elements": elements}
    return chart | {"elements_total": len(wedges)} if len(wedges) > len(elements) else chart


def _boxes(axes, patches, lines):
    """boxplot(patch_artist=True): each box has two whiskers, two caps, a median (and fliers)."""
    per = len(lines) // len(patches)
    if per not in (5, 6) or per * len(patches) != len(lines):
        raise _Unclear("not a box plot")
    chart = _base("box_and_whisker", axes)
    first = lines[2]  # a cap, which is perpendicular to the values
    flat = first.get_xdata()[0] == first.get_xdata()[-1] != first.get_ydata()[-1]
    flat = flat and first.get_ydata()[0] != first.get_ydata()[-1]
    labels = _labels(axes.yaxis if flat else axes.xaxis)
    for at, patch in enumerate(_first(patches, chart)):
        own = lines[at * per : (at + 1) * per]
        values = [line.get_xdata() if flat else line.get_ydata() for line in own]
        sides = sorted(round(float(v), 9) for v in patch.get_path().vertices[:, 0 if flat else 1])
        caps = [_number(value[0]) for value in values[2:4]]
        chart["elements"].append({
            "label": labels[at] if at < len(labels) and labels[at] else str(at + 1),
            "min": min(caps), "first_quartile": _number(sides[0]),
            "median": _number(values[4][0]), "third_quartile": _number(sides[-1]),
            "max": max(caps),
            "outliers": [_number(v) for v in values[5][:ELEMENTS_MAX]] if per == 6 else []})
    if flat:
        _swap(chart)
    return chart


def _is_reference(line, axes):
    """axhline() and similar: one of the coordinates is not data."""
    return line.get_transform() != axes.transData


def _is_flat(line):
    xs, ys = line.get_xdata(orig=False), line.get_ydata(orig=False)
    return len(xs) == 2 and (xs[0] == xs[1] or ys[0] == ys[1])


def _axes(axes, budget):
    drawn = [line for line in axes.lines if not _is_reference(line, axes)]
    lines = [line for line in drawn if len(drawn) == 1 or len(line.get_xdata())]
    patches = list(axes.patches)
    # Error bars and bands are ignored.
    accompanying = ["LineCollection"] if lines or patches else []
    accompanying += ["PolyCollection", "FillBetweenPolyCollection"] if lines else []
    collections = [c for c in axes.collections if type(c).__name__ not in accompanying]
    kinds = {type(p).__name__ for p in patches}
    if axes.name == "3d" or axes.images:
        return _unknown(axes)
    if not patches and not collections:
        return _lines(axes, [line for line in lines if not _is_flat(line)] or lines, budget)
    if kinds == {"PathPatch"} and lines:
        return _boxes(axes, patches, drawn)
    lines = [line for line in lines if not _is_flat(line)]
    if collections and not patches and not lines and all(
            type(c).__name__ == "PathCollection" for c in collections):
        return _scatter(axes, collections, budget)
    if kinds == {"Wedge"} and not collections:
        return _pie(axes, patches)
    if kinds == {"Rectangle"} and axes.containers and not lines and not collections:
        return _bars(axes)
    return _unknown(axes)


def _unknown(axes):
    return {"type": "unknown", "title": axes.get_title() or None, "elements": []}


def _chart(axes, budget):
    try:
        return _axes(axes, budget)
    except Exception:  # an artist that is not what it seems
        return _unknown(axes)


def extract(figure):
    """The chart as JSON text, or None if there is no data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about things that only this module reads
        return _extract(figure)


def _extract(figure):
    try:
        every = figure.axes
        if not any(axes.has_data() for axes in every):
            return None
        budget = _Budget()
        charts = [_chart(axes, budget) for axes in every[:ELEMENTS_MAX]]
        chart = charts[0]
        if len(charts) > 1:
            title = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
            chart = {"type": "superchart", "title": title or None, "elements": charts}
        return render.dumps(chart)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
