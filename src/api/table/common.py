"""What many calls share, and what goes before each."""
from .model import Field, Struct

CALLER = Struct("caller", "Who calls, and what the call is known by in logs. Before each call.", (
    Field("key", "text", "The API key as it was presented; none: there was none", most=128),
    Field("request", "text", "The id of the client's request", least=1, most=64),
    Field("trace", "text", "32 digits of the trace, 16 of the request's span", least=48, most=48),
))

SESSION = Field("session", "id", "Id of a session, se_…", place="path", required=True)
EXECUTION = Field("execution", "id", "Id of an execution, ex_…", place="path", required=True)
CODE = Field("code", "code", "What the cursor stands in", required=True, most=4 << 20)
CURSOR = Field("cursor", "number", "A byte offset; the end when left out", most=(1 << 53) - 1)
CONTEXT = Field("context", "id", "A context, ctx_…; the session's first kernel when left out")
CONTEXT_OF_QUERY = Field("context", "id", "A context, ctx_…", place="query")
LIMIT = Field("limit", "number", "At most so many entries", place="query", least=1, most=500,
              default=100)
BEFORE = Field("before", "id", "Entries older than this id: `next` of the page before",
               place="query", schema={"type": "string", "pattern": "^(se|ex)_[0-9A-Z]{26}$"})
NEXT = Field("next", "text", "For `before`: the last entry; null: there is none", nullable=True)
NO_NEXT = Field("next", "text", "Always null: this list has one page", nullable=True)

IN_SESSION = (404, 410)
KERNEL = (404, 409, 410)     # its kernel may be lost
STARTS = (404, 409, 410, 504, 507)


def idempotency(within):
    return Field("Idempotency-Key", "text", f"The same key never runs code twice {within}",
                 place="header", least=1, most=128)


def moment(name, doc, required=False):
    return Field(name, "text", doc, required=required, form="date-time")
