"""The kernels of a session: contexts, restarts, and requests to a kernel."""
from .common import (CODE, CONTEXT, CONTEXT_OF_QUERY, CURSOR, IN_SESSION, KERNEL, NO_NEXT, SESSION,
                     STARTS)
from .model import Call, Field, Struct

TAG = ("Kernels", "Kernels of a session: contexts, variables, completions")


CONTEXT_STRUCT = Struct("context", "A further kernel of a session.", (
    Field("id", "text", "ctx_…", required=True),
    Field("session", "text", "Id of its session", required=True),
    Field("language", "text", "What it runs", required=True),
    Field("cwd", "text", "Where it began", required=True),
    Field("created_at", "text", "When", required=True, form="date-time"),
    Field("kernel", "word", '"lost": its variables are gone, the next execution tells it',
          required=True, words=("ready", "lost")),
    Field("pending", "number", "Requests that run or wait", required=True),
), schema="Context")

CONTEXTS = Struct("contexts", "All further kernels of a session.", (
    Field("contexts", "many", "Oldest first", required=True, of=CONTEXT_STRUCT),
    NO_NEXT,
), schema="ContextList")

NAME = {"required": False, "least": 1, "most": 63}

STRUCTS = (CONTEXT_STRUCT, CONTEXTS)

CALLS = (
    Call("context_list", "GET", "sessions/{session}/contexts",
         "Further kernels of the session, oldest first", "All of them", "read",
         takes=(SESSION,), gives=CONTEXTS, errors=IN_SESSION, operation="listContexts"),
    Call("context_create", "POST", "sessions/{session}/contexts",
         "A further kernel in the session, with the same files", "Made", "execute",
         begins=True, needs_box=True, takes=(
             SESSION,
             Field("language", "text", "That of the session when left out", **NAME),
             Field("template", "text", "That of the session; no other is in its box", **NAME),
             Field("cwd", "text", "Where it begins; /mnt/data when left out", form="path",
                   least=1, most=1023),
             Field("env", "env", "Variables above the session's own; at most 32 KiB", most=256),
         ), gives=CONTEXT_STRUCT, status=201, errors=STARTS, operation="createContext",
         body="ContextCreate"),
    Call("context_delete", "DELETE", "sessions/{session}/contexts/{context}",
         "End a context, its kernel and its processes", "Ended", "execute",
         needs_box=True, takes=(SESSION, Field("context", "id", "Id of a context, ctx_…", place="path",
                               required=True)),
         errors=(404, 410, 507), operation="deleteContext"),
    Call("restart", "POST", "sessions/{session}/restart",
         "A fresh kernel in the same session: variables go, files stay", "It is there", "execute",
         begins=True, needs_box=True, takes=(SESSION, CONTEXT), errors=STARTS, body="OfKernel"),
    Call("interrupt", "POST", "sessions/{session}/interrupt",
         "Stop what runs as Ctrl-C does; variables stay", "Whether something ran", "execute",
         takes=(SESSION, CONTEXT),
         gives=(Field("interrupted", "flag", "Whether something ran", required=True),),
         errors=IN_SESSION, body="OfKernel"),
    Call("variables", "GET", "sessions/{session}/variables", "Variables of the session", "They",
         "read",
         needs_box=True, takes=(SESSION, CONTEXT_OF_QUERY,
                Field("wait", "flag", "0: when the kernel is busy, 429 busy at once; else the "
                      "question waits for its turn", place="query")),
         gives=(Field("variables", "json", "In the order in which they were made", required=True,
                      schema={"type": "array", "items": {"type": "object"}}),),
         errors=KERNEL),
    Call("complete", "POST", "sessions/{session}/complete", "Completions at a byte offset",
         "Matches", "execute", needs_box=True, takes=(SESSION, CODE, CURSOR, CONTEXT),
         gives=(Field("answer", "json", place="whole", required=True, schema={
             "type": "object", "required": ["cursor_start", "cursor_end", "matches"],
             "properties": {"cursor_start": {"type": ["integer", "null"]},
                            "cursor_end": {"type": ["integer", "null"]},
                            "matches": {"type": "array", "items": {"type": "string"}}}}),),
         errors=KERNEL, body="Complete"),
    Call("inspect", "POST", "sessions/{session}/inspect",
         "What stands at a byte offset: signature, type, documentation", "As in Jupyter", "execute",
         needs_box=True, takes=(SESSION, CODE, CURSOR, Field("detail", "flag", "With the source, too"), CONTEXT),
         gives=(Field("answer", "json", place="whole", required=True, schema={
             "type": "object", "required": ["found", "data", "metadata"],
             "properties": {"found": {"type": "boolean"},
                            "data": {"type": "object",
                                     "additionalProperties": {"type": "string"}},
                            "metadata": {"type": "object"}}}),),
         errors=KERNEL, body="Inspect"),
    Call("is_complete", "POST", "sessions/{session}/is_complete",
         "Whether code is a whole cell", "As in Jupyter; `indent` belongs to `incomplete`",
         "execute", takes=(SESSION, CODE, CONTEXT),
         gives=(Field("answer", "json", place="whole", required=True, schema={
             "type": "object", "required": ["status", "indent"],
             "properties": {"status": {"type": "string", "enum": ["complete", "incomplete",
                                                                  "invalid", "unknown"]},
                            "indent": {"type": "string"}}}),),
         errors=KERNEL, operation="isComplete", body="IsComplete"),
)
