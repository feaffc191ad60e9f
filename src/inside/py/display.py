"""display() and a work-alike of IPython.display for code that imports it."""

import binascii
import os
import sys
import types

from _reckon import pretty, render, wire

_type = type


class DisplayHandle:
    """What display(obj, display_id=...) returns: shows another value in the same place."""

    def __init__(self, display_id=None):
        self.display_id = display_id or binascii.hexlify(os.urandom(16)).decode()

    def display(self, value, **options):
        display(value, display_id=self.display_id, **options)

    def update(self, value, **options):
        update_display(value, display_id=self.display_id, **options)

    def __repr__(self):
        return f"<DisplayHandle display_id={self.display_id}>"


def _send(kind, value, raw, metadata, display_id, include, exclude):
    data, meta = render.raw(value) if raw else render.bundle(value)
    if include:
        data = {mime: part for mime, part in data.items() if mime in include}
    if exclude:
        data = {mime: part for mime, part in data.items() if mime not in exclude}
    if metadata:
        meta.update(metadata)
    if data:
        render.show(kind, data, meta, display_id)


def display(*values, include=None, exclude=None, metadata=None, transient=None, display_id=None,
            raw=False, clear=False, **_options):
    """Shows values as rich results. display_id=True makes an id; the handle can update it."""
    if clear:
        clear_output(wait=True)
    handle = None
    if display_id is not None and display_id is not False:
        handle = DisplayHandle(None if display_id is True else str(display_id))
    for value in values:
        _send(wire.DISPLAY, value, raw, metadata, handle and handle.display_id, include, exclude)
    return handle


def update_display(value, *, display_id, include=None, exclude=None, metadata=None, raw=False,
                   **_options):
    """Replaces what was displayed with this display_id."""
    _send(wire.UPDATE_DISPLAY, value, raw, metadata, str(display_id), include, exclude)


def clear_output(wait=False):
    """Asks the front end to drop the output so far."""
    wire.send(wire.CLEAR_OUTPUT, [(wire.WAIT, "1")] if wait else [])


def publish_display_data(data, metadata=None, *, display_id=None, transient=None, update=False,
                         **_options):
    if display_id is None and transient:
        display_id = transient.get("display_id")
    kind = wire.UPDATE_DISPLAY if update else wire.DISPLAY
    _send(kind, data, True, metadata, display_id, None, None)


class DisplayObject:
    """Data with a MIME type: given directly, or read from a file."""

    _mime = "text/plain"
    _binary = False

    def __init__(self, data=None, url=None, filename=None, metadata=None, **options):
        if isinstance(data, os.PathLike):
            filename, data = os.fspath(data), None
        if data is None and filename is None and url is None:
            raise TypeError(f"{_type(self).__name__} needs data or a file name")
        if isinstance(data, str) and filename is None and self._is_path(data):
            filename, data = data, None
        self.url, self.filename, self.metadata = url, filename, metadata or {}
        self.options = options
        if filename is not None:
            with open(filename, "rb") as file:
                data = file.read()
            if not self._binary:
                data = data.decode("utf-8", "replace")
        self.data = data

    def _is_path(self, text):
        return False

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self._mime: self.data}, ({self._mime: self.metadata} if self.metadata else {})

    def __repr__(self):
        return f"<{_type(self).__module__}.{_type(self).__name__} object>"


def _kind(name, mime, doc):
    return _type(name, (DisplayObject,), {"_mime": mime, "__doc__": doc,
                                          "__module__": "IPython.core.display"})


TextDisplayObject = DisplayObject
HTML = _kind("HTML", "text/html", "HTML text.")
Markdown = _kind("Markdown", "text/markdown", "Markdown text.")
Latex = _kind("Latex", "text/latex", "LaTeX text.")
Math = _kind("Math", "text/latex", "LaTeX in display mode.")
Math._repr_mimebundle_ = lambda self, include=None, exclude=None: (
    {"text/latex": "$\\displaystyle " + self.data.strip("$") + "$"}, {})
SVG = _kind("SVG", "image/svg+xml", "An SVG picture.")
SVG._is_path = lambda self, text: "<" not in text
Javascript = _kind("Javascript", "application/javascript", "JavaScript for a front end.")
Pretty = _kind("Pretty", "text/plain", "Plain text.")


class JSON(DisplayObject):
    """A JSON value."""

    def _repr_mimebundle_(self, include=None, exclude=None):
        data = self.data if isinstance(self.data, str) else render.dumps(self.data)
        return {"application/json": data, "text/plain": repr(self)}, {}


class Image(DisplayObject):
    """A PNG, JPEG, GIF or WebP picture: bytes, or the name of a file."""

    _binary = True
    _MAGIC = ((b"\x89PNG", "image/png"), (b"\xff\xd8", "image/jpeg"), (b"GIF8", "image/gif"),
              (b"RIFF", "image/webp"))

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None,
                 height=None, **options):
        if isinstance(data, str) and data.startswith(("http:", "https:")):
            data, url = None, data
        super().__init__(data, url, filename, **options)
        self._mime = f"image/{format.replace('jpg', 'jpeg')}" if format else "image/png"
        for start, mime in self._MAGIC:
            if isinstance(self.data, bytes) and self.data.startswith(start):
                self._mime = mime
        if width:
            self.metadata["width"] = width
        if height:
            self.metadata["height"] = height

    def _is_path(self, text):
        return True

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.data is None:
            import html

            return {"text/html": f'<img src="{html.escape(self.url)}"/>'}, {}
        return super()._repr_mimebundle_()


class IFrame:
    """A page within the page."""

    def __init__(self, src, width, height, extras=None, **_options):
        self.src, self.width, self.height = src, width, height

    def _repr_html_(self):
        import html

        return (f'<iframe width="{self.width}" height="{self.height}" '
                f'src="{html.escape(str(self.src))}" frameborder="0" allowfullscreen></iframe>')


def FileLink(path, *_args, **_options):
    """The path itself: files of a session are delivered with its results."""
    return Pretty(str(path))


def _display_as(name):
    def function(*values, raw=False, metadata=None):
        for value in values:
            data = {"text/" + name: value} if raw else None
            _send(wire.DISPLAY, data or value, raw, metadata, None, None, None)

    function.__name__ = f"display_{name}"
    return function


_SHARED = ("DisplayHandle DisplayObject TextDisplayObject FileLink HTML IFrame Image JSON "
           "Javascript Latex Markdown Math Pretty SVG clear_output display publish_display_data "
           "update_display").split()


def fake_ipython(get_ipython, capture_output):
    """IPython and IPython.display in sys.modules, for a template that lacks them."""
    package = types.ModuleType("IPython", "A part of IPython's interface, made by the kernel.")
    module = types.ModuleType("IPython.display", "display() and its objects, made by the kernel.")
    core = types.ModuleType("IPython.core")
    core_display = types.ModuleType("IPython.core.display")
    for name in _SHARED:
        setattr(module, name, globals()[name])
        setattr(core_display, name, globals()[name])
    for name in ("html", "markdown", "latex"):
        setattr(module, f"display_{name}", _display_as(name))
    package.__path__ = core.__path__ = []
    package.display, package.core, core.display = module, core, core_display
    utils, kept, streams = (types.ModuleType(f"IPython.{name}") for name in (
        "utils", "utils.capture", "utils.io"))
    for place in (kept, streams):
        place.capture_output = capture_output
    utils.__path__, utils.capture, utils.io, package.utils = [], kept, streams, utils
    library, printing = types.ModuleType("IPython.lib"), types.ModuleType("IPython.lib.pretty")
    printing.pretty, printing.PrettyPrinter = pretty.pretty, pretty.Printer
    library.__path__, library.pretty, package.lib = [], printing, library
    package.get_ipython = get_ipython
    package.__version__, package.version_info = "9.0.0", (9, 0, 0)
    for name in (package, module, core, core_display, utils, kept, streams, library, printing):
        sys.modules[name.__name__] = name
