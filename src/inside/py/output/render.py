"""A value as a MIME bundle: {mime: str or bytes} and metadata."""

import json

from _reckon import pretty, wire

_dumps = json.dumps
_loads = json.loads
_type = type

_HOOKS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
    ("application/javascript", "_repr_javascript_"),
    ("application/pdf", "_repr_pdf_"),
)
_PART_MAX = 32 << 20  # size of one representation
_DEEP, _NODES_MAX = 100, 2_000_000  # nesting and number of values in JSON that is repaired
_PLAIN = {int, float, complex, bool, str, bytes, list, dict, tuple, set, frozenset, _type(None)}
_CANARY = "_ipython_canary_method_should_not_exist_"

captures = []  # lists for %%capture, the innermost last
# functions(value, data, metadata) -> True: the bundle is complete, so no hook is called
takers = []
extras = []  # functions(value, bundle, metadata) for types without hooks


def _clean(value, left, depth=0):
    """Converts what JSON cannot represent: NaN to null, other keys to text."""
    left[0] -= 1
    if left[0] < 0:
        raise ValueError("too much of JSON, or a circle in it")
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if depth < _DEEP and isinstance(value, dict):
        return {str(key): _clean(part, left, depth + 1) for key, part in value.items()}
    if depth < _DEEP and isinstance(value, (list, tuple)):
        return [_clean(part, left, depth + 1) for part in value]
    if depth < _DEEP and hasattr(value, "tolist"):  # a numpy value
        return _clean(value.tolist(), left, depth + 1)
    return str(value)


def dumps(value):
    try:
        return _dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return _dumps(_clean(value, [_NODES_MAX]), allow_nan=False)


def size_of_png(png):
    """Width and height from a PNG's first chunk; None: not a PNG."""
    if png[:4] != b"\x89PNG" or len(png) < 24:
        return None
    return int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")


def _is_json(mime):
    return mime == "application/json" or mime.endswith("+json")


def _is_binary(mime):
    """Whether text of this type is base64, as in Jupyter."""
    return mime == "application/pdf" or (
        mime.startswith(("image/", "audio/", "video/")) and not mime.endswith("+xml"))


def _as_data(mime, value):
    """A hook's result as str or bytes; None if it is neither."""
    if _is_json(mime):
        return dumps(value)
    if isinstance(value, str):
        if _is_binary(mime):
            import binascii

            return binascii.a2b_base64("".join(value.split()), strict_mode=True)
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    return None


def _method(value, name):
    """A hook of a value, or None. Classes and objects that fake every attribute have no hooks."""
    if isinstance(value, type):
        return None
    try:
        method = getattr(value, name, None)
        if method is None or not callable(method) or getattr(value, _CANARY, None) is not None:
            return None
    except Exception:  # a __getattr__ that fails is not a hook
        return None
    return method


def put(bundle, metadata, mime, got):
    extra = None
    if isinstance(got, tuple) and len(got) == 2 and isinstance(got[1], dict):
        got, extra = got
    if got is None:
        return
    data = _as_data(mime, got)
    if data is None:
        raise TypeError(f"a representation as {mime} cannot be of type {_type(got).__name__}")
    if len(data) > _PART_MAX:
        wire.note("display_limit", f"a {mime} of {len(data)} characters was left out")
        return
    bundle[mime] = data
    if extra:
        metadata[mime] = extra


def _place(error):
    """Where in a cell an exception was raised, according to its traceback."""
    trace, found = error.__traceback__, ""
    for _ in range(1000):
        if trace is None:
            break
        name = trace.tb_frame.f_code.co_filename
        if name.startswith("<cell "):
            found = f" ({name}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return found


def _guard(what, function, *args):
    """
    Calls a function; reports an exception as a diagnostic. Returns the function's value or None.
    """
    try:
        return function(*args)
    except KeyboardInterrupt:
        raise
    except NotImplementedError:  # a hook says with this that it has no result
        return None
    except BaseException as error:
        wire.note("display_failed", f"{what}: {pretty.describe(error)}{_place(error)}")
        return None


def _call_bundle(method, include, exclude):
    try:
        return method(include=include, exclude=exclude)
    except TypeError as error:
        if error.__traceback__.tb_next is not None:
            raise
        return method()  # a hook without parameters


def _mimebundle(value, bundle, metadata, include, exclude):
    method = _method(value, "_repr_mimebundle_")
    got = None if method is None else _call_bundle(method, include, exclude)
    if isinstance(got, tuple) and len(got) == 2:
        got, meta = got
        if isinstance(meta, dict):
            metadata.update(meta)
    if isinstance(got, dict):
        for mime, data in got.items():
            _guard(f"_repr_mimebundle_, {mime}", put, bundle, metadata, str(mime), data)


def _hook(value, bundle, metadata, mime, name):
    method = _method(value, name)
    got = None if method is None else method()
    if mime == "application/json" and isinstance(got, str):
        got = _loads(got)
    put(bundle, metadata, mime, got)


def _displays_itself(value):
    method = _method(value, "_ipython_display_")
    if method is None:
        return False
    method()
    return True


def _ask_hooks(value, data, metadata, include, exclude):
    for taker in takers:
        if _guard(taker.__name__, taker, value, data, metadata):
            return
    _guard("_repr_mimebundle_", _mimebundle, value, data, metadata, include, exclude)
    for mime, name in _HOOKS:
        if mime not in data:
            _guard(name, _hook, value, data, metadata, mime, name)


def bundle(value, include=None, exclude=None):
    """
    (bundle, metadata) of any value; both empty if it displayed itself. Never raises (except for an
    interrupt).
    """
    data, metadata = {}, {}
    if _type(value) not in _PLAIN:
        if _guard("_ipython_display_", _displays_itself, value):
            return data, metadata
        _ask_hooks(value, data, metadata, include, exclude)
    for extra in extras:
        _guard(extra.__name__, extra, value, data, metadata)
    if "text/plain" not in data:
        data["text/plain"] = pretty.pretty(value)
    return data, metadata


def raw(value):
    """The bundle for display({...}, raw=True)."""
    data, metadata = {}, {}
    for mime, part in value.items():
        put(data, metadata, str(mime), part)
    return data, metadata


def show(kind, data, metadata, display_id=None):
    """Displays a bundle, or stores it while output is captured."""
    if captures:
        captures[-1].append((data, metadata))
    else:
        wire.send(kind, fields(data, metadata, display_id))


def fields(data, metadata, display_id=None):
    """The fields of DISPLAY, UPDATE_DISPLAY or RESULT; text/plain first."""
    out = []
    if display_id is not None:
        out.append((wire.DISPLAY_ID, display_id))
    if metadata:
        try:
            out.append((wire.METADATA, dumps(metadata)))
        except (TypeError, ValueError, RecursionError):
            pass
    for mime in sorted(data, key=lambda m: m != "text/plain"):
        out += [(wire.MIME, mime), (wire.DATA, data[mime])]
    small = scaled(data)
    if small is not None:
        out += [(wire.MIME, "image/vnd.reckon.scaled"), (wire.DATA, small)]
    return out


def scaled(_data):
    """Replaced by scale.py."""
    return None
