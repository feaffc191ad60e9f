"""display() and the other functions of IPython.display."""

import binascii
import os

from _reckon import objects, render, wire

# Magics and the IPython stand-in import the classes from this module.
HTML, Javascript, Latex, Markdown, SVG = (
    objects.HTML, objects.Javascript, objects.Latex, objects.Markdown, objects.SVG)


class DisplayHandle:
    """The result of display(obj, display_id=...): shows another value in the same place."""

    def __init__(self, display_id=None):
        self.display_id = display_id or binascii.hexlify(os.urandom(16)).decode()

    def display(self, value, **options):
        display(value, display_id=self.display_id, **options)

    def update(self, value, **options):
        update_display(value, display_id=self.display_id, **options)

    def __repr__(self):
        return f"<DisplayHandle display_id={self.display_id}>"


def _send(kind, value, raw, metadata, display_id, include=None, exclude=None):
    if raw and not isinstance(value, dict):
        raise TypeError(f"data must be a dict, got: {value!r}")
    data, meta = render.raw(value) if raw else render.bundle(value, include, exclude)
    if include:
        data = {mime: part for mime, part in data.items() if mime in include}
    if exclude:
        data = {mime: part for mime, part in data.items() if mime not in exclude}
    if metadata:
        meta.update(metadata)
    if data:
        render.show(kind, data, meta, display_id)


def display(*values, include=None, exclude=None, metadata=None, transient=None, display_id=None,
            raw=False, clear=False, update=False, **_options):
    """Shows values as rich results. display_id=True makes an id; the handle can update it."""
    if clear:
        clear_output(wait=True)
    handle = None
    if display_id is None and isinstance(transient, dict):
        display_id = transient.get("display_id")
    if display_id is not None and display_id is not False:
        handle = DisplayHandle(None if display_id is True else str(display_id))
    elif update:
        raise TypeError("display_id required for update_display")
    kind = wire.UPDATE_DISPLAY if update else wire.DISPLAY
    for value in values:
        _send(kind, value, raw, metadata, handle and handle.display_id, include, exclude)
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
    _send(kind, data, True, metadata, display_id)


def _display_as(name, mime):
    def function(*values, raw=False, metadata=None):
        about = {mime: metadata} if metadata else None
        for value in values:
            _send(wire.DISPLAY, {mime: value} if raw else value, raw, about, None, [mime])

    function.__name__ = function.__qualname__ = f"display_{name}"
    function.__doc__ = f"Shows values as {mime} alone; with raw=True they are that already."
    return function


BY_MIME = {f"display_{name}": _display_as(name, mime) for name, mime in (
    ("pretty", "text/plain"), ("html", "text/html"), ("markdown", "text/markdown"),
    ("svg", "image/svg+xml"), ("png", "image/png"), ("jpeg", "image/jpeg"),
    ("webp", "image/webp"), ("latex", "text/latex"), ("json", "application/json"),
    ("javascript", "application/javascript"), ("pdf", "application/pdf"))}
FUNCTIONS = {function.__name__: function for function in (
    display, update_display, clear_output, publish_display_data)}
