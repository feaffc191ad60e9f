"""Formatters that libraries and cells register for types: get_ipython().display_formatter."""

from _reckon import pretty, render

_MIMES = ("text/plain", "text/html", "text/markdown", "text/latex", "image/svg+xml", "image/png",
          "image/jpeg", "application/json", "application/javascript", "application/pdf")


class Formatter:
    """The functions that make one kind of representation, by type."""

    def __init__(self, mime, printers=None, by_name=None):
        self.format_type = mime
        self.enabled = True
        self.type_printers = {} if printers is None else printers
        self.deferred_printers = {} if by_name is None else by_name

    def for_type(self, kind, function=None):
        if isinstance(kind, str):
            return self.for_type_by_name(*kind.rsplit(".", 1), function)
        before = self.type_printers.get(kind)
        if function is not None:
            self.type_printers[kind] = function
        return before

    def for_type_by_name(self, module, name, function=None):
        before = self.deferred_printers.get((module, name))
        if function is not None:
            self.deferred_printers[module, name] = function
        return before

    def lookup_by_type(self, kind):
        for base in kind.__mro__:
            found = self.type_printers.get(base) or self.deferred_printers.get(
                (base.__module__, base.__name__))
            if found is not None:
                return found
        raise KeyError(kind)

    def pop(self, kind, *default):
        return self.type_printers.pop(kind, *default)

    def __call__(self, value):
        """The representation of a value, or None."""
        if self.format_type == "text/plain":
            return pretty.pretty(value)
        if not self.type_printers and not self.deferred_printers:
            return None
        try:
            function = self.lookup_by_type(type(value))
        except KeyError:
            return None
        return function(value)


class PlainTextFormatter(Formatter):
    """text/plain: its width, number of items, and whether it is laid out at all."""

    def __init__(self):
        super().__init__("text/plain", pretty.printers, pretty.printers_by_name)

    pprint = property(lambda self: not pretty.Printer.plain,
                      lambda self, on: setattr(pretty.Printer, "plain", not on))
    max_width = property(lambda self: pretty.Printer.max_width,
                         lambda self, width: setattr(pretty.Printer, "max_width", width))
    max_seq_length = property(lambda self: pretty.Printer.max_seq_length,
                              lambda self, most: setattr(pretty.Printer, "max_seq_length", most))
    float_precision = property(lambda self: pretty.float_form(),
                               lambda self, form: pretty.set_float_form(str(form)))


class DisplayFormatter:
    """get_ipython().display_formatter."""

    def __init__(self):
        self.formatters = {mime: Formatter(mime) for mime in _MIMES}
        self.formatters["text/plain"] = PlainTextFormatter()
        self.active_types = list(_MIMES)
        self.ipython_display_formatter = Formatter("ipython_display")
        self.mimebundle_formatter = Formatter("mimebundle")

    def format(self, value, include=None, exclude=None):
        data, metadata = render.bundle(value)
        return {mime: part for mime, part in data.items()
                if (not include or mime in include) and mime not in (exclude or ())}, metadata


display_formatter = DisplayFormatter()


def registered(value, data, metadata):
    """For render.extras: a registered function takes precedence over the type's own method."""
    for mime, formatter in display_formatter.formatters.items():
        if mime != "text/plain" and (formatter.type_printers or formatter.deferred_printers):
            render.put(data, metadata, mime, formatter(value))


render.extras.append(registered)
