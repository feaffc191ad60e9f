"""What many calls share, and what goes before each."""
from .model import Field, Struct

CALLER = Struct("caller", "Who calls, and what the call is known by in logs. Before each call.", (
    Field("key", "text", "The API key as it was presented; none: there was none", most=128),
    Field("request", "text", "The id of the client's request", least=1, most=64),
    Field("trace", "text", "32 digits of the trace, 16 of the request's span", least=48, most=48),
))

SESSION = Field("session", "id", "Id of a session, se_…", place="path", required=True)
NEXT = Field("next", "text", "Always null: this list has one page", nullable=True)
CODE = Field("code", "code", "What the cursor stands in", required=True, most=4 << 20)
CURSOR = Field("cursor", "number", "A byte offset; the end when left out", most=(1 << 53) - 1)
CONTEXT = Field("context", "id", "A context, ctx_…; the session's first kernel when left out")
CONTEXT_OF_QUERY = Field("context", "id", "A context, ctx_…", place="query")
