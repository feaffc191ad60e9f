"""The data of a matplotlib figure (E2B's chart schema), where it is straightforward to tell."""

import re
import sys

from _reckon import render

POINTS_MAX = 10_000
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


def _values(raw, axis):
    """Coordinates as JSON: dates as ISO text, categories by name, numbers as they are."""
    if _is_date(axis):
        num2date = _module("dates").num2date
        return [num2date(v).isoformat() if v == v else None for v in map(float, raw)]
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


def _ticks(axis):
    ticks = list(axis.get_ticklocs())
    labels = [label.get_text() for label in axis.get_ticklabels()]
    return _values(ticks, axis) if _is_date(axis) else [_number(t) for t in ticks], labels


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


def _points(xs, ys, axes):
    if len(xs) > POINTS_MAX:
        raise _Unclear("too many points")
    return [list(p) for p in zip(_values(xs, axes.xaxis), _values(ys, axes.yaxis))]


def _label(artist, at, word):
    text = str(artist.get_label() or "")
    return f"{word} {at}" if text.startswith("_") or not text else text


def _lines(axes, lines):
    chart = _with_scales(_base("line", axes), axes)
    for at, line in enumerate(lines):
        xs, ys = line.get_xdata(orig=False), line.get_ydata(orig=False)
        chart["elements"].append({"label": _label(line, at, "Line"), "points": _points(xs, ys, axes)})
    return chart


def _scatter(axes, collections):
    chart = _with_scales(_base("scatter", axes), axes)
    for at, collection in enumerate(collections):
        offsets = collection.get_offsets()
        points = _points(offsets[:, 0], offsets[:, 1], axes)
        chart["elements"].append({"label": _label(collection, at, "Series"), "points": points})
    return chart


def _bars(axes):
    chart = _base("bar", axes)
    for at, container in enumerate(axes.containers):
        patches = container.patches
        group = _label(container, at, "Group")
        flat = getattr(container, "orientation", "vertical") == "horizontal"
        axis = axes.yaxis if flat else axes.xaxis
        names = dict(zip(map(_number, axis.get_ticklocs()),
                         [label.get_text() for label in axis.get_ticklabels()]))
        for patch in patches:
            middle = (patch.get_y() + patch.get_height() / 2 if flat
                      else patch.get_x() + patch.get_width() / 2)
            value = patch.get_width() if flat else patch.get_height()
            name = names.get(_number(round(middle, 9))) or str(_number(round(middle, 9)))
            chart["elements"].append({"label": name, "group": group, "value": _number(value)})
        if flat and at == 0:
            for part in ("label", "unit"):
                chart[f"x_{part}"], chart[f"y_{part}"] = chart[f"y_{part}"], chart[f"x_{part}"]
    return chart


def _pie(axes, wedges):
    texts = [t.get_text() for t in axes.texts if t.get_text()]
    elements = []
    for at, wedge in enumerate(wedges):
        label = wedge.get_label()
        if not label or label.startswith("_"):
            label = texts[at] if at < len(texts) else ""
        angle = round(abs(wedge.theta2 - wedge.theta1), 4)
        elements.append({"label": label, "angle": _number(angle), "radius": _number(wedge.r)})
    return {"type": "pie", "title": axes.get_title() or None, "elements": elements}


def _boxes(axes, patches, lines):
    """boxplot(patch_artist=True): per box two whiskers, two caps, a median (and fliers)."""
    per = len(lines) // len(patches)
    if per not in (5, 6) or per * len(patches) != len(lines):
        raise _Unclear("not a box plot")
    chart = _base("box_and_whisker", axes)
    labels = [label.get_text() for label in axes.get_xticklabels()]
    for at, patch in enumerate(patches):
        ys = sorted({round(float(y), 9) for y in patch.get_path().vertices[:, 1]})
        own = lines[at * per : (at + 1) * per]
        caps = [_number(line.get_ydata()[0]) for line in own[2:4]]
        outliers = [_number(v) for v in own[5].get_ydata()] if per == 6 else []
        chart["elements"].append({
            "label": labels[at] if at < len(labels) and labels[at] else str(at + 1),
            "min": min(caps), "first_quartile": _number(ys[0]),
            "median": _number(own[4].get_ydata()[0]), "third_quartile": _number(ys[-1]),
            "max": max(caps), "outliers": outliers})
    return chart


def _is_grid(line):
    xs, ys = line.get_xdata(orig=False), line.get_ydata(orig=False)
    return len(xs) == 2 and (xs[0] == xs[1] or ys[0] == ys[1])


def _axes(axes):
    lines = list(axes.lines)
    patches = list(axes.patches)
    collections = list(axes.collections)
    kinds = {type(p).__name__ for p in patches}
    if lines and not patches and not collections:
        return _lines(axes, lines)
    if kinds == {"PathPatch"} and lines:
        return _boxes(axes, patches, lines)
    lines = [line for line in lines if not _is_grid(line)]
    if collections and not patches and not lines and all(
            type(c).__name__ == "PathCollection" for c in collections):
        return _scatter(axes, collections)
    if kinds == {"Wedge"}:
        return _pie(axes, patches)
    if kinds == {"Rectangle"} and axes.containers and not lines and not collections:
        return _bars(axes)
    return {"type": "unknown", "title": axes.get_title() or None, "elements": []}


def extract(figure):
    """The chart as JSON text, or None when there is nothing to tell."""
    try:
        charts = [_axes(axes) for axes in figure.axes if axes.has_data()]
        if not charts:
            return None
        chart = charts[0]
        if len(charts) > 1:
            title = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
            chart = {"type": "superchart", "title": title or None, "elements": charts}
        return render.dumps(chart)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None
