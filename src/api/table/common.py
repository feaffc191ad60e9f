"""Fields, structs and statuses that many calls share."""
from .model import Field, Struct

CALLER = Struct("caller", "Who calls, and what the call is known by in logs. Before each call.", (
    Field("key", "text", "The API key as it was presented; none: there was none", most=128),
    Field("request", "text", "The id of the client's request", least=1, most=64),
    Field("trace", "text", "32 digits of the trace, 16 of the request's span", least=48, most=48),
))

IN_NUMBERS = Struct("reached_quota", "What of a quota is in use, and what it allows.", (
    Field("name", "text", "Of the quota", required=True),
    Field("value", "number", "In use, or asked for", required=True),
    Field("limit", "number", "What there may be", required=True),
    Field("in_ms", "flag", "Both are milliseconds, of a quota that clients know in seconds",
          required=True),
))

IN_QUEUE = Struct("queue_place", "Where a request that was refused would wait.", (
    Field("position", "number", "How many are before it", required=True),
    Field("estimate_s", "seconds", "Until it is its turn", required=True),
))

FAILURE = Struct("failure", "An error, in place of what a call gives.", (
    Field("error", "number", "enum api_error", required=True),
    Field("message", "text", "What happened", required=True),
    Field("cause", "text", "Why"),
    Field("remedy", "text", "What to do"),
    Field("retry_s", "number", "When to ask again; 0: that would not help", required=True),
    Field("scope", "text", "Of API_ERR_SCOPE: what the key lacks"),
    Field("quota", "one", "What was reached", of=IN_NUMBERS),
    Field("queue", "one", "Where it would wait", of=IN_QUEUE),
))

EVENT = Struct("event", "One event of an execution, or of a run.", (
    Field("id", "number", "1, 2, 3, … in the stream", required=True),
    Field("name", "text", "As in docs/events.md", required=True),
    Field("data", "json", "The event: an object", required=True),
))

EVENTS = Struct("events", "What happened since, at least one thing.", (
    Field("missing", "number", "So many are gone before the first of these"),
    Field("events", "many", "In order", of=EVENT),
    Field("is_last", "flag", "No more will come", required=True),
    Field("failure", "one", "Of one that ended without a record or an answer", of=FAILURE),
))

# Fields of both streams.
FOLLOW = (
    Field("after", "number", "Events with larger ids", place="query"),
    Field("Last-Event-ID", "text", "As `after`; wins over it", place="http",
          schema={"type": "integer", "minimum": 0}),
    Field("goes_on", "flag", "One request of a client asks for what comes next",
          place="internal"),
)

RANGE = Field("Range", "text", "One byte range", place="http")
PATH_MAX = 4095


def path(doc, **more):
    """The field for a file's path at the end of a URL."""
    return Field("path", "text", doc, place="path", required=True, least=1, most=PATH_MAX,
                 schema={"type": "string"}, **more)


# A name never looks like an id.
SESSION_MAX = 63
SESSION = Field("session", "id", "Id of a session, se_…, or its name: of a live one, else of the newest "
                "that had it", place="path", required=True, most=SESSION_MAX)
EXECUTION = Field("execution", "id", "Id of an execution, ex_…", place="path", required=True)
CODE = Field("code", "code", "What the cursor stands in", required=True, most=4 << 20)
CURSOR = Field("cursor", "number", "A byte offset; the end when left out", most=(1 << 53) - 1)
CONTEXT = Field("context", "id", "A context, ctx_…; the session's first kernel when left out")
CONTEXT_OF_QUERY = Field("context", "id", "A context, ctx_…", place="query")
LIMIT = Field("limit", "number", "At most so many entries", place="query", least=1, most=500,
              default=100)
BEFORE = Field("before", "id", "Entries older than this id: `next` of the page before",
               place="query", schema={"type": "string", "pattern": "^(se|ex)_[0-9A-Z]{26}$"})
BEFORE_ROW = Field("before", "id", "Entries older than this id: `next` of the page before",
                   place="query", schema={"type": "string", "minLength": 1})
NEXT = Field("next", "text", "For `before`: the last entry; null: there is none", nullable=True)
NO_NEXT = Field("next", "text", "Always null: this list has one page", nullable=True)

IN_SESSION = (404, 410)
KERNEL = (404, 409, 410)     # the kernel may be lost
STARTS = (404, 409, 410, 504, 507)


def idempotency(within):
    return Field("Idempotency-Key", "text", f"The same key never runs code twice {within}",
                 place="header", least=1, most=128)


def moment(name, doc, required=False):
    return Field(name, "text", doc, required=required, form="date-time")
