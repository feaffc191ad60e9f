"""Schemas of the server-sent events that docs/events.md describes."""

ANY = {"type": "object"}
BUNDLE = {"data": {"type": "object", "description": "Media types and their content"},
          "metadata": ANY, "display_id": {"type": ["string", "null"]}}
USAGE = {"type": "object", "required": ["requests", "steps", "input_tokens", "cached_tokens",
                                        "output_tokens", "reasoning_tokens"],
         "properties": {name: {"type": "integer", "minimum": 0} for name in (
             "requests", "steps", "input_tokens", "cached_tokens", "output_tokens",
             "reasoning_tokens")}}
TEXT = {"type": "string"}
COMMAND = {"type": "object", "required": ["index", "count"],
           "description": "Which one of a call of the shell it is; the first one tells the call",
           "properties": {
               "index": {"type": "integer", "minimum": 0}, "count": {"type": "integer", "minimum": 1},
               "commands": {"type": "array", "items": TEXT},
               "timeout_ms": {"type": ["integer", "null"]},
               "max_output_length": {"type": ["integer", "null"]}}}
RECORD = {"$ref": "#/components/schemas/Record"}


def event(name, doc, required=(), /, **members):
    """Allows additional properties: readers ignore unknown ones."""
    return {"type": "object", "description": doc, "required": ["event", *required, *members],
            "properties": {"event": {"const": name}} | members}


def optional(made, /, **members):
    """Adds optional members to an event."""
    made["properties"] |= members
    return made


def of_execution(name, doc, /, **members):
    """Adds the members that every event of an execution has."""
    made = event(name, doc, ("seq", "t"), **members)
    made["properties"] |= {
        "seq": {"type": "integer", "minimum": 1, "description": "1, 2, 3, … in an execution"},
        "t": {"type": "number", "minimum": 0, "description": "Seconds since it began"}}
    return made


OF_CELL = {
    "StreamEvent": of_execution("stream", "The program printed",
                                name={"enum": ["stdout", "stderr"]}, text=TEXT),
    "DisplayEvent": of_execution("display_data", "Something was displayed", **BUNDLE),
    "UpdateDisplayEvent": of_execution(
        "update_display_data", "Replaces every display with this display_id", **BUNDLE),
    "ResultEvent": of_execution("execute_result", "The value of the cell", **BUNDLE),
    "ErrorEvent": of_execution("error", "The code raised",
                               error={"$ref": "#/components/schemas/RecordError"}),
    "ClearOutputEvent": of_execution("clear_output", "Displays so far are void",
                                     wait={"type": "boolean"}),
    "InputEvent": of_execution("input_request", "The program waits for a line of input",
                               prompt=TEXT, password={"type": "boolean"}),
    "ToolCallEvent": of_execution("tool_call", "The code calls a tool, and waits for its result",
                                  id=TEXT, name=TEXT, arguments=ANY,
                                  wait_s={"type": "integer", "minimum": 0}),
}
OF_STREAM = {
    "GapEvent": event("gap", "So many events are gone", missing={"type": "integer", "minimum": 1}),
    "FailedEvent": {"description": "The end, of what has no record and no answer: an error; the "
                    "event's name is `failed`", "type": "object", "required": ["error"],
                    "properties": {"error": ANY}},
}
EXECUTION_EVENTS = OF_CELL | {
    "ExecutionBeginEvent": event("execution", "First, where the request made the session: who it is",
                                 id=TEXT, session=TEXT),
    "DoneEvent": event("done", "The end", record=RECORD)} | OF_STREAM
RUN_EVENTS = {
    "RunBeginEvent": event("run", "The model is about to be asked", id=TEXT, session=TEXT,
                           model=TEXT),
    "TextEvent": event("text", "A piece of what the model says", text=TEXT),
    "ThoughtEvent": event("thought", "A piece of what it thinks", text=TEXT),
    "NoticeEvent": event("notice", "For example why it waits", text=TEXT),
    "DiscardEvent": event("discard", "What was said since the last turn does not hold: it comes "
                          "again, or not", text=TEXT),
    "SealedEvent": event("sealed", "What of its thoughts the provider wants back unchanged: `sealed` of "
                         "a conversation's message", sealed={"type": "object"}),
    "CodeEvent": event("code", "A piece of code while the model writes it", text=TEXT,
                       call={"type": "integer", "minimum": 0}),
    "TurnEvent": event("turn", "An answer of the model is complete; sums so far", usage=USAGE),
    "CellEvent": optional(event("cell", "This code is about to run", step={"type": "integer"},
                                execution=TEXT, code=TEXT), command=COMMAND),
    "RecordEvent": event("record", "What became of it", step={"type": "integer"}, execution=TEXT,
                         record={"anyOf": [RECORD, {"type": "null"}]}),
    "AnswerEvent": event("done", "The end",
                         answer={"$ref": "#/components/schemas/Answer"}),
} | OF_CELL | OF_STREAM

OF_FILE = {"path": {"type": "string", "description": "Relative to the folder"},
           "kind": {"enum": ["file", "folder"]}}
WATCH_EVENTS = {
    "WatchStartEvent": event("start", "From here on nothing is missed; `limited`: but of folders that "
                             "cannot be watched"),
    "FileCreateEvent": event("create", "Made, or moved here", **OF_FILE),
    "FileWriteEvent": event("write", "Its content changed", **OF_FILE),
    "FileRemoveEvent": event("remove", "Removed, or moved away", **OF_FILE),
    "FileRenameEvent": event("rename", "Moved within the folder", **OF_FILE, **{"from": TEXT}),
    "FileAttribEvent": event("attrib", "Its mode, owner or times changed", **OF_FILE),
    "WatchOverflowEvent": event("overflow", "Some changes were not told: list the folder"),
    "WatchLimitEvent": event("limit", "More folders than can be watched, this one first", **OF_FILE),
    "WatchEndEvent": event("end", "The folder, or the session's box, is gone"),
} | OF_STREAM

PROCESS_EVENTS = {
    "ProcessStartEvent": event("start", "The process runs", pid={"type": "integer"}),
    "ProcessOutputEvent": event("stream", "It wrote something", name={
        "enum": ["stdout", "stderr", "pty"]}, data={
            "type": "string", "contentEncoding": "base64", "description": "The bytes"}),
    "ProcessEndEvent": event("end", "The end", state={"enum": ["ended", "lost"]}),
} | OF_STREAM
