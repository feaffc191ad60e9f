"""A minimal client of MCP over HTTP, for two versions of the protocol: one message at a time."""
import http.client
import json

MODERN, LEGACY = "2026-07-28", "2025-11-25"
META = "io.modelcontextprotocol/"


class Mcp:
    """A client of a reckon_serve.Server. `modern`: the version without a handshake and sessions of MCP.
    `name`: the name of the default session."""

    def __init__(self, server, modern=False, capabilities=None, name=None):
        self.server, self.modern, self.capabilities = server, modern, capabilities or {}
        self.more = {"Reckon-Session": name} if name else {}
        self.session, self.number, self.notifications = None, 0, []
        if not modern:
            status, headers, answer = self.post(self.message(
                "initialize", {"protocolVersion": LEGACY, "capabilities": self.capabilities,
                               "clientInfo": {"name": "test", "version": "1"}}))
            assert status == 200, answer
            self.session, self.about = headers["Mcp-Session-Id"], answer["result"]

    def message(self, method, params=None, token=None):
        self.number += 1
        params = dict(params or {})
        meta = {}
        if self.modern:
            meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": self.capabilities}
        if token is not None:
            meta["progressToken"] = token
        if meta:
            params["_meta"] = meta
        return {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}

    def headers(self, message):
        found = {"Content-Type": "application/json", "Authorization": f"Bearer {self.server.key}",
                 "Accept": "application/json, text/event-stream", **self.more}
        if self.session:
            found |= {"Mcp-Session-Id": self.session, "MCP-Protocol-Version": LEGACY}
        if self.modern and isinstance(message, dict):
            found |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": message["method"]}
            name = message["params"].get("name", message["params"].get("uri"))
            if name:
                found["Mcp-Name"] = name
        return found

    def post(self, message, headers=None, body=None):
        """(status, headers, response): notifications of a stream go to self.notifications."""
        connection = self.server.connect()
        try:
            connection.request("POST", "/mcp", body if body is not None else json.dumps(message),
                               {**self.headers(message), **(headers or {})})
            answer = connection.getresponse()
            text = answer.read()
            if answer.headers["Content-Type"] == "text/event-stream":
                return answer.status, answer.headers, self.last(text)
            return answer.status, answer.headers, json.loads(text) if text else None
        finally:
            connection.close()

    def last(self, text):
        found = None
        for line in text.decode().splitlines():
            if line.startswith("data: ") and line != "data: ":
                each = json.loads(line[6:])
                if "id" in each and "method" not in each:
                    found = each
                else:
                    self.notifications.append(each)
        return found

    def ask(self, method, params=None, token=None):
        status, _, answer = self.post(self.message(method, params, token))
        assert status == 200 and "result" in answer, (status, answer)
        return answer["result"]

    def call(self, tool, token=None, **arguments):
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, token)

    def run(self, code, **more):
        return self.call("run_code", code=code, **more)


def text_of(result):
    return "".join(block["text"] for block in result["content"] if block["type"] == "text")


__all__ = ["Mcp", "text_of", "MODERN", "LEGACY", "META", "http"]
