"""A model server that returns the replies of a script, in the real wire formats.

A script is a list of replies; each request gets the next one. A reply is independent of the protocol
(text, calls, usage, errors); the server encodes it for the protocol of the request:

    /chat/completions        OpenAI Chat Completions
    /responses               OpenAI Responses
    /v1/messages             Anthropic Messages
    …:streamGenerateContent  Gemini generateContent

A GET request lists the models, `models`, in the format of the protocol.
"""
import dataclasses
import http.server
import json
import socket
import ssl
import subprocess
import threading


@dataclasses.dataclass
class Reply:
    """One reply of the model."""
    text: str = ""
    thought: str = ""
    calls: list = dataclasses.field(default_factory=list)  # code, or {"raw": arguments, "id", "name"}
    usage: tuple = (100, 20)  # in, out
    cached: int = 0
    written: int = 0  # tokens written to a cache, only in Messages; not part of `usage`
    reasoning: int = 0
    stop: str = ""  # "length" or "filter"; else the protocol's value for a normal end
    status: int = 200
    error: dict | None = None  # body of a status other than 200
    headers: dict = dataclasses.field(default_factory=dict)
    broken_after: str = ""  # the message of an error within the stream
    cut: bool = False  # the connection closes instead of the end of the stream
    pieces: int = 7  # characters of one delta
    bytewise: bool = False  # every byte in its own packet
    raw: bytes | None = None  # the body of the stream, instead of the fields above
    endless: bytes | None = None  # repeated until the client disconnects


def code(source):
    return {"code": source}


def arguments_of(call):
    """The arguments of a call, as text."""
    if isinstance(call, str):
        return json.dumps({"code": call})
    return call["raw"] if "raw" in call else json.dumps(call["args"])


def id_of(call, index):
    return call.get("id", f"call_{index}") if isinstance(call, dict) else f"call_{index}"


def name_of(call, tool):
    return call.get("name", tool) if isinstance(call, dict) else tool


def split(text, size):
    return [text[i:i + size] for i in range(0, len(text), size)]


# ---- events of each protocol ------------------------------------------------------------------

def sse(data, name=None):
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def chat(reply, tool):
    """OpenAI Chat Completions."""
    def chunk(delta=None, finish=None, usage=None):
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
        return sse({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
                    "model": "m", "choices": choices, "usage": usage, "obfuscation": "x"})

    yield chunk({"role": "assistant", "content": ""})
    for piece in split(reply.thought, reply.pieces):
        yield chunk({"reasoning_content": piece})
    for piece in split(reply.text, reply.pieces):
        yield chunk({"content": piece})
    for i, call in enumerate(reply.calls):
        yield chunk({"tool_calls": [{"index": i, "id": id_of(call, i), "type": "function",
                                     "function": {"name": name_of(call, tool),
                                                  "arguments": ""}}]})
        for piece in split(arguments_of(call), reply.pieces):
            yield chunk({"tool_calls": [{"index": i, "function": {"arguments": piece}}]})
    if reply.broken_after:
        yield sse({"error": {"message": reply.broken_after, "type": "server_error",
                             "code": None, "param": None}})
        return
    if reply.cut:
        return
    finish = {"length": "length", "filter": "content_filter"}.get(
        reply.stop, "tool_calls" if reply.calls else "stop")
    yield chunk({}, finish)
    yield chunk(usage={"prompt_tokens": reply.usage[0], "completion_tokens": reply.usage[1],
                       "total_tokens": sum(reply.usage),
                       "prompt_tokens_details": {"cached_tokens": reply.cached},
                       "completion_tokens_details": {"reasoning_tokens": reply.reasoning}})
    yield b"data: [DONE]\n\n"


def responses(reply, tool):
    """OpenAI Responses."""
    number = iter(range(10 ** 6))

    def event(kind, **fields):
        return sse({"type": kind, "sequence_number": next(number), **fields}, kind)

    def whole(status, output, **fields):
        return {"id": "resp_1", "object": "response", "created_at": 1, "status": status,
                "model": "m", "output": output, **fields}

    output = []
    yield event("response.created", response=whole("in_progress", []))
    yield event("response.in_progress", response=whole("in_progress", []))
    if reply.thought:
        item = {"id": "rs_1", "type": "reasoning", "summary": [],
                "encrypted_content": "c2VjcmV0IHRob3VnaHRz"}
        yield event("response.output_item.added", output_index=0, item={**item, "summary": []})
        for piece in split(reply.thought, reply.pieces):
            yield event("response.reasoning_summary_text.delta", item_id="rs_1", output_index=0,
                        summary_index=0, delta=piece)
        item["summary"] = [{"type": "summary_text", "text": reply.thought}]
        output.append(item)
        yield event("response.output_item.done", output_index=0, item=item)
    if reply.text:
        at = len(output)
        item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": reply.text, "annotations": []}]}
        yield event("response.output_item.added", output_index=at,
                    item={**item, "content": [], "status": "in_progress"})
        for piece in split(reply.text, reply.pieces):
            yield event("response.output_text.delta", item_id="msg_1", output_index=at,
                        content_index=0, delta=piece, logprobs=[])
        yield event("response.output_text.done", item_id="msg_1", output_index=at,
                    content_index=0, text=reply.text)
        output.append(item)
        yield event("response.output_item.done", output_index=at, item=item)
    for i, call in enumerate(reply.calls):
        at, arguments = len(output), arguments_of(call)
        item = {"id": f"fc_{i}", "type": "function_call", "call_id": id_of(call, i),
                "name": name_of(call, tool), "arguments": arguments, "status": "completed"}
        yield event("response.output_item.added", output_index=at,
                    item={**item, "arguments": "", "status": "in_progress"})
        for piece in split(arguments, reply.pieces):
            yield event("response.function_call_arguments.delta", item_id=item["id"],
                        output_index=at, delta=piece)
        if reply.cut:
            return
        yield event("response.function_call_arguments.done", item_id=item["id"], output_index=at,
                    arguments=arguments)
        output.append(item)
        yield event("response.output_item.done", output_index=at, item=item)
    if reply.cut:
        return
    if reply.broken_after:
        error = {"type": "server_error", "code": "server_error", "message": reply.broken_after}
        yield event("error", error=error)
        yield event("response.failed", response=whole("failed", output, error=error))
        return
    usage = {"input_tokens": reply.usage[0], "output_tokens": reply.usage[1],
             "input_tokens_details": {"cached_tokens": reply.cached},
             "output_tokens_details": {"reasoning_tokens": reply.reasoning},
             "total_tokens": sum(reply.usage)}
    reason = {"length": "max_output_tokens", "filter": "content_filter"}.get(reply.stop)
    if reason:
        yield event("response.incomplete", response=whole(
            "incomplete", output, incomplete_details={"reason": reason}, usage=usage))
    else:
        yield event("response.completed", response=whole(
            "completed", output, incomplete_details=None, usage=usage))


def messages(reply, tool):
    """Anthropic Messages."""
    def event(kind, **fields):
        return sse({"type": kind, **fields}, kind)

    def block(start, deltas):
        nonlocal index
        yield event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        if not reply.cut:
            yield event("content_block_stop", index=index)
        index += 1

    index = 0
    cached, fresh = reply.cached, reply.usage[0] - reply.cached
    yield event("message_start", message={
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": fresh, "cache_read_input_tokens": cached,
                  "cache_creation_input_tokens": reply.written, "output_tokens": 1}})
    yield event("ping")
    if reply.thought:
        yield from block({"type": "thinking", "thinking": "", "signature": ""},
                         [{"type": "thinking_delta", "thinking": piece}
                          for piece in split(reply.thought, reply.pieces)]
                         + [{"type": "signature_delta", "signature": "c2lnbmVk"}])
        yield from block({"type": "redacted_thinking", "data": "aGlkZGVu"}, [])
    if reply.text:
        yield from block({"type": "text", "text": ""},
                         [{"type": "text_delta", "text": piece}
                          for piece in split(reply.text, reply.pieces)])
    for i, call in enumerate(reply.calls):
        yield from block({"type": "tool_use", "id": id_of(call, i), "name": name_of(call, tool),
                          "input": {}},
                         [{"type": "input_json_delta", "partial_json": piece}
                          for piece in ["", *split(arguments_of(call), reply.pieces)]])
    if reply.broken_after:
        yield event("error", error={"type": "overloaded_error", "message": reply.broken_after},
                    request_id="req_1")
        return
    if reply.cut:
        return
    reason = {"length": "max_tokens", "filter": "refusal", "pause": "pause_turn"}.get(
        reply.stop, "tool_use" if reply.calls else "end_turn")
    yield event("message_delta", delta={"stop_reason": reason, "stop_sequence": None},
                usage={"output_tokens": reply.usage[1],
                       "output_tokens_details": {"thinking_tokens": reply.reasoning}})
    yield event("message_stop")


def gemini(reply, tool):
    """Gemini generateContent, which counts the tokens of thoughts separately."""
    def chunk(parts=(), finish=None):
        candidate = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
        if finish:
            candidate["finishReason"] = finish
        return sse({"candidates": [candidate], "modelVersion": "m", "responseId": "r",
                    "usageMetadata": {
                        "promptTokenCount": reply.usage[0],
                        "cachedContentTokenCount": reply.cached,
                        "candidatesTokenCount": reply.usage[1] - reply.reasoning,
                        "thoughtsTokenCount": reply.reasoning,
                        "totalTokenCount": sum(reply.usage)}})

    for piece in split(reply.thought, reply.pieces):
        yield chunk([{"text": piece, "thought": True}])
    for piece in split(reply.text, reply.pieces):
        yield chunk([{"text": piece}])
    for i, call in enumerate(reply.calls):
        arguments = json.loads(arguments_of(call))
        function = {"name": name_of(call, tool), "args": arguments}
        if isinstance(call, dict) and "id" in call:
            function["id"] = call["id"]
        yield chunk([{"functionCall": function, "thoughtSignature": f"c2lnbmVk{i}"}])
    if reply.broken_after:
        yield sse({"error": {"code": 503, "message": reply.broken_after,
                             "status": "UNAVAILABLE"}})
        return
    if reply.cut:
        return
    yield chunk(finish={"length": "MAX_TOKENS", "filter": "SAFETY",
                        "malformed": "MALFORMED_FUNCTION_CALL"}.get(reply.stop, "STOP"))


PROTOCOLS = {"chat": chat, "responses": responses, "messages": messages, "gemini": gemini}


def protocol_of(path):
    if path.endswith("/chat/completions"):
        return "chat"
    if path.endswith("/responses"):
        return "responses"
    if path.endswith("/messages"):
        return "messages"
    if ":streamGenerateContent" in path:
        return "gemini"
    return None


def tool_of(protocol, body):
    """The name of the one tool in a request."""
    tools = body.get("tools") or [{}]
    if protocol == "chat":
        return tools[0].get("function", {}).get("name", "python")
    if protocol == "gemini":
        return tools[0].get("functionDeclarations", [{}])[0].get("name", "python")
    return tools[0].get("name", "python")


# ---- the server -------------------------------------------------------------------------------

@dataclasses.dataclass
class Asked:
    """One received request."""
    path: str
    headers: dict
    body: dict
    protocol: str


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        model = self.server.model
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        protocol = protocol_of(self.path.partition("?")[0])
        model.requests.append(Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, body,
                                 protocol))
        reply = model.next_reply(body)
        if reply is None or protocol is None:
            reply = Reply(status=404, error={"error": {"message": "the script is over"}})
        try:
            self.answer(reply, protocol, tool_of(protocol, body))
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            model.hung_up += 1
        self.close_connection = True

    def do_GET(self):
        model = self.server.model
        model.requests.append(Asked(self.path, {k.lower(): v for k, v in self.headers.items()}, {},
                                 "list"))
        status, kind, body = model.listing(self.path)
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Connection", "close")
            self.end_headers()
            for piece in body:
                self.wfile.write(piece)
                self.wfile.flush()
        except (BrokenPipeError, ConnectionResetError, ssl.SSLError):
            model.hung_up += 1
        self.close_connection = True

    def answer(self, reply, protocol, tool):
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if reply.status != 200:
            text = json.dumps(reply.error).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            return
        if "Content-Type" not in reply.headers:
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in [reply.raw] if reply.raw is not None else PROTOCOLS[protocol](reply, tool):
            self.put(event, reply.bytewise)
        while reply.endless is not None:
            self.put(reply.endless, False)

    def put(self, data, bytewise):
        for piece in split(data, 1) if bytewise else [data]:
            self.wfile.write(piece)
            self.wfile.flush()


class ModelServer:
    """Replies with `script`; `requests` lists the received requests.

    A script may also be a function from the body of a request to a reply.
    """

    def __init__(self, *script, models=("m",), port=0):
        self.script = list(script)
        self.models = models  # names; or a function of the path that returns status, type and pieces of the body
        self.requests = []
        self.hung_up = 0
        self.encrypted = False
        self.lock = threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.server.model = self

    def next_reply(self, body):
        with self.lock:
            if not self.script:
                return None
            reply = self.script[0] if callable(self.script[0]) else self.script.pop(0)
        return reply(body) if callable(reply) else reply

    def listing(self, path):
        """The list of models in the format of the requested API."""
        if callable(self.models):
            return self.models(path)
        if "pageSize=" in path:
            whole = {"models": [{"name": f"models/{name}", "version": "1",
                                 "supportedGenerationMethods": ["generateContent"]}
                                for name in self.models]}
        elif "limit=" in path:
            whole = {"data": [{"type": "model", "id": name, "display_name": name,
                               "created_at": "2026-01-01T00:00:00Z"} for name in self.models],
                     "has_more": False, "first_id": None, "last_id": None}
        else:
            whole = {"object": "list", "data": [{"id": name, "object": "model", "created": 1,
                                                 "owned_by": "x"} for name in self.models]}
        return 200, "application/json", [json.dumps(whole, ensure_ascii=False).encode()]

    @property
    def url(self):
        host = "https://localhost" if self.encrypted else "http://127.0.0.1"
        return f"{host}:{self.server.server_address[1]}"

    def encrypt(self, folder):
        """Switches to TLS, with a certificate for localhost; returns the file of the certificate."""
        key, certificate = folder / "model.key", folder / "model.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out",
                        certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True,
                                                 do_handshake_on_connect=False)
        self.encrypted = True
        return certificate

    def __enter__(self):
        # The default poll interval of half a second would delay the end of each test.
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
