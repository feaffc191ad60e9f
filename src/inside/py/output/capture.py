"""%%capture and capture_output(): stores what code prints and displays."""

import io
import sys

from _reckon import figures, render, wire

_StringIO = io.StringIO


class RichOutput:
    """One captured display; display() shows it."""

    def __init__(self, data, metadata):
        self.data, self.metadata = data, metadata

    def display(self):
        wire.send(wire.DISPLAY, render.fields(self.data, self.metadata))

    def _repr_mimebundle_(self, include=None, exclude=None):
        return self.data, self.metadata


class CapturedIO:
    """The captured stdout, stderr and outputs; calling it shows them."""

    def __init__(self, stdout, stderr, outputs):
        self._stdout, self._stderr, self._outputs = stdout, stderr, outputs

    @property
    def stdout(self):
        return self._stdout.getvalue() if self._stdout else ""

    @property
    def stderr(self):
        return self._stderr.getvalue() if self._stderr else ""

    @property
    def outputs(self):
        return [RichOutput(data, metadata) for data, metadata in self._outputs or ()]

    def __str__(self):
        return self.stdout

    def show(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)
        for output in self.outputs:
            output.display()

    __call__ = show


class capture_output:
    """with capture_output() as captured: …"""

    def __init__(self, stdout=True, stderr=True, display=True):
        self._wanted = stdout, stderr, display

    def __enter__(self):
        stdout, stderr, display = self._wanted
        self._streams = sys.stdout, sys.stderr
        out, err = _StringIO() if stdout else None, _StringIO() if stderr else None
        outputs = [] if display else None
        sys.stdout, sys.stderr = out or sys.stdout, err or sys.stderr
        self._captures = display
        if display:
            render.captures.append(outputs)
        return CapturedIO(out, err, outputs)

    def __exit__(self, *_error):
        sys.stdout, sys.stderr = self._streams
        if self._captures:
            figures.flush()
            render.captures.pop()


capture_output.__module__ = CapturedIO.__module__ = "IPython.utils.capture"
RichOutput.__module__ = "IPython.utils.capture"
