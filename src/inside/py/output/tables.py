"""DataFrames, lists and dicts as data, application/vnd.reckon.…+json; and PIL images."""

import io
import json
import sys

from _reckon import render, wire

ROWS_MAX = 200
COLUMNS_MAX = 200
PIXELS_MAX = 20_000_000
_dumps = json.dumps  # before user code can replace it
_PNG_MODES = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
TABLE = "application/vnd.reckon.table+json"
VALUE = "application/vnd.reckon.value+json"
VALUE_PARTS_MAX = 10_000  # values, including keys, in a list or dict that is sent as data
VALUE_BYTES_MAX = 256 << 10
VALUE_LEVELS_MAX = 50


def _plain(value):
    """A cell of a table as JSON."""
    if value is None or isinstance(value, (bool, str)):
        return value if not isinstance(value, str) else value[:2000]
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        value = float(value)
        return value if value - value == 0 else None
    if isinstance(value, tuple):  # of a MultiIndex
        return [_plain(part) for part in value[:20]]
    if hasattr(value, "isoformat"):
        text = value.isoformat()
        return None if text == "NaT" else text
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return _plain(value.item())
    text = str(value)
    return None if text in ("<NA>", "NaT", "nan") else text[:2000]


def _column(values):
    """A pandas column: numbers of numpy at once, anything else value by value."""
    kind = values.dtype.kind if type(values.dtype).__module__.startswith("numpy") else "O"
    if kind in "iub":
        return values.to_numpy().tolist()
    if kind == "f":
        return [v if v - v == 0 else None for v in values.to_numpy().tolist()]
    return [_plain(v) for v in values]


def _name(value):
    return value if isinstance(value, str) else str(value)


def _table(frame):
    shown = frame.iloc[:ROWS_MAX, :COLUMNS_MAX]
    columns = [{"name": _name(name), "dtype": str(dtype)}
               for name, dtype in zip(shown.columns, shown.dtypes)]
    parts = [_column(shown.iloc[:, at]) for at in range(shown.shape[1])]
    name = frame.index.name if frame.index.nlevels == 1 else ", ".join(
        "" if part is None else _name(part) for part in frame.index.names)
    index = {"name": None if name is None else _name(name),
             "dtype": str(frame.index.dtype), "values": _column(shown.index)}
    return {"columns": columns, "index": index,
            "data": [list(row) for row in zip(*parts)] if parts else [[] for _ in shown.index],
            "rows": len(frame), "shown": len(shown), "columns_total": frame.shape[1]}


def _polars_table(frame):
    shown = frame[:ROWS_MAX, :COLUMNS_MAX]
    columns = [{"name": name, "dtype": str(dtype)}
               for name, dtype in zip(shown.columns, shown.dtypes)]
    return {"columns": columns, "index": None,
            "data": [[_plain(v) for v in row] for row in shown.rows()],
            "rows": frame.height, "shown": shown.height, "columns_total": frame.width}


def _arrow_table(frame):
    shown = frame.slice(0, ROWS_MAX).select(list(range(min(frame.num_columns, COLUMNS_MAX))))
    parts = [[_plain(v) for v in column.to_pylist()] for column in shown.columns]
    return {"columns": [{"name": field.name, "dtype": str(field.type)} for field in shown.schema],
            "index": None, "data": [list(row) for row in zip(*parts)],
            "rows": frame.num_rows, "shown": shown.num_rows, "columns_total": frame.num_columns}


def _other_table(value):
    """A polars or Arrow table, which has no index."""
    polars, arrow = sys.modules.get("polars"), sys.modules.get("pyarrow")
    if polars is not None and isinstance(value, polars.DataFrame):
        return _polars_table(value)
    if polars is not None and isinstance(value, polars.Series):
        return _polars_table(value[:ROWS_MAX].to_frame()) | {"rows": len(value)}
    if arrow is not None and isinstance(value, arrow.Table):
        return _arrow_table(value)
    return None


def table(value, data, metadata):
    """For render.extras."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, (pandas.DataFrame, pandas.Series)):
        made = _other_table(value)
        if made is not None:
            data[TABLE] = render.dumps(made)
        return
    frame = value
    if isinstance(value, pandas.Series):
        frame = value.iloc[:ROWS_MAX].to_frame("" if value.name is None else value.name)
    made = _table(frame)
    made["rows"] = len(value)
    data[TABLE] = render.dumps(made)


class _NoData(Exception):
    """A value that JSON cannot represent, or that is too large."""


def _exact(value, left, level=0):
    """A value as JSON represents it; only keys and dates are converted to text."""
    left[0] -= 1
    kind = type(value)
    if left[0] < 0 or level > VALUE_LEVELS_MAX:
        raise _NoData
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return value if value - value == 0 else None
    if kind is list or kind is tuple:
        return [_exact(part, left, level + 1) for part in value]
    if kind is dict:
        return {_key(key): _exact(part, left, level + 1) for key, part in value.items()}
    if kind.__module__ == "datetime" and hasattr(value, "isoformat"):
        return value.isoformat()
    if kind.__module__ == "numpy" and hasattr(value, "tolist"):
        if value.size > left[0] or value.dtype.kind not in "biufU":
            raise _NoData
        return _exact(value.tolist(), left, level + 1)
    raise _NoData


def _key(key):
    if type(key) is str:
        return key
    if key is None or type(key) in (bool, int, float):
        return _dumps(key)
    raise _NoData


def plain_value(value, data, metadata):
    """
    For render.extras: a list or dict of plain values, for clients that read data instead of text.
    """
    if type(value) not in (list, dict) or len(value) > VALUE_PARTS_MAX:
        return
    try:
        text = _dumps(_exact(value, [VALUE_PARTS_MAX]), allow_nan=False)
    except (_NoData, ValueError):  # a number with more digits than Python converts to text
        return
    if len(text) <= VALUE_BYTES_MAX:
        data[VALUE] = text


def _bounded(image):
    """An image of at most PIXELS_MAX."""
    width, height = image.size
    if width * height <= PIXELS_MAX:
        return image
    wire.note("display_limit",
              f"an image of {width * height / 1e6:.0f} megapixels was scaled to fit")
    part = (PIXELS_MAX / (width * height)) ** 0.5
    return image.resize((max(1, int(width * part)), max(1, int(height * part))))


def _as_png(image):
    """An image in a mode that PNG supports."""
    # numbers of any range: the lowest becomes black, the highest white
    if image.mode in ("I", "F"):
        low, high = image.getextrema()
        if low < 0 or high > 255:
            factor = 255 / ((high - low) or 1)
            image = image.convert("F").point(lambda value: value * factor - low * factor)
        return image.convert("L")
    if image.mode in ("La", "RGBa"):
        return image.convert(image.mode[:-1] + "A")
    return image if image.mode in _PNG_MODES else image.convert("RGB")


def picture(value, data, metadata):
    """For render.takers: PIL images that PIL's own hooks refuse, or would make too large."""
    module = sys.modules.get("PIL.Image")
    if module is None or not isinstance(value, module.Image) or (
            value.mode in _PNG_MODES and value.width * value.height <= PIXELS_MAX):
        return False
    out = io.BytesIO()
    _bounded(_as_png(value)).save(out, "PNG")
    data["image/png"] = out.getvalue()
    return True


def size_of_picture(value, data, metadata):
    """For render.extras: width and height of a PNG, so that clients need not parse it."""
    png = data.get("image/png")
    size = render.size_of_png(png) if png is not None else None
    about = metadata.setdefault("image/png", {}) if size else {}
    if size and "width" not in about and "height" not in about:
        about["width"], about["height"] = size


render.takers.append(picture)
render.extras += [table, plain_value, size_of_picture]
