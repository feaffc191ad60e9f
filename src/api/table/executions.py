"""Executions: running, reading and cancelling them."""
from .common import (BEFORE, EVENTS, EXECUTION, FOLLOW, LIMIT, NEXT, SESSION, idempotency, moment)
from .model import Call, Field, Struct
from .sessions import DAY_MS, MADE_OF, NAMED, TOOL, life, name

TAG = ("Executions", "Code that runs in a session, and what became of it")
STREAM = ("Server-sent events with Jupyter's names (docs/events.md), `id` per event; `gap` says how "
          "many are missing, `failed` ends an execution without a record, `done` holds the record.")

EXECUTION_STRUCT = Struct("execution", "An execution without its record.", (
    Field("id", "text", "ex_…", required=True),
    Field("session", "text", "Id of its session", required=True),
    Field("sequence", "number", "Of the session, from 1", required=True),
    Field("status", "text", "queued, running, lost, failed, cancelled (before it began), or the "
          "record's", required=True),
    moment("created_at", "When it was asked for", required=True),
    moment("ended_at", "When it ended"),
    Field("why", "text", "There is no record"),
    Field("code", "code", "In lists: the first 400 bytes of what ran"),
    Field("code_bytes", "number", "In lists: how long it is"),
), schema="Execution")

EXECUTIONS = Struct("executions", "A page of a session's history.", (
    Field("executions", "many", "Newest first", required=True, of=EXECUTION_STRUCT),
    NEXT,
), schema="ExecutionList")

RECORD = Field("record", "json", "The record", place="whole",
               schema={"$ref": "#/components/schemas/Record"})

CODE = (
    Field("code", "code", "What runs, at most 4 MiB", required=True, most=4 << 20,
          example="print(6 * 7)"),
    Field("timeout_s", "seconds", "The session's `wall_s` when left out", least=1, most=DAY_MS),
    Field("max_text", "number", "Bytes of the record's `text`", least=1024, most=1 << 20),
)

ASKS = (
    Field("allow_input", "flag", "input() asks: an event `input_request` that POST …/input answers",
          default=False),
    Field("tools", "many", "Tools that the code may call: an event `tool_call` that POST "
          "…/tool_results answers; the session's when left out", of=TOOL, most=64),
    Field("wait_s", "seconds", "How long the code may wait for answers in all, while the time limit "
          "stands still; what `--tool-wait` says when left out (600)", least=1, most=DAY_MS),
)

# No session exists yet that could have tools.
ASKS_ONCE = (
    ASKS[0],
    Field("tools", "many", "With events: tools that the code may call, each call an event "
          "`tool_call` that POST …/tool_results of the session and execution answers", of=TOOL,
          most=64),
    ASKS[2],
)

RESULT_MAX = 5 << 20
TOOL_RESULT = Struct("tool_result", "What a call gave: one of value, error and denied.", (
    Field("id", "id", "Of the event `tool_call`", required=True),
    Field("value", "json", "What the call returns", most=RESULT_MAX, excludes=("error", "denied"),
          schema={}),
    Field("error", "text", "It failed: why", most=64 << 10, excludes=("denied",)),
    Field("denied", "text", "It may not be called: why", most=64 << 10),
), schema="ToolResult")

ONCE_FILE = Struct("once_file", "A file that is in the workspace before the code runs: one of text, "
                   "base64 and file.", (
    Field("path", "text", "In the workspace", required=True, least=1, most=4095),
    Field("text", "code", "What it holds", excludes=("base64", "file")),
    Field("base64", "base64", "The same, of any bytes", excludes=("file",)),
    Field("file", "id", "A file of the tenant, file_…, of which it is a copy; the key needs the "
          "scope `files` too"),
), schema="ExecutionFile")

STRUCTS = (EXECUTION_STRUCT, EXECUTIONS, TOOL_RESULT, ONCE_FILE)

CALLS = (
    Call("execute_once", "POST", "executions",
         "Run code in a new session, which ends with it or stays",
         "The record; with `stream` (or Accept: text/event-stream) events, of which the first, "
         "`execution`, names session and execution. " + STREAM, "execute",
         begins=True,
         description="Opens a session, runs the code in it, and ends the session: for programs that "
         "have nothing to do with each other. With `keep` the session stays: a new one and its "
         "first cell in one request. When the client goes away before the end the code is "
         "interrupted, and the session ends in any case; with an Idempotency-Key the code goes on, "
         "and the same request gets its record. The record, and the artifacts that it names, stay "
         "like those of any session; the record names the session.",
         takes=(idempotency("for a tenant"), *CODE, *MADE_OF, *ASKS_ONCE,
                Field("files", "many", "What is in the workspace before the code runs", most=100,
                      of=ONCE_FILE),
                Field("stream", "flag", "Answer with events"),
                Field("keep", "flag", "The session stays; the key needs the scope `sessions` too",
                      default=False),
                name("; with `keep`", ("keep", True)), *life("; with `keep`", ("keep", True))),
         gives=(RECORD, Field("execution", "one", "With `stream`, which asks for its events",
                              place="whole", of=EXECUTION_STRUCT)),
         errors=(404, 409, 410, 504, 507), operation="executeOnce", body="ExecutionOnce",
         streams="ExecutionEvent", head=("Reckon-Execution", "With events: the execution's id")),
    Call("execution_list", "GET", "sessions/{session}/executions",
         "History, newest first; also of sessions that are gone", "A page", "read",
         takes=(SESSION, LIMIT, BEFORE), gives=EXECUTIONS, errors=(404, 410),
         operation="listExecutions"),
    Call("execute", "POST", "sessions/{session}/executions", "Run a cell",
         "The record; with `stream` (or Accept: text/event-stream) events. " + STREAM, "execute",
         begins=True,
         needs_box=True, takes=(SESSION, idempotency("in a session"), *CODE, *ASKS,
                Field("env", "env", "Variables of its environment, for this code alone; at most 32 KiB",
                      most=256),
                Field("stream", "flag", "Answer with events", excludes=("background",)),
                Field("background", "flag", "Answer at once"),
                Field("context", "id",
                      "A context, ctx_…; the session's first kernel when left out"),
                Field("language", "text", "Of the code, such as bash. Without a context: the "
                      "session's first kernel when it has that language, else the session's oldest "
                      "context of it, which is opened when there is none", **NAMED),
                Field("on_disconnect", "word", "What becomes of it when the connection that waits "
                      "for it, or reads its events, is gone before the end; not with background",
                      words=("continue", "cancel"), excludes=("background",), default="continue"),
                Field("disconnect_grace_s", "seconds", "With cancel: so long a client may take to "
                      "come back", most=3600 * 1000, excludes=("background",),
                      needs=("on_disconnect", "cancel"), default=0)),
         gives=(RECORD, Field("execution", "one", "With `background`: queued", place="whole",
                              status=202, of=EXECUTION_STRUCT),
                Field("ended", "one", "Of a key that is known: it ended without a record",
                      place="whole", of=EXECUTION_STRUCT)),
         errors=(404, 409, 410, 507), body="ExecutionCreate",
         streams="ExecutionEvent", head=("Reckon-Execution", "With events: the execution's id")),
    Call("execution_show", "GET", "sessions/{session}/executions/{execution}",
         "The record, or how far it is", "The record when it has ended, else the execution", "read",
         takes=(SESSION, EXECUTION),
         gives=(RECORD, Field("execution", "one", "How far it is", place="whole",
                              of=EXECUTION_STRUCT)),
         errors=(404, 410), operation="showExecution", own_scope="execute"),
    Call("execution_events", "GET", "sessions/{session}/executions/{execution}/events",
         "Events, from the first that is kept or after an id", STREAM, "read",
         takes=(SESSION, EXECUTION, *FOLLOW), gives=EVENTS, errors=(404, 410), operation="events",
         own_scope="execute", streams="ExecutionEvent", gives_events=True),
    Call("execution_cancel", "POST", "sessions/{session}/executions/{execution}/cancel",
         "End an execution: one that waits leaves the queue (`cancelled`), one that runs is "
         "interrupted", "Whether it had not ended yet", "execute", takes=(SESSION, EXECUTION),
         gives=(Field("cancelled", "flag", "Whether it had not ended yet", required=True),),
         errors=(404, 410, 507), operation="cancelExecution"),
    Call("execution_input", "POST", "sessions/{session}/executions/{execution}/input",
         "Answer an `input_request`", "Taken", "execute",
         takes=(SESSION, EXECUTION,
                Field("text", "text", "The line; nothing of it is kept", most=64 << 10,
                      excludes=("end",)),
                Field("end", "flag", "Instead of a line: there is no more input"),
                Field("seq", "number", "Of the event: answers this question and no later one",
                      least=1)),
         errors=(404, 409, 410), operation="answerInput", body="InputAnswer"),
    Call("execution_tool_results", "POST",
         "sessions/{session}/executions/{execution}/tool_results",
         "Answer calls of tools, one or many", "Taken", "execute",
         takes=(SESSION, EXECUTION,
                Field("results", "many", "At most one for each call", required=True, of=TOOL_RESULT,
                      least=1, most=64)),
         gives=(Field("accepted", "number", "Calls that got their answer; the others had one already",
                      required=True),),
         errors=(404, 409, 410), operation="answerToolCalls", body="ToolResults"),
)
