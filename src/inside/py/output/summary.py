"""Large tables, arrays and containers in a few lines for a model: text/vnd.reckon.summary."""

import reprlib
import sys

from _reckon import pretty, render

MIME = "text/vnd.reckon.summary"
BYTES_MAX = 4096
PLAIN_MAX = 2048  # a shorter text that is complete needs no summary
ELEMENTS_MAX = 1_000_000  # of larger values a sample is used
COLUMNS_MAX = 30
DISTINCT_MAX = 20_000  # values that are counted individually
NAME_MAX = 40
ITEMS_TYPED = 1000

_type = type
_short = reprlib.Repr()
_short.maxlevel = 3
_short.maxlist = _short.maxtuple = _short.maxdict = _short.maxset = _short.maxfrozenset = 5
_short.maxstring = _short.maxother = 80
_short.maxlong = 40


def _real(module, name):
    """The class in an imported module, or None: nothing is imported for a summary."""
    return getattr(sys.modules.get(module), name, None)


def _is(value, module, *names):
    return any(_type(value) is _real(module, name) for name in names)


def _word(value, limit=NAME_MAX):
    """A name or value in one line."""
    text = value if _type(value) is str else _short.repr(value)
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _count(number, word):
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _bytes(size):
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:,.0f} {unit}" if unit == "bytes" or size >= 10 else f"{size:.1f} {unit}"
        size /= 1000


def _number(value):
    """A number in a short form without losing important digits."""
    if hasattr(value, "item"):
        value = value.item()
    if _type(value) is float:
        return f"{value:.6g}"
    return f"{value:,}" if _type(value) is int else _word(str(value))


def _fit(lines, room=BYTES_MAX):
    """As many lines as fit, and a note about the others."""
    out, used = [], 0
    for at, line in enumerate(lines):
        size = len(line.encode("utf-8", "replace")) + 1
        if used + size > room - 40 and at + 1 < len(lines):
            out.append(f"… {len(lines) - at} more lines of this summary")
            break
        if used + size > room:
            break
        out.append(line)
        used += size
    return out


def _indent(text):
    return ["  " + line for line in text.split("\n")]


# ---- columns ---------------------------------------------------------------------------------


def _span(column):
    low, high = column.min(), column.max()
    return f"{_word(str(low))} to {_word(str(high))}"


def _distinct(column):
    """A column of strings: the number of distinct values, the most frequent one, some of them."""
    counts = column.iloc[:DISTINCT_MAX].value_counts()
    if len(counts) == 0:
        return ""
    text = f"{len(counts):,} distinct"
    if len(column) > DISTINCT_MAX:
        text += f" in the first {DISTINCT_MAX:,}"
    if len(counts) == 1:
        return f"{text}: {_word(counts.index[0], 24)!r}"
    if counts.iloc[0] > 1:
        text += f", top {_word(counts.index[0], 24)!r} x {counts.iloc[0]:,}"
    shown = [repr(_word(v, 16)) for v in counts.index[1:4]]
    return text + f"; {', '.join(shown)}" + (", …" if len(counts) > 4 else "")


def _describe(column):
    """Describes the values of a pandas column; only uses its sample."""
    kind = column.dtype.kind
    if kind == "b":
        return f"{int(column.sum()):,} true"
    if kind in "iuf" and column.count():
        low, high = column.min(), column.max()
        if low == high:
            return f"all {_number(low)}"
        return f"min {_number(low)}, mean {_number(column.mean())}, max {_number(high)}"
    if kind in "mM" and column.count():
        return _span(column)
    infer = _real("pandas", "api").types.infer_dtype
    if str(column.dtype) in ("string", "str", "category") or \
            infer(column.iloc[:DISTINCT_MAX], skipna=True) in ("string", "boolean"):
        return _distinct(column)
    types = {_type(v).__name__ for v in column.iloc[:ITEMS_TYPED]}
    return "of " + ", ".join(sorted(types)[:4])


def _guarded(function, *args):
    try:
        return function(*args)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return ""


def _column_line(name, column, rows, step):
    present = _guarded(column.count)
    parts = [str(column.dtype)]
    if present != "" and present < len(column):
        missing = len(column) - present
        share = f"{missing:,} missing" if step == 1 else f"{missing / len(column):.1%} missing"
        parts.append(share)
    description = _guarded(_describe, column)
    if description:
        parts.append(description)
    return f"  {_word(name)}: {'; '.join(parts)}"


def _other_columns(dtypes):
    counts = {}
    for dtype in dtypes:
        counts[str(dtype)] = counts.get(str(dtype), 0) + 1
    kinds = ", ".join(f"{dtype} x {n:,}" for dtype, n in sorted(counts.items())[:6])
    return f"  … {sum(counts.values()):,} more columns: {kinds}"


def _index_line(index):
    if len(index) == 0:
        return "index: empty"
    name = f" {_word(index.name)!r}" if index.name is not None else ""
    ends = f"{_word(index[0])} to {_word(index[-1])}"
    return f"index:{name} {_type(index).__name__}, {ends}"


def _rows(frame, room):
    """The first and last rows, as many as fit."""
    for first, last in ((5, 3), (3, 2), (2, 1), (1, 0)):
        lines = ["first rows:"] + _indent(frame.head(first).to_string(max_cols=12, max_colwidth=24))
        if last and len(frame) > first:
            tail = frame.tail(min(last, len(frame) - first))
            lines += ["last rows:"] + _indent(tail.to_string(max_cols=12, max_colwidth=24))
        if sum(len(line.encode("utf-8", "replace")) + 1 for line in lines) <= room:
            return lines
    return []


def _frame(value):
    rows, columns = value.shape
    step = max(1, -(-rows * min(columns, COLUMNS_MAX) // ELEMENTS_MAX))
    size = int(value.memory_usage(deep=False).sum())
    head = f"DataFrame: {_count(rows, 'row')} x {_count(columns, 'column')}, {_bytes(size)}"
    if step > 1:
        head += f"; figures from every {step:,}th row"
    lines = [head, _index_line(value.index), "columns:"]
    sample = value.iloc[::step, :COLUMNS_MAX]
    for at, name in enumerate(sample.columns):
        lines.append(_column_line(name, sample.iloc[:, at], rows, step))
    if columns > COLUMNS_MAX:
        lines.append(_other_columns(value.dtypes.iloc[COLUMNS_MAX:]))
    lines = _fit(lines, BYTES_MAX - 1200)
    used = sum(len(line.encode("utf-8", "replace")) + 1 for line in lines)
    return lines + _rows(value, BYTES_MAX - used - 8)


def _series(value):
    step = max(1, -(-len(value) // ELEMENTS_MAX))
    name = f" {_word(value.name)!r}" if value.name is not None else ""
    lines = [f"Series{name}: {_count(len(value), 'value')}"]
    if step > 1:
        lines[0] += f"; figures from every {step:,}th"
    lines += [_index_line(value.index), _column_line("values", value.iloc[::step], len(value), step)]
    return lines + _rows(value.to_frame(name="value" if value.name is None else value.name), 2000)


def _index(value):
    step = max(1, -(-len(value) // ELEMENTS_MAX))
    lines = [f"{_type(value).__name__}: {_count(len(value), 'value')}, {value.dtype}"]
    if step > 1:
        lines[0] += f"; figures from every {step:,}th"
    if _type(value).__name__ != "MultiIndex":
        column = _guarded(value[::step].to_series)
        lines.append(_column_line("values", column, len(value), step))
    return lines + [f"first: {', '.join(_word(v) for v in value[:8])}",
                    f"last: {', '.join(_word(v) for v in value[-4:])}"]


# ---- arrays ----------------------------------------------------------------------------------


def _thin(array):
    """A view of at most ELEMENTS_MAX elements, with steps along the longest axes."""
    while array.size > ELEMENTS_MAX:
        axis = max(range(array.ndim), key=lambda at: array.shape[at])
        step = -(-array.size // ELEMENTS_MAX)
        step = min(step, max(2, array.shape[axis] // 2))
        array = array[(slice(None),) * axis + (slice(None, None, step),)]
    return array


def _array_figures(np, array):
    kind = array.dtype.kind
    if kind == "b":
        return f"{int(array.sum()):,} true, {array.size - int(array.sum()):,} false"
    if kind not in "iuf":
        return ""
    missing = 0
    if kind == "f":
        absent = np.isnan(array)
        missing = int(absent.sum())
        if missing == array.size:
            return "all NaN"
        array = array[~absent] if missing else array
    text = (f"min {_number(array.min())}, mean {_number(array.mean(dtype=float))}, "
            f"max {_number(array.max())}, std {_number(array.std(dtype=float))}")
    return text + f", NaN {missing:,}"


def _array(value):
    np = sys.modules["numpy"]
    shape = " x ".join(f"{n:,}" for n in value.shape)
    lines = [f"ndarray: {shape or 'scalar'}, {value.dtype}, {_bytes(value.nbytes)}"]
    sample = _thin(value)
    figures = _guarded(_array_figures, np, sample) if value.size else ""
    if figures:
        lines.append(figures + ("" if sample.size == value.size
                                else f" (of a sample of {sample.size:,} values)"))
    if value.dtype.kind == "O":
        types = {_type(v).__name__ for v in value.flat[:ITEMS_TYPED]}
        lines.append("of " + ", ".join(sorted(types)[:6]))
    last = value.size - 4
    lines.append("first: " + ", ".join(_number(v) for v in value.flat[:8]))
    if last > 8:
        lines.append("last: " + ", ".join(_number(v) for v in value.flat[last:]))
    if value.ndim == 2 and value.dtype.kind in "biuf" and value.shape[1] > 0:
        corner = value[:4, :6]
        lines += ["corner:"] + _indent(np.array2string(corner, max_line_width=100, threshold=100))
    return lines


# ---- tables of other libraries ---------------------------------------------------------------


def _polars_column(column, step):
    sample = column.gather_every(step) if step > 1 else column
    parts = [str(column.dtype)]
    missing = column.null_count()
    if missing:
        parts.append(f"{missing:,} missing")
    if column.dtype.is_numeric() or column.dtype.is_temporal():
        parts.append(f"min {_number(sample.min())}, max {_number(sample.max())}")
    elif str(column.dtype) in ("String", "Utf8", "Categorical"):
        parts.append(f"{sample.head(DISTINCT_MAX).n_unique():,} distinct")
    return f"  {_word(column.name)}: {'; '.join(parts)}"


def _polars(value):
    rows, columns = value.shape
    step = max(1, -(-rows * min(columns, COLUMNS_MAX) // ELEMENTS_MAX))
    head = f"polars DataFrame: {_count(rows, 'row')} x {_count(columns, 'column')}"
    if step > 1:
        head += f"; figures from every {step:,}th row"
    lines = [head, "columns:"]
    for column in value.get_columns()[:COLUMNS_MAX]:
        lines.append(_guarded(_polars_column, column, step) or f"  {_word(column.name)}")
    if columns > COLUMNS_MAX:
        lines.append(_other_columns(value.dtypes[COLUMNS_MAX:]))
    lines = _fit(lines, BYTES_MAX - 1200)
    return lines + ["first rows:"] + ["  " + _word(row, 200) for row in value.head(5).rows()]


def _arrow(value):
    lines = [f"pyarrow Table: {_count(value.num_rows, 'row')} x "
             f"{_count(value.num_columns, 'column')}, {_bytes(value.nbytes)}", "columns:"]
    for at in range(min(value.num_columns, COLUMNS_MAX)):
        missing = value.column(at).null_count
        lines.append(f"  {_word(value.schema[at].name)}: {_word(str(value.schema[at].type))}"
                     + (f"; {missing:,} missing" if missing else ""))
    if value.num_columns > COLUMNS_MAX:
        lines.append(_other_columns(value.schema.types[COLUMNS_MAX:]))
    lines = _fit(lines, BYTES_MAX - 1200)
    rows = value.slice(0, 5).to_pylist()
    return lines + ["first rows:"] + ["  " + _word(list(row.values()), 200) for row in rows]


def _tensor(value):
    """Tensors and sparse matrices: their attributes; no element is read."""
    parts = [_type(value).__name__ + ": shape " + _word(tuple(value.shape)), f"dtype {value.dtype}"]
    for name, word in (("device", "device"), ("nnz", "stored")):
        extra = getattr(value, name, None)
        if extra is not None and not callable(extra):
            parts.append(f"{word} {_word(str(extra))}")
    return [", ".join(parts)]


# ---- containers ------------------------------------------------------------------------------


def _types(items):
    counts = {}
    for item in items:
        name = _type(item).__name__
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(f"{name} x {n:,}" if len(counts) > 1 else name
                     for name, n in sorted(counts.items(), key=lambda pair: -pair[1])[:6])


def _first(items, limit):
    out = []
    for item in items:
        if len(out) == limit:
            break
        out.append(item)
    return out


def _line(text):
    return "  " + _word(text, 160)


def _some(title, items):
    """Items in one line if they are short, else one line for each."""
    texts = [_short.repr(item) for item in items]
    if sum(map(len, texts)) < 120:
        return [f"{title}: {', '.join(texts)}"]
    return [title + ":"] + [_line(text) for text in texts]


def _sequence(value):
    head = _first(value, ITEMS_TYPED)
    of = "" if len(value) <= ITEMS_TYPED else f" (the first {ITEMS_TYPED:,})"
    lines = [f"{_type(value).__name__}: {_count(len(value), 'item')}, of {_types(head)}{of}"]
    lines += _some("first", head[:8])
    if _type(value) in (list, tuple) and len(value) > 8:
        lines += _some("last", value[-min(3, len(value) - 8):])
    return lines


def _mapping(value):
    items = _first(value.items(), ITEMS_TYPED)
    lines = [f"dict: {_count(len(value), 'key')} of {_types(k for k, _ in items)}, "
             f"values of {_types(v for _, v in items)}"]
    lines += [_line(f"{_short.repr(k)}: {_short.repr(v)}") for k, v in items[:20]]
    if len(value) > 20:
        lines.append(f"  … {len(value) - 20:,} more keys: "
                     + _word(", ".join(_word(k, 24) for k, _ in items[20:60]), 400))
    return lines


# ---- the choice ------------------------------------------------------------------------------

_INDEXES = ("Index", "RangeIndex", "DatetimeIndex", "CategoricalIndex", "MultiIndex",
            "TimedeltaIndex", "PeriodIndex", "IntervalIndex")
_TENSORS = ("torch", "tensorflow", "jax", "jaxlib", "cupy", "scipy")


def _summarizer(value):
    """
    The function for a value, or None: only for exact types, because a subclass may behave
    differently.
    """
    kind = _type(value)
    if kind in (list, tuple, set, frozenset):
        return _sequence
    if kind is dict:
        return _mapping
    if _is(value, "pandas", "DataFrame"):
        return _frame
    if _is(value, "pandas", "Series"):
        return _series
    if _is(value, "pandas", *_INDEXES):
        return _index
    if _is(value, "numpy", "ndarray"):
        return _array
    if _is(value, "polars", "DataFrame"):
        return _polars
    if _is(value, "pyarrow", "Table"):
        return _arrow
    root = str(getattr(kind, "__module__", "")).partition(".")[0]
    if root in _TENSORS and hasattr(value, "shape") and hasattr(value, "dtype"):
        return _tensor
    return None


def _is_folded(value, text):
    """Whether the plain text omits something."""
    if len(text) > PLAIN_MAX:
        return True
    if _is(value, "pandas", "DataFrame"):
        return text.endswith(" columns]")
    if _type(value) in (list, tuple, set, frozenset, dict):
        return False
    return "..." in text or "…" in text


def _cut(text):
    """Cuts the text to at most BYTES_MAX bytes."""
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= BYTES_MAX else raw[:BYTES_MAX - 4].decode("utf-8", "ignore") + "…"


def _make(value, data):
    make = _summarizer(value)
    if make is None or MIME in data:
        return
    if "text/plain" not in data:
        data["text/plain"] = pretty.pretty(value)
    if _is_folded(value, data["text/plain"]):
        data[MIME] = _cut("\n".join(_fit(make(value))))


def summary(value, data, metadata):
    """For render.extras. If it fails, the plain text is enough."""
    _guarded(_make, value, data)


render.extras.append(summary)
