"""Sessions: creating, reading, changing and ending them."""
from .common import BEFORE, IN_SESSION, LIMIT, NEXT, SESSION, STARTS, moment
from .model import Call, Field, Struct
from .stored import IMPORTS
from .volumes import MOUNTED, MOUNTS

TAG = ("Sessions", "Boxes with a workspace and kernels, opened and ended")

BYTES = 1 << 50
DAY_MS = 86400 * 1000
NAMED = {"least": 1, "most": 63}

WALL = Field("wall_s", "seconds", "Of one execution, by the clock", least=1, most=DAY_MS)
OUTPUT = Field("output_bytes", "number", "That one execution writes", least=1, most=64 << 20)

LIMITS = Struct("limits", "What is left out has a default, which the record of an execution names.", (
    WALL,
    Field("cpu_s", "seconds", "Of one execution, of processors", least=1, most=DAY_MS),
    Field("memory_bytes", "number", "Of all that runs in the session", least=16 << 20, most=BYTES),
    Field("disk_bytes", "number", "Of the workspace", least=1, most=BYTES),
    Field("files", "number", "In the workspace", least=1, most=1000000000),
    Field("file_bytes", "number", "Of one file", least=1, most=BYTES),
    OUTPUT,
    Field("processes", "number", "At once", least=1, most=4194304),
    Field("cpu_percent", "number", "100: one processor", least=1, most=1000000),
    Field("displays", "number", "Of one execution", least=1, most=100000),
), schema="Limits")

CHANGED_LIMITS = Struct("changed_limits", "Those that are not built into the box.", (WALL, OUTPUT))

POLICY = Struct("policy", "What the session asks for beyond the walls that every box has.", (
    Field("network", "word", "A box has no network", words=("none",)),
    Field("isolate_cpu", "words", "Against side channels: no other's task beside it on one core; "
          "speculation off. What the host has no means for is told by `wall_missing` in the first "
          "record, and refused by a strict daemon", words=("core", "speculation")),
), schema="Policy")

NOT_KEPT = Struct("not_kept", "Names of the workspace that a restart would lose.", (
    Field("count", "number", "How many", required=True),
    Field("why", "text", "Of the first", required=True),
))

MISSING = Struct("missing", "What the store lacks of a session's workspace.", (
    Field("count", "number", "How many files", required=True),
    Field("why", "text", "Of the first", required=True),
    Field("paths", "json", "Of the first 100", required=True,
          schema={"type": "array", "items": {"type": "string"}}),
))

MOUNT = Struct("mount", "A folder of the host, below /mnt.", (
    Field("target", "text", "Where the code sees it", required=True),
    Field("source", "text", "Where it is on the host", required=True),
    Field("writable", "flag", "Else it is for reading", required=True),
), schema="Mount")

ON_TIMEOUT = Field("on_timeout", "word",
                   "What becomes of it when it was unused for too long, or has to end: "
                   "`end`, or `pause` until it is resumed; `pause_files`: without its memory",
                   words=("end", "pause", "pause_files"))
AUTO_RESUME = Field("auto_resume", "flag",
                    "While it is paused, a request that needs its box resumes it")

SESSION_STRUCT = Struct("session", "A session, live or gone.", (
    Field("id", "text", "se_…", required=True),
    Field("name", "text", "Of one live session at a time", nullable=True),
    Field("status", "text", required=True, schema={"enum": ["live", "closed", "expired", "lost"]}),
    Field("template", "text", "null: the default", nullable=True),
    Field("language", "text", "Of its first kernel", required=True),
    Field("limits", "one", required=True, of=LIMITS),
    Field("policy", "one", required=True, of=POLICY),
    Field("metadata", "object", "As it was given", required=True),
    Field("idle_timeout_s", "seconds", "Ends unused so long", required=True),
    Field("pending", "number", "Requests that run or wait", required=True),
    moment("created_at", "When it was opened", required=True),
    moment("ended_at", "When it ended"),
    Field("why", "text", "It ended"),
    Field("kernel", "word", "Of a live session; lost: its variables are gone, the next execution "
          "begins a fresh kernel", words=("ready", "lost")),
    moment("restored_at", "When it last got a new box"),
    Field("expires_at", "time", "When it ends, whatever it does"),
    Field("files_not_kept", "one", "Names of the workspace that a restart would lose", of=NOT_KEPT),
    Field("tools", "json", "Of executions that name none of their own; not in lists", schema={
        "type": "array", "items": {"$ref": "#/components/schemas/ToolDeclaration"}}),
    Field("files_missing", "one", "Names of the workspace whose content is gone or damaged: until it "
          "is there again requests are 503, unless `restore` does without", of=MISSING),
    Field("mounts", "many", "Folders of the host that a live session has", required=True, of=MOUNT),
    Field("volumes", "many", "Volumes of the tenant that a live session has", required=True,
          of=MOUNTED),
    Field("paused_at", "time", "Since when it is paused"),
    ON_TIMEOUT,
    AUTO_RESUME,
), schema="Session")

SESSIONS = Struct("sessions", "A page of sessions.", (
    Field("sessions", "many", "Newest first", required=True, of=SESSION_STRUCT),
    NEXT,
), schema="SessionList")

METADATA = Field("metadata", "object", "Kept as it is, at most 16 KiB", most=16 << 10)


def life(also="", needs=None):
    """Fields that limit how long an object exists."""
    return (
        Field("idle_timeout_s", "seconds", "Ends unused so many seconds" + also, least=1000,
              most=30 * DAY_MS, needs=needs),
        Field("expires_in_s", "seconds", "Ends so many seconds from now" + also, least=1000,
              most=366 * DAY_MS, excludes=("expires_at",), needs=needs),
        Field("expires_at", "time", "Ends then, within a year" + also, needs=needs),
    )


def name(also="", needs=None):
    return Field("name", "text", "Of one live session at a time" + also, form="session-name",
                 needs=needs)


MADE_OF = (
    Field("template", "text", "Its packages and preloaded modules; the default when left out",
          **NAMED),
    Field("language", "text", "Of its first kernel; python when left out", **NAMED),
    Field("limits", "one", of=LIMITS),
    Field("env", "env", "Variables of its environment; at most 32 KiB", most=256),
    Field("policy", "one", of=POLICY),
    METADATA,
)

TOOL = Struct("tool", "A tool of the client that the code may call.", (
    Field("name", "text", "Letters, digits, '_' and '-'", required=True, least=1, most=64,
          schema={"type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$"}),
    Field("description", "text", "What it does, for the model or person that writes the code", most=8192),
    Field("parameters", "object", "JSON Schema of its arguments", most=64 << 10),
), schema="ToolDeclaration")

TOOLS = Field("tools", "many", "For each execution that names none of its own; 256 KiB in all", of=TOOL,
              most=64)

GRANT = Field("grant", "text", "gr_…: folders of the host that a program of the person's own granted, as "
              "`reckon mcp --mount` does. A private daemon mounts them, any other refuses; the session ends "
              "with the grant", most=31)

HELD = Field("held", "flag", "It ends with the request that opened it: when its client goes away, or "
             "at a CANCEL of this call", place="internal")

ORIGIN = Field("snapshot", "id", "sn_…: it begins with the files of that snapshot, and with its "
               "template, language, environment, limits and policy, as far as these are not given")

STRUCTS = (LIMITS, CHANGED_LIMITS, POLICY, NOT_KEPT, MISSING, MOUNT, SESSION_STRUCT, SESSIONS, TOOL)

CALLS = (
    Call("session_list", "GET", "sessions", "Sessions that are and were, newest first", "A page",
         "read", takes=(
             LIMIT, BEFORE,
             Field("name", "text", "Those of this name, live or not", place="query",
                   form="session-name"),
             Field("status", "word", "Only those that live", place="query", words=("live",),
                   excludes=("name",)),
             Field("tenant", "id", "Of this tenant; another than the key's own takes the scope "
                   "admin", place="query", schema={"type": "string"}),
         ), gives=SESSIONS, errors=(404,), operation="listSessions"),
    Call("session_create", "POST", "sessions", "Open a session", "Opened", "sessions",
         begins=True,
         takes=(name(), *MADE_OF, ORIGIN, TOOLS, IMPORTS, MOUNTS, *life(), ON_TIMEOUT, AUTO_RESUME,
                GRANT, HELD), gives=SESSION_STRUCT, status=201,
         errors=(403, 404, 409, 410, 413, 504, 507), operation="createSession", body="SessionCreate"),
    Call("session_show", "GET", "sessions/{session}", "Show a session", "The session", "read",
         takes=(SESSION,), gives=SESSION_STRUCT, errors=IN_SESSION, operation="showSession"),
    Call("session_change", "PATCH", "sessions/{session}",
         "Change metadata, time-outs, tools, or limits of executions", "Changed", "sessions", takes=(
             SESSION, METADATA,
             Field("idle_timeout_s", "seconds", "Ends unused so many seconds", least=1000,
                   most=30 * DAY_MS),
             Field("expires_in_s", "seconds", "Ends so many seconds from now; null: never",
                   least=1000, most=366 * DAY_MS, excludes=("expires_at",), nullable=True),
             Field("expires_at", "time", "Ends then, within a year; null: never", nullable=True),
             Field("limits", "one", of=CHANGED_LIMITS),
             Field("tools", "many", "Instead of all that it has, for executions that are asked for "
                   "from now on", of=TOOL, most=64, nullable=True),
             ON_TIMEOUT, AUTO_RESUME,
         ), gives=SESSION_STRUCT, errors=(404, 410, 507), operation="changeSession",
         body="SessionPatch"),
    Call("session_delete", "DELETE", "sessions/{session}", "End a session and what runs in it",
         "Ended", "sessions", takes=(SESSION,), errors=(404, 410, 507), operation="deleteSession"),
    Call("session_restore", "POST", "sessions/{session}/restore",
         "Make the box of a session that has none", "It has one", "sessions",
         begins=True,
         description="The next request does it, too. What the store lacks of the files makes that "
         "503, and the session keeps the list (`files_missing`); with `intact` it comes back with "
         "what is there, and the rest is given up: the next record says so.",
         needs_box=True, takes=(SESSION, Field("intact", "flag", "Do without what is missing", default=False)),
         errors=(404, 410, 507), operation="restoreSession", body="SessionRestore"),
    Call("session_pause", "POST", "sessions/{session}/pause",
         "Let all that runs in a session stand still, and its time with it", "It is paused",
         "sessions",
         description="Variables, contexts, processes and files stay, and so does their memory, for "
         "as long as the daemon lives; after that, the files. What executes or waits in the session "
         "is waited for. Time-outs of the session and limits of processes begin to run again when "
         "it is resumed. 409 `session_paused` when it is paused, or on the way to that, already.",
         takes=(SESSION, Field("memory", "flag", "false: its files alone stay, and its box goes",
                               default=True)),
         gives=SESSION_STRUCT, errors=(404, 409, 410, 507), operation="pauseSession",
         body="SessionPause"),
    Call("session_resume", "POST", "sessions/{session}/resume", "Let a paused session go on",
         "It goes on", "sessions", begins=True,
         description="As if the time in between had not been; one whose end had come has five "
         "minutes. One that is not paused stays as it is.",
         takes=(SESSION,
                Field("memory", "flag", "false: a new box with its files, its memory is given up",
                      default=True),
                Field("expires_in_s", "seconds",
                      "Of one that was paused: ends so many seconds from now", least=1000, most=366 * DAY_MS)),
         gives=SESSION_STRUCT, errors=(404, 410, 507), operation="resumeSession",
         body="SessionResume"),
    Call("session_token", "GET", "sessions/{session}/token", "A token for this session alone",
         "The token, always the same one", "sessions",
         description="It goes where a key goes, may in this session what the key that asked may "
         "(`sessions`, `execute`, `files`, `read`), nothing anywhere else, and ends with the session, "
         "or with that key.",
         takes=(SESSION,), gives=(Field("token", "text", "st_…", required=True),),
         errors=IN_SESSION, operation="sessionToken"),
    Call("session_signed", "", "", "Whose token made a signature", "Which session's", None,
         takes=(Field("before", "text", "What stands before the token in what was signed",
                      required=True, most=8192, place="internal"),
                Field("after", "text", "And behind it", required=True, most=64,
                      place="internal"),
                Field("digest", "base64", "The SHA-256 of all of it", required=True, most=32,
                      place="internal"),
                Field("of", "id", "The session whose token it has to be, when that is known",
                      place="internal")),
         gives=(Field("session", "text", "Its id", required=True),
                Field("token", "text", "Which signed", required=True)), is_part=True),
    Call("session_env", "", "", "Variables of a session's environment", "Those that it was opened with",
         "execute", needs_box=True,
         takes=(Field("session", "id", "Id of a session, se_…", place="internal", required=True),),
         gives=(Field("env", "env", "NAME=VALUE", required=True, most=256),)),
    Call("session_metrics", "GET", "sessions/{session}/metrics",
         "Memory and CPU time of the session, as sampled", "At most 120 samples, oldest first",
         "read", takes=(SESSION,),
         gives=(Field("samples", "json", place="whole", required=True, schema={
             "type": "object", "required": ["session", "samples", "workspace_bytes"],
             "additionalProperties": False,
             "properties": {"session": {"type": "string"}, "workspace_bytes": {
                 "type": "integer", "description": "As it was last measured"}, "samples": {
                 "type": "array", "items": {
                     "type": "object", "required": ["t", "memory_bytes", "cpu_s"],
                     "additionalProperties": False,
                     "properties": {
                         "t": {"type": "number", "description": "Seconds since 1970"},
                         "memory_bytes": {"type": "integer"},
                         "cpu_s": {"type": "number", "description": "So far"}}}}}}),),
         errors=IN_SESSION, operation="sessionMetrics"),
)
