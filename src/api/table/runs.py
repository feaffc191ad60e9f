"""Runs: questions to models that answer by running code."""
from .common import EVENTS, FOLLOW, SESSION_MAX
from .model import Call, Field, Struct
from .sessions import DAY_MS, NAMED, TOOL

TAG = ("Runs", "Questions that a model answers by running code")
RUN_EVENTS = ("Server-sent events (docs/events.md), `id` per event: `run`, `text`, `thought`, "
              "`notice`, `discard`, `code`, `turn`, `cell`, those of the cell, `record`; `done` holds "
              "the answer, "
              "`failed` ends a run that could not begin.")

RUN_LIMITS = Struct("run_limits",
                    "Of this question; at most what the daemon's file of models says.", (
                        Field("steps", "number", "Cells", least=1, most=1000),
                        Field("tokens", "number", "In and out together", least=1, most=1000000000),
                        Field("budget", "money", "What it may cost, in the currency of the prices",
                              least=1, most=1000000 * 1000000),
                        Field("wall_s", "seconds", "By the clock", least=1, most=86400 * 1000),
                    ))

RUN_FILE = Struct("run_file", "A file that the model is told of.", (
    Field("path", "text", "In the workspace", required=True, least=1, most=4095),
    Field("text", "code", "What is put there", excludes=("base64",)),
    Field("base64", "base64", "The same, of any bytes"),
))

RUN_RESULT = Struct("run_result", "What a tool of the application's gave.", (
    Field("id", "text", "Of the call", required=True, least=1, most=256),
    Field("text", "code", "The result", required=True, most=2 << 20),
    Field("failed", "flag", "The tool could not do it"),
))

MODEL = Struct("model", "A model that can be asked.", (
    Field("name", "text", "PROVIDER/NAME, PROVIDER or an alias", required=True),
))

RUN = Struct("run", "A run that has no answer yet.", (
    Field("id", "text", "run_…", required=True),
    Field("session", "text", "Null while it is made", nullable=True),
    Field("model", "text", "PROVIDER/NAME", required=True),
    Field("status", "word", "ended: only of a request repeated with its Idempotency-Key in the "
          "background", required=True, words=("preparing", "running", "ended")),
    Field("tenant_runs", "number", "Runs of its tenant that are answered now, while it is one of "
          "them"),
    Field("tenant_runs_max", "number", "How many may be at once"),
), schema="Run")

ID = Field("id", "id", "Id of a run, run_…", place="path", required=True)
ANSWER = Field("answer", "json", "The answer", place="whole",
               schema={"$ref": "#/components/schemas/Answer"})

CONVERSATION = {"$ref": "#/components/schemas/Conversation"}

FORGOTTEN = Struct("forgotten", "What was removed.", (
    Field("runs", "number", "Runs, with their questions, answers and conversations", required=True),
    Field("executions", "number", "Executions, with code and outputs, of the sessions they ran in",
          required=True),
    Field("sessions", "number", "Sessions that had ended, with all that was kept of them",
          required=True),
    Field("documents", "number", "Of collections whose names begin with `conversation.`",
          required=True),
    Field("more", "flag", "Something goes on, or is left: ask again", required=True),
), schema="Forgotten")

STRUCTS = (RUN_LIMITS, RUN_FILE, RUN_RESULT, MODEL, RUN, FORGOTTEN)

CALLS = (
    Call("run_create", "POST", "agent", "A model answers a question by running code",
         "The answer; with `stream` (or Accept: text/event-stream) events. " + RUN_EVENTS, "agent",
         begins=True,
         needs_box=True, takes=(Field("Idempotency-Key", "text", "The same key never asks a model twice for a "
                      "tenant", place="header", least=1, most=128),
                Field("question", "text", "At most 1 MiB; without `conversation` and `continues` it "
                      "is needed", least=1, most=1 << 20, excludes=("conversation", "results"),
                      example="What is the median of column b?",
                      schema={"type": "string", "minLength": 1, "maxLength": 262144}),
                Field("conversation", "object", "Instead of a question: its last message is "
                      "answered (docs/conversation.schema.json)", most=15 << 20,
                      excludes=("continues",), schema=CONVERSATION),
                Field("continues", "id", "A run whose conversation goes on: with `results` of the "
                      "calls that it waits for, or a `question`; in its session and with its model "
                      "unless others are named"),
                Field("results", "many", "With `continues`", most=16, of=RUN_RESULT),
                Field("keep_conversation", "flag", "It can be continued; when left out, what has a "
                      "`conversation` or `continues` can, and a question cannot"),
                Field("model", "text", "PROVIDER/NAME of the daemon's file of models, or an alias; "
                      "the standard one without it", least=1, most=318),
                Field("session", "id", "Id or name; without it a new one is made", most=SESSION_MAX,
                      excludes=("keep", "template", "language")),
                Field("template", "text", "Of a new session, as are `language` and `keep`",
                      **NAMED),
                Field("language", "text", "Of its first kernel", **NAMED),
                Field("keep", "flag", "The new session stays; else it ends with the run"),
                Field("files", "many", "Files that the model learns of; one with content is put into "
                      "the workspace first, 6 MiB together", most=100, of=RUN_FILE, short="path"),
                Field("tools", "many", "Tools that the code of its cells may call: an event "
                      "`tool_call` that POST …/executions/{execution}/tool_results answers; the "
                      "model gets their names and descriptions", of=TOOL, most=64),
                Field("wait_s", "seconds", "How long a cell may wait for answers in all; what "
                      "`--tool-wait` says when left out (600)", least=1, most=DAY_MS),
                Field("limits", "one", of=RUN_LIMITS),
                Field("verify", "word", "Whether numbers and links of the answer are looked up in "
                      "the outputs of the run: ask tells what is in none of them once to the model, "
                      "which may correct itself; mark tells it with the answer alone (`checked`); as "
                      "the daemon's file of models says, else ask", words=("off", "mark", "ask")),
                Field("stream", "flag", "Answer with events", excludes=("background",)),
                Field("background", "flag", "Answer at once"),
                Field("on_disconnect", "word", "What becomes of it when the connection that waits "
                      "for it, or reads its events, is gone before the end; cancel when left out; "
                      "not with background", words=("continue", "cancel"),
                      excludes=("background",)),
                Field("disconnect_grace_s", "seconds", "With cancel: so long a client may take to "
                      "come back; 60 for a stream, else 0", most=3600 * 1000,
                      excludes=("background",), needs=("on_disconnect", "cancel", True)),
                Field("followed", "flag", "Its events are what the client waits for",
                      place="internal")),
         gives=(ANSWER, Field("run", "one", "With `background`: begun", place="whole", status=202,
                              of=RUN)),
         errors=(404, 409, 410, 507), operation="ask", body="Ask", streams="RunEvent",
         head=("Reckon-Run", "With events: the run's id")),
    Call("run_show", "GET", "agent/{id}", "A run: its answer, when it has ended", "It", "read",
         takes=(ID,), gives=(ANSWER, Field("run", "one", "How far it is", place="whole", of=RUN)),
         errors=(404, 410), operation="run", own_scope="agent"),
    Call("run_events", "GET", "agent/{id}/events",
         "Events of a run, from the first that is kept or after an id", RUN_EVENTS, "read",
         takes=(ID, *FOLLOW), gives=EVENTS, errors=(404, 410), operation="runEvents",
         own_scope="agent", streams="RunEvent", gives_events=True),
    Call("run_conversation", "GET", "agent/{id}/conversation",
         "The conversation of a run as it is after its end", "It", "read", takes=(ID,),
         gives=(Field("conversation", "json", place="whole", required=True,
                      schema=CONVERSATION),),
         errors=(404, 410), operation="runConversation", own_scope="agent"),
    Call("run_delete", "DELETE", "agent/{id}",
         "Remove a run that has ended: its answer, its events and its conversation", "Removed",
         "agent", takes=(ID,), errors=(404, 507), operation="deleteRun"),
    Call("run_forget", "DELETE", "agent", "Remove the conversations of a tenant, or of a key",
         "Removed", "agent",
         takes=(Field("tenant", "id", "Of this tenant; another than the key's own takes the scope "
                      "admin", place="query", schema={"type": "string"}),
                Field("key", "id", "Only runs that this key began; documents, which know no key, "
                      "stay", place="query", schema={"type": "string"}),
                Field("sessions", "flag", "The live sessions that they ran in end, and go as well",
                      place="query")),
         gives=FORGOTTEN, errors=(403, 404, 507), operation="forgetRuns"),
    Call("model_list", "GET", "models", "Models that this daemon asks", "Their names", "agent",
         gives=(Field("models", "many", "Each once; patterns of aliases are left out",
                      required=True, of=MODEL),), operation="listModels"),
    Call("run_interrupt", "POST", "agent/{id}/interrupt",
         "End a run: the model's answer and the cell that runs", "Whether it was going on", "agent",
         takes=(ID,),
         gives=(Field("interrupted", "flag", "Whether it was going on", required=True),),
         errors=(404, 410), operation="interruptRun"),
)
