"""A value as a MIME bundle: {mime: str or bytes} and metadata."""

import json

from _reckon import pretty, wire

_dumps = json.dumps
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
_PART_MAX = 32 << 20  # of one representation
_BINARY = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")

captures = []  # lists of what %%capture keeps, the innermost last
extras = []  # functions(value, bundle, metadata) for types without hooks of their own


def dumps(value):
    return _dumps(value, allow_nan=False, default=str)


def _as_data(mime, value):
    """What a hook returned, as str or bytes; None when it is neither."""
    if isinstance(value, str):
        if mime in _BINARY:
            import binascii

            return binascii.a2b_base64(value)
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if mime.endswith("json"):
        return dumps(value)
    return None


def _call(value, name, **options):
    """The result of a hook, or None. Classes and __getattr__ fakes have no hooks."""
    if isinstance(value, type):
        return None
    method = getattr(value, name, None)
    if method is None or not callable(method):
        return None
    if getattr(value, "_ipython_canary_method_should_not_exist_", None) is not None:
        return None
    return method(**options)


def put(bundle, metadata, mime, got):
    extra = None
    if isinstance(got, tuple) and len(got) == 2 and isinstance(got[1], dict):
        got, extra = got
    if got is None:
        return
    data = _as_data(mime, got)
    if data is None:
        raise TypeError(f"a representation as {mime} cannot be a {_type(got).__name__}")
    if len(data) > _PART_MAX:
        wire.note("display_limit", f"a {mime} of {len(data)} characters was left out")
        return
    bundle[mime] = data
    if extra:
        metadata[mime] = extra


def _guard(what, function, *args):
    try:
        function(*args)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        wire.note("display_failed", f"{what}: {pretty.describe(error)}")


def _mimebundle(value, bundle, metadata):
    got = _call(value, "_repr_mimebundle_", include=None, exclude=None)
    if isinstance(got, tuple) and len(got) == 2:
        got, meta = got
        if isinstance(meta, dict):
            metadata.update(meta)
    if isinstance(got, dict):
        for mime, data in got.items():
            put(bundle, metadata, str(mime), data)


def bundle(value):
    """(bundle, metadata) of any value. Never raises (but for an interrupt)."""
    data, metadata = {}, {}
    _guard("_repr_mimebundle_", _mimebundle, value, data, metadata)
    for mime, name in _HOOKS:
        if mime not in data:
            _guard(name, lambda m=mime, n=name: put(data, metadata, m, _call(value, n)))
    for extra in extras:
        _guard(extra.__name__, extra, value, data, metadata)
    if "text/plain" not in data:
        data["text/plain"] = pretty.pretty(value)
    return data, metadata


def raw(value):
    """The bundle of display({...}, raw=True)."""
    data, metadata = {}, {}
    for mime, part in value.items():
        put(data, metadata, str(mime), part)
    return data, metadata


def show(kind, data, metadata, display_id=None):
    """Displays a bundle, or keeps it where a capture is on."""
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
    return out
