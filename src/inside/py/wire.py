"""Packets and fields with the numbers of wire/kernel.h, and sending them."""

import _reckon_c

DISPLAY, UPDATE_DISPLAY, RESULT, ERROR, CLEAR_OUTPUT, INPUT_REQUEST = 33, 34, 35, 36, 37, 38
VARIABLES_REPLY, COMPLETE_REPLY, INSPECT_REPLY, IS_COMPLETE_REPLY = 41, 42, 43, 44

MIME, DATA, DISPLAY_ID, METADATA = 18, 19, 20, 21
NAME, VALUE, TRACEBACK, REPAIR, HINT = 22, 23, 24, 25, 47
FRAME_FILE, FRAME_LINE, FRAME_FUNCTION, FRAME_SOURCE = 26, 27, 28, 29
WAIT, PROMPT, PASSWORD, STATUS = 30, 31, 32, 33
VAR_NAME, VAR_TYPE, VAR_SHAPE, VAR_SIZE, VAR_PREVIEW = 34, 35, 36, 37, 38
CURSOR_START, CURSOR_END, MATCH, INDENT = 39, 40, 41, 60
VAR_KIND, VAR_OMITTED = 48, 49

# Private references, because user code may replace members of the modules.
send = _reckon_c.send
write = _reckon_c.write
write_bytes = _reckon_c.write_bytes
flush = _reckon_c.flush
settle = _reckon_c.settle
receive_input = _reckon_c.receive_input
is_executing = _reckon_c.is_executing
_note = _reckon_c.note
name = _reckon_c.name


def note(code, message):
    """Adds a diagnostic to the DONE of this execution."""
    _note(f"{code}: {message}"[:4000].encode("utf-8", "replace").decode("utf-8", "replace"))


def clip(text, limit):
    """At most `limit` characters, and a note about the rest."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} more characters)"
