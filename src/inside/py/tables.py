"""DataFrames and Series as data: application/vnd.reckon.table+json; and pictures of PIL."""

import io
import sys

from _reckon import render

ROWS_MAX = 200
COLUMNS_MAX = 200
TABLE = "application/vnd.reckon.table+json"


def _plain(value):
    """A cell of a table as JSON."""
    if value is None or isinstance(value, (bool, str)):
        return value if not isinstance(value, str) else value[:2000]
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        value = float(value)
        return value if value - value == 0 else None
    if hasattr(value, "isoformat"):
        text = value.isoformat()
        return None if text == "NaT" else text
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return _plain(value.item())
    text = str(value)
    return None if text in ("<NA>", "NaT", "nan") else text[:2000]


def _name(value):
    return value if isinstance(value, str) else str(value)


def _table(frame):
    shown = frame.iloc[:ROWS_MAX, :COLUMNS_MAX]
    columns = [{"name": _name(name), "dtype": str(dtype)}
               for name, dtype in zip(shown.columns, shown.dtypes)]
    parts = [[_plain(v) for v in shown.iloc[:, at]] for at in range(shown.shape[1])]
    index = {"name": None if frame.index.name is None else _name(frame.index.name),
             "dtype": str(frame.index.dtype), "values": [_plain(v) for v in shown.index]}
    return {"columns": columns, "index": index,
            "data": [list(row) for row in zip(*parts)] if parts else [[] for _ in shown.index],
            "rows": len(frame), "shown": len(shown), "columns_total": frame.shape[1]}


def table(value, data, metadata):
    """For render.extras."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, (pandas.DataFrame, pandas.Series)):
        return
    frame = value
    if isinstance(value, pandas.Series):
        frame = value.iloc[:ROWS_MAX].to_frame("" if value.name is None else value.name)
    made = _table(frame)
    made["rows"] = len(value)
    data[TABLE] = render.dumps(made)


def picture(value, data, metadata):
    """For render.extras: PIL images of versions without _repr_png_ for their mode."""
    image = sys.modules.get("PIL.Image")
    if image is None or not isinstance(value, image.Image) or "image/png" in data:
        return
    out = io.BytesIO()
    (value if value.mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I") else value.convert("RGB")
     ).save(out, "PNG")
    data["image/png"] = out.getvalue()


def size_of_picture(value, data, metadata):
    """For render.extras: width and height of a PNG, so that nobody has to parse it."""
    png = data.get("image/png")
    if png is not None and png[:4] == b"\x89PNG" and len(png) > 24:
        metadata.setdefault("image/png", {}).update({
            "width": int.from_bytes(png[16:20], "big"),
            "height": int.from_bytes(png[20:24], "big")})


render.extras += [table, picture, size_of_picture]
