"""Processes: programs with pipes or a terminal that run in a session next to its kernels."""
from .common import (BEFORE_ROW, EVENTS, FOLLOW, IN_SESSION, LIMIT, NEXT, SESSION, idempotency,
                     moment)
from .model import Call, Field, Struct
from .sessions import DAY_MS

TAG = ("Processes", "Programs and terminals in a session, beside its kernels")
STREAM = ("Server-sent events (docs/events.md), `id` per event: `start`, then `stream` with the bytes "
          "that the process wrote, in base 64, and `end` with the process; `gap` says how many are "
          "missing.")
SIGNALS = ("HUP", "INT", "QUIT", "KILL", "USR1", "USR2", "PIPE", "ALRM", "TERM", "CONT", "STOP",
           "TSTP", "TTIN", "TTOU", "WINCH")
CAUSES = ("exit", "signal", "timeout", "cpu_limit", "out_of_memory", "system_call",
          "session_ended")
SIDE_MAX = 1000

PROCESS = Field("process", "id", "Id of a process, pr_…", place="path", required=True)
ROWS = Field("rows", "number", "Lines; 24 when left out", least=1, most=SIDE_MAX)
COLS = Field("cols", "number", "Characters of a line; 80 when left out", least=1, most=SIDE_MAX)

ARGUMENT = Struct("argument", "One argument.", (
    Field("text", "text", "What it is", required=True, most=128 << 10),
))
PTY = Struct("pty", "A pseudo-terminal, which is standard input, output and error.", (ROWS, COLS),
             schema="Pty")
PROCESS_STRUCT = Struct("process", "A process that a client started.", (
    Field("id", "text", "pr_…", required=True),
    Field("session", "text", "Id of its session", required=True),
    Field("pid", "number", "Inside the session's box", required=True),
    Field("tag", "text", "As it was given", nullable=True),
    Field("command", "text", "As it was given; in lists its beginning"),
    Field("argv", "json", "Else: the program and its arguments; not in lists when that is long",
          schema={"type": "array", "items": {"type": "string"}}),
    Field("cwd", "text", "Where it began", required=True),
    Field("pty", "one", "Its terminal", of=PTY),
    Field("stdin", "flag", "Its standard input can be written", required=True),
    Field("detach", "flag", "What it left running may stay", required=True),
    Field("state", "word", '"lost": the box or the daemon ended before it, and it with them',
          required=True, words=("running", "ended", "lost")),
    Field("cause", "word", "Why it ended", words=CAUSES),
    Field("exit_code", "number", "Of a process that exited"),
    Field("signal", "text", "That ended it, such as TERM"),
    Field("why", "text", "More about the end"),
    moment("created_at", "When it was started", required=True),
    moment("ended_at", "When it ended"),
    Field("last_event", "number", "Id of its latest event: what comes after it is new",
          required=True),
    Field("usage", "json", "What it used with all that it started, measured from outside",
          schema={"type": "object", "properties": {
              "wall_s": {"type": "number"}, "cpu_user_s": {"type": "number"},
              "cpu_system_s": {"type": "number"}, "memory_peak_bytes": {"type": "integer"},
              "processes_peak": {"type": "integer"}, "read_bytes": {"type": "integer"},
              "written_bytes": {"type": "integer"}, "limits": {
                  "type": "object", "description": "Its own, of which the session's are above",
                  "properties": {"wall_s": {"type": "number"}, "cpu_s": {"type": "number"}}}}}),
    Field("files", "json", "What changed in the workspace up to its end; at most 200 paths. What ran "
          "at the same time may have done it", schema={"type": "object", "properties": {
              "changed": {"type": "array", "items": {"type": "string"}},
              "artifacts": {"type": "array", "items": {"type": ["string", "null"]},
                            "description": "Of each that changed, its content; null: none is kept"},
              "deleted": {"type": "array", "items": {"type": "string"}},
              "truncated": {"type": "boolean"}}}),
), schema="Process")
PROCESSES = Struct("processes", "A page of a session's processes.", (
    Field("processes", "many", "Newest first", required=True, of=PROCESS_STRUCT),
    NEXT,
), schema="ProcessList")

STRUCTS = (ARGUMENT, PTY, PROCESS_STRUCT, PROCESSES)
STARTS = (404, 409, 410, 413, 504, 507)

CALLS = (
    Call("process_create", "POST", "sessions/{session}/processes",
         "Start a program in the session, with pipes or a terminal",
         "Started; with `stream` (or Accept: text/event-stream) events. " + STREAM, "execute",
         begins=True,
         description="It runs beside the session's kernels, behind the same walls and within the "
         "session's limits, until it ends or the session does, whoever follows it.", needs_box=True, takes=(
             SESSION, idempotency("in a session, and the answer is the process that it began"),
             Field("command", "text", "For /bin/sh -c", least=1, most=128 << 10,
                   excludes=("argv",), example="make -j2"),
             Field("argv", "many", "The program, which is looked for in PATH, and its arguments",
                   most=4096, of=ARGUMENT, short="text"),
             Field("cwd", "text", "Where it begins; /mnt/data when left out", form="path", least=1,
                   most=1023),
             Field("env", "env", "Variables above the session's own; at most 32 KiB", most=256),
             Field("timeout_s", "seconds", "Until it is killed with all that it started; none when "
                   "left out, or the quota max_wall_s", least=1, most=30 * DAY_MS),
             Field("cpu_s", "seconds", "The same by processor time", least=1, most=30 * DAY_MS),
             Field("stdin", "flag", "Its standard input is a pipe; else there is nothing to read",
                   default=False),
             Field("pty", "one", "It gets a terminal", of=PTY),
             Field("tag", "text", "A name by which it can be found", least=1, most=128,
                   form="line"),
             Field("detach", "flag", "What it leaves running when it ends may stay until the "
                   "session ends; else it is killed", default=False),
             Field("on_disconnect", "word", "What becomes of it when nobody follows its events any "
                   "more", words=("continue", "kill"), default="continue"),
             Field("disconnect_grace_s", "seconds", "With kill: so long a client may take to come "
                   "back", most=3600 * 1000, needs=("on_disconnect", "kill"), default=0),
             Field("when_full", "word", "What happens when it writes faster than a client reads: "
                   "the oldest events are dropped, or the program waits for those who follow it",
                   words=("drop", "wait"), default="drop"),
             Field("stream", "flag", "Answer with events"),
         ), gives=PROCESS_STRUCT, status=201, errors=STARTS, operation="createProcess",
         body="ProcessCreate", streams="ProcessEvent",
         head=("Reckon-Process", "With events: the process's id")),
    Call("process_list", "GET", "sessions/{session}/processes",
         "Processes that run and ran, newest first; also of sessions that are gone", "A page",
         "read", takes=(
             SESSION, LIMIT, BEFORE_ROW,
             Field("tag", "text", "Those with this tag", place="query", least=1, most=128,
                   form="line"),
             Field("pid", "number", "Those that have, or had, this pid inside", place="query",
                   least=1, most=(1 << 31) - 1),
             Field("state", "word", "Those in this state", place="query",
                   words=("running", "ended", "lost")),
         ), gives=PROCESSES, errors=(404, 410), operation="listProcesses"),
    Call("process_show", "GET", "sessions/{session}/processes/{process}", "Show a process",
         "The process", "read", takes=(SESSION, PROCESS), gives=PROCESS_STRUCT, errors=(404, 410),
         operation="showProcess", own_scope="execute"),
    Call("process_wait", "GET", "sessions/{session}/processes/{process}/wait",
         "Wait for the end of a process", "The process, once it has ended or the time is over",
         "read", takes=(SESSION, PROCESS,
                        Field("timeout_s", "seconds", "How long it may run; an hour when left out",
                              place="query", most=DAY_MS)),
         gives=PROCESS_STRUCT, errors=(404, 410), operation="waitForProcess",
         own_scope="execute"),
    Call("process_events", "GET", "sessions/{session}/processes/{process}/events",
         "Events, from the first that is kept or after an id; for any number of readers", STREAM,
         "read", takes=(SESSION, PROCESS, *FOLLOW), gives=EVENTS, errors=(404, 410),
         operation="processEvents", own_scope="execute", streams="ProcessEvent",
         gives_events=True),
    Call("process_stdin", "POST", "sessions/{session}/processes/{process}/stdin",
         "Write to the standard input, or to the terminal, of a process",
         "The process can read all of it", "execute", needs_box=True, takes=(
             SESSION, PROCESS,
             Field("data", "base64", "Bytes", most=4 << 20),
             Field("text", "code", "The same as text", most=4 << 20, excludes=("data",)),
             Field("close", "flag", "Nothing comes after it; a terminal has no such end: send its "
                   "end of file, Ctrl-D", default=False),
         ), gives=(Field("written", "number", "Bytes", required=True),),
         errors=(404, 409, 410), operation="writeProcess", body="ProcessInput"),
    Call("process_signal", "POST", "sessions/{session}/processes/{process}/signal",
         "Send a signal to a process", "Sent", "execute", needs_box=True, takes=(
             SESSION, PROCESS,
             Field("signal", "word", "Which", words=SIGNALS, default="TERM"),
             Field("to", "word", "Its process group, or the process alone",
                   words=("group", "process"), default="group"),
         ), errors=(404, 409, 410), operation="signalProcess", body="ProcessSignal"),
    Call("process_resize", "POST", "sessions/{session}/processes/{process}/resize",
         "Set the size of a process's terminal", "Set", "execute", needs_box=True, takes=(
             SESSION, PROCESS,
             Field("rows", "number", "Lines", required=True, least=1, most=SIDE_MAX),
             Field("cols", "number", "Characters of a line", required=True, least=1,
                   most=SIDE_MAX),
         ), errors=(404, 409, 410), operation="resizeProcess", body="ProcessSize"),
    Call("process_delete", "DELETE", "sessions/{session}/processes/{process}",
         "Kill a process and all that it started or left; its record stays", "It is being killed",
         "execute", needs_box=True, takes=(SESSION, PROCESS), errors=(404, 410), operation="killProcess"),
)
