"""Changes in a session's files, as they happen."""
from .common import EVENTS, FOLLOW, IN_SESSION, PATH_MAX, SESSION
from .model import Call, Field

TAG = ("Watch", "Changes in the workspace of a session")
STREAM = ("Server-sent events (docs/files.md), `id` per event: `start`, then `create`, `write`, "
          "`remove`, `rename`, `attrib`, `overflow`, `limit`, `end`.")
STRUCTS = ()

CALLS = (
    Call("watch", "GET", "sessions/{session}/watch", "Follow changes of a folder", STREAM, "files",
         needs_box=True, takes=(SESSION,
                Field("path", "text", "A folder of the workspace; all of it when left out",
                      place="query", least=1, most=PATH_MAX,
                      schema={"type": "string", "minLength": 1}),
                Field("recursive", "flag", "1: folders below it as well", place="query",
                      default=False), *FOLLOW,
                # For polling clients: with `goes_on` reckond answers at once, from the position of
                # the reader with this name, and ignores the other fields.
                Field("reader", "id", "Whose place reckond keeps", place="internal"),
                Field("forget", "flag", "The reader is gone", place="internal")),
         gives=EVENTS, errors=(*IN_SESSION, 413), operation="watchFiles", streams="WatchEvent",
         gives_events=True),
)
