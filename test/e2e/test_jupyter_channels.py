"""The WebSockets of a kernel: its replies, several clients, messages that are buffered for a disconnected client."""
import contextlib
import struct
import time

import pytest
import websocket
from reckon_serve import SECONDS
from test_jupyter_server import Channels, ask, kernel, pytestmark, start  # noqa: F401
from waiting import eventually


def until(channels, kind, parent=None):
    while True:
        message = channels.receive()
        if message["msg_type"] == kind and parent in (None, message["parent_header"]):
            return message["content"]


def state_of(server, own):
    return ask(server, "GET", f"/kernels/{own}").json


def has_run(server, count):
    """Whether `count` cells of the only live session have ended."""
    [session] = server.ask("GET", "/sessions?status=live").json["sessions"]
    cells = server.ask("GET", f"/sessions/{session['id']}/executions").json["executions"]
    return len(cells) == count and not session["pending"]


# ---- replies --------------------------------------------------------------------------------

def test_is_complete_request(server):
    with kernel(server) as (_, channels):
        for code, status in (("1", "complete"), ("def f(x):\n  return x*2\n\n\n", "complete"),
                             ("print('''hello", "incomplete"), ("def f(x):\n  x*2", "incomplete"),
                             ("import = 7q", "invalid")):
            [(kind, found)] = channels.request("is_complete_request", {"code": code})
            assert (kind, found["status"]) == ("is_complete_reply", status)
            assert ("indent" in found) == (status == "incomplete")
        [(_, found)] = channels.request("is_complete_request", {"code": "for i in x:"})
        assert found["indent"] == "    "
    with kernel(server, name="bash") as (_, channels):
        [(_, found)] = channels.request("is_complete_request", {"code": "if true; then"})
        assert found["status"] == "incomplete"


def test_history_request(server):
    with kernel(server) as (own, channels):
        def history(**options):
            [(kind, found)] = channels.request("history_request", {"output": False, "raw": True, **options})
            assert (kind, found["status"]) == ("history_reply", "ok")
            return found["history"]

        assert history(hist_access_type="tail", n=10) == []
        for code in ("a = 1", "b = 2", "a = 1", "ü = 3"):
            channels.run(code)
        channels.run("hidden = 1", silent=True)
        channels.run("hidden = 1", store_history=False)
        assert history(hist_access_type="tail", n=2) == [[1, 3, "a = 1"], [1, 4, "ü = 3"]]
        assert history(hist_access_type="range", session=0, start=1, stop=3) == [
            [1, 1, "a = 1"], [1, 2, "b = 2"]]
        assert history(hist_access_type="search", pattern="a*", unique=True) == [[1, 3, "a = 1"]]
        assert history(hist_access_type="tail", n=1, output=True) == [[1, 4, ["ü = 3", None]]]
        assert ask(server, "POST", f"/kernels/{own}/restart").status == 200
        assert history(hist_access_type="tail", n=10) == []
        assert channels.run("1")[0][1]["execution_count"] == 1


def test_expressions_and_comms(server):
    with kernel(server) as (_, channels):
        seen = channels.run("x = 6", user_expressions={"a": "x * 7", "b": "1 / 0", "c": 3})
        found = seen[-1][1]["user_expressions"]
        assert found["a"] == {"status": "ok", "data": {"text/plain": "42"}, "metadata": {}}
        assert (found["b"]["status"], found["b"]["ename"]) == ("error", "ZeroDivisionError")
        assert (found["c"]["status"], found["c"]["ename"]) == ("error", "TypeError")
        assert set(found) == {"a", "b", "c"} and seen[-1][1]["execution_count"] == 1
        found = channels.run("x", user_expressions={f"e{i}": f"x + {i}" for i in range(18)})[-1][1][
            "user_expressions"]
        assert found["e15"]["data"]["text/plain"] == "21" and len(found) == 18
        assert found["e16"] == found["e17"] == {
            "status": "error", "ename": "TooManyExpressions", "traceback": [],
            "evalue": "only the first 16 expressions are evaluated"}
        assert channels.run("1 / 0", user_expressions={"a": "x"})[-1][1]["status"] == "error"
        seen = channels.request("comm_open", {"comm_id": "c", "target_name": "t", "data": {}})
        assert [kind for kind, _ in seen] == ["stream", "comm_close"]
        assert seen[0][1] == {"name": "stderr", "text": "No such comm target: t\n"}
        assert channels.request("comm_msg", {"comm_id": "c", "data": {}}) == [
            ("stream", {"name": "stderr", "text": "No such comm: c\n"})]
        assert channels.request("comm_close", {"comm_id": "c", "data": {}}) == []
        assert channels.request("comm_info_request", {"target_name": "t"})[0][1]["comms"] == {}
        # Also on the control channel, as Jupyter Server and VS Code send it.
        [(kind, info)] = channels.request("kernel_info_request", {}, "control")
        assert kind == "kernel_info_reply" and info["protocol_version"] == "5.4"
        # A message to an unknown channel is ignored.
        channels.send("execute_request", {"code": "nobody = 1"}, "nowhere")
        assert channels.run("nobody")[-1][1]["ename"] == "NameError"


# ---- several clients ------------------------------------------------------------------------

def test_two_clients_of_one_kernel(server):
    with kernel(server) as (own, one):
        two = Channels(server, own, is_v1=True, session="other")
        eventually(lambda: state_of(server, own)["connections"] == 2)
        header = one.send("execute_request", {"code": "x = 6\nprint('süß')\nx * 7"})
        # The other client gets all messages but the reply.
        seen = two.until_idle(header)
        assert [kind for kind, _ in seen] == ["execute_input", "stream", "execute_result"]
        assert seen[0][1]["execution_count"] == 1 and seen[1][1]["text"] == "süß\n"
        assert one.until_idle(header)[-1][0] == "execute_reply"
        # Numbers of cells and the variables are the kernel's.
        assert two.run("x")[1][1] == {"data": {"text/plain": "6"}, "metadata": {}, "transient": {},
                                      "execution_count": 2}
        # Both at once: each client gets its own reply, and the cells run one after the other.
        headers = [each.send("execute_request", {"code": f"x += 1; print({i})"})
                   for i, each in enumerate((one, two))]
        for each, header in zip((one, two), headers, strict=True):
            assert each.until_idle(header)[-1][1]["status"] == "ok"
        assert one.run("x")[1][1]["data"]["text/plain"] == "8"
        # A client that disconnects does not affect the other; nothing is buffered for it.
        two.close()
        eventually(lambda: state_of(server, own)["connections"] == 1)
        assert ask(server, "GET", "/status").json["connections"] == 1
        one.run("print('missed')")
        again = Channels(server, own, session="other")
        assert again.run("1")[-1][1]["status"] == "ok"
        again.close()


def test_a_new_connection_of_a_session_replaces_the_old_one(server):
    with kernel(server) as (own, first):
        header = first.send("execute_request", {"code": "print(1, flush=True)\nimport time\n"
                                                        "time.sleep(1); print(2)\n7"})
        until(first, "stream", header)
        second = Channels(server, own)
        opcode, _ = first.socket.recv_data()
        while opcode != websocket.ABNF.OPCODE_CLOSE:
            opcode, _ = first.socket.recv_data()
        # The new connection gets the remaining messages with the reply.
        assert until(second, "stream", header)["text"] == "2\n"
        assert until(second, "execute_reply", header)["status"] == "ok"
        assert until(second, "status", header)["execution_state"] == "idle"
        assert state_of(server, own)["connections"] == 1
        second.close()


def test_messages_are_buffered_for_a_disconnected_client(server):
    with kernel(server) as (own, channels):
        headers = [channels.send("execute_request", {"code": code}) for code in (
            "print(1, flush=True)\nimport time; time.sleep(0.5); print(2)", "print(3); 4", "1 / 0", "5")]
        until(channels, "stream", headers[0])
        channels.close()
        eventually(lambda: has_run(server, 3) and state_of(server, own)["connections"] == 0)
        again = Channels(server, own)
        assert until(again, "stream", headers[0])["text"] == "2\n"
        assert until(again, "execute_reply", headers[0])["status"] == "ok"
        assert until(again, "stream", headers[1])["text"] == "3\n"
        assert until(again, "execute_result", headers[1])["data"]["text/plain"] == "4"
        assert until(again, "execute_reply", headers[2])["status"] == "error"
        assert until(again, "execute_reply", headers[3])["status"] == "aborted"
        assert again.run("6")[-1][1]["execution_count"] == 4
        again.close()
        # The buffer is sent once: neither this session nor another one gets it again.
        for session in ("s", "t"):
            again = Channels(server, own, session=session)
            header = again.send("kernel_info_request", {})
            assert again.receive()["parent_header"] == header
            again.close()


def test_another_session_clears_the_buffer(server):
    with kernel(server) as (own, channels):
        header = channels.send("execute_request", {"code": "print(1, flush=True)\nimport time\n"
                                                           "time.sleep(0.5); print(2)"})
        until(channels, "stream", header)
        channels.close()
        eventually(lambda: state_of(server, own)["execution_state"] == "idle")
        for session in ("t", "s"):
            other = Channels(server, own, session=session)
            header = other.send("kernel_info_request", {})
            assert other.receive()["parent_header"] == header
            other.close()


def test_an_input_request_reaches_a_client_that_reconnects(server):
    with kernel(server) as (own, channels):
        header = channels.send("execute_request", {
            "code": "print(1, flush=True)\nimport time; time.sleep(0.5)\ninput('? ')",
            "allow_stdin": True})
        until(channels, "stream", header)
        channels.close()
        eventually(lambda: state_of(server, own)["connections"] == 0)
        again = Channels(server, own)
        assert until(again, "input_request", header)["prompt"] == "? "
        again.send("input_reply", {"value": "süß"}, "stdin")
        assert until(again, "execute_result", header)["data"]["text/plain"] == "'süß'"
        again.close()


def test_the_buffer_of_a_disconnected_client_is_limited(server):
    with kernel(server) as (own, channels):
        header = channels.send("execute_request", {
            "code": "print(1, flush=True)\nimport time; time.sleep(0.5)"})
        for _ in range(30):
            last = channels.send("execute_request", {"code": "print('x' * 900000)"})
        until(channels, "stream", header)
        channels.close()
        eventually(lambda: has_run(server, 31))
        again = Channels(server, own)
        notice = until(again, "stream")
        assert notice["name"] == "stderr" and "were left out" in notice["text"]
        text = ""
        while not text.endswith("\n"):
            text += until(again, "stream", last)["text"]
        assert text == "x" * 900000 + "\n"
        assert until(again, "execute_reply", last)["status"] == "ok"
        again.close()


# ---- interrupts, restarts, ends -------------------------------------------------------------

def test_an_interrupt_over_http(server):
    with kernel(server) as (own, channels):
        header = channels.send("execute_request", {"code": "print(1, flush=True)\n"
                                                           "import time; time.sleep(600)"})
        until(channels, "stream", header)
        assert ask(server, "POST", f"/kernels/{own}/interrupt", "{}").status == 204
        assert until(channels, "error", header)["ename"] == "KeyboardInterrupt"
        assert until(channels, "execute_reply", header)["ename"] == "KeyboardInterrupt"
        assert channels.run("1")[-1][1]["status"] == "ok"


def test_a_restart_while_a_cell_runs(server):
    with kernel(server) as (own, channels):
        other = Channels(server, own, session="other")
        channels.run("x = 1")
        header = channels.send("execute_request", {
            "code": "print(1, flush=True)\nimport time\ntime.sleep(600)"})
        later = channels.send("execute_request", {"code": "never = 1", "stop_on_error": False})
        until(channels, "stream", header)
        assert ask(server, "POST", f"/kernels/{own}/restart").json["id"] == own
        assert until(channels, "execute_reply", header)["status"] == "error"
        assert until(channels, "execute_reply", later)["status"] == "aborted"
        # The connection continues with a fresh kernel; the other client is notified.
        assert channels.run("x")[-1][1]["ename"] == "NameError"
        assert channels.run("never")[-1][1]["ename"] == "NameError"
        assert until(other, "shutdown_reply") == {"status": "ok", "restart": True}
        while until(other, "status")["execution_state"] != "starting":
            pass
        other.close()


def test_a_restart_ends_a_cell_that_ignores_interrupts(server):
    with kernel(server) as (own, channels):
        header = channels.send("execute_request", {
            "code": "import time\nprint(1, flush=True)\nwhile True:\n"
                    "    try:\n        time.sleep(1)\n    except KeyboardInterrupt:\n        pass"})
        until(channels, "stream", header)
        assert ask(server, "POST", f"/kernels/{own}/restart").status == 200
        assert channels.run("6 * 7")[1][1]["data"]["text/plain"] == "42"


def test_the_end_of_a_kernel_closes_its_connections(server):
    own = start(server)
    both = [Channels(server, own, session=each) for each in "ab"]
    both[0].send("execute_request", {"code": "while True: pass"})
    until(both[0], "execute_input")
    assert ask(server, "DELETE", f"/kernels/{own}").status == 204
    for each in both:
        with contextlib.suppress(websocket.WebSocketConnectionClosedException):
            opcode, _ = each.socket.recv_data()
            while opcode != websocket.ABNF.OPCODE_CLOSE:
                opcode, _ = each.socket.recv_data()
        each.close()


def test_clients_that_disconnect_without_a_close_frame(server):
    """Cells of these clients run or wait. Their connections are not counted any more; the kernel still works."""
    with kernel(server) as (own, channels):
        for i in range(20):
            one = Channels(server, own, session=f"s{i}")
            one.send("execute_request", {"code": f"y = {i}\nprint('x' * 100000)"})
            one.send("execute_request", {"code": "y"})
            one.socket.sock.close()
        eventually(lambda: state_of(server, own)["connections"] == 1)
        assert channels.run("6 * 7")[1][1]["data"]["text/plain"] == "42"


# ---- frames that are wrong ------------------------------------------------------------------

def frame(first, payload, length=None, mask=b"abcd"):
    """A frame of a client with this first byte, payload and declared length."""
    length = len(payload) if length is None else length
    head = struct.pack("!BB", first, (0x80 if mask else 0) | (length if length < 126 else 127))
    head += struct.pack("!Q", length) if length >= 126 else b""
    return head + mask + bytes(byte ^ mask[i % 4] if mask else byte for i, byte in enumerate(payload))


@pytest.mark.parametrize("data, code", [
    (frame(0x81, b"{}", mask=b""), 1002),  # not masked
    (frame(0xf1, b"{}"), 1002),  # bits of an extension that was not negotiated
    (frame(0x83, b"{}"), 1002),  # an unknown opcode
    (frame(0x80, b"{}"), 1002),  # continues no message
    (frame(0x01, b"{") + frame(0x81, b"}"), 1002),  # a new message inside another
    (frame(0x89, b"x" * 126), 1002),  # a ping that is too long
    (frame(0x09, b"x"), 1002),  # a ping in fragments
    (frame(0x81, b"\xff\xfe"), 1007),  # not UTF-8
    (frame(0x82, b"x", length=(64 << 20) + 1), 1009),  # at its first byte, not at the next ping
    (frame(0x02, b"x", length=1 << 62), 1009),
    (frame(0x88, b"x"), 1002),  # a close with half a code
    (b"\x81", None)])  # ends in the middle
def test_broken_frames_end_the_connection_but_not_the_kernel(server, data, code):
    with kernel(server) as (own, channels):
        other = Channels(server, own, session="other")
        header = channels.send("execute_request", {
            "code": "print(1, flush=True)\nimport time; time.sleep(0.3); x = 42"})
        until(channels, "stream", header)
        channels.socket.sock.sendall(data)
        if code is None:
            channels.socket.sock.close()
        with contextlib.suppress(OSError, websocket.WebSocketConnectionClosedException):
            opcode, closed = channels.socket.recv_data()
            while opcode != websocket.ABNF.OPCODE_CLOSE:
                opcode, closed = channels.socket.recv_data()
            assert closed[:2] in (struct.pack("!H", code), b"")
        # The cell continues, the other client gets its end, and the kernel still works.
        while until(other, "status", header)["execution_state"] != "idle":
            pass
        assert other.run("x")[1][1]["data"]["text/plain"] == "42"
        eventually(lambda: state_of(server, own)["connections"] == 1)
        other.close()


def test_a_message_over_the_limit_closes_with_1009(server):
    """A message of 64 MiB is read; one byte more is refused, whether it is sent or only announced."""
    for size, came in (((64 << 20) + 1, True), ((64 << 20) + 1, False), (64 << 20, True)):
        with kernel(server) as (_, channels):
            started = time.monotonic()
            head = struct.pack("!BBQ", 0x82, 0x80 | 127, size) + bytes(4)
            channels.socket.sock.sendall(head + (b" " * size if came else b""))
            if size > 64 << 20:
                opcode, closed = channels.socket.recv_data()
                while opcode != websocket.ABNF.OPCODE_CLOSE:
                    opcode, closed = channels.socket.recv_data()
                assert closed[:2] == struct.pack("!H", 1009)
            else:
                assert channels.run("6 * 7")[1][1]["data"]["text/plain"] == "42"
            assert time.monotonic() - started < 15


def test_data_after_a_wrong_frame_does_not_reset_the_connection(server):
    """A socket that is closed with unread bytes is reset, and a reset can overtake the close frame."""
    with kernel(server) as (_, channels):
        sock = channels.socket.sock
        sock.sendall(frame(0x83, b"{}") + b"y" * 300_000)
        sock.settimeout(SECONDS)
        came = b""
        while piece := sock.recv(65536):
            came += piece
        assert struct.pack("!H", 1002) in came[-130:]
        for _ in range(3):  # the server reads for a while, so that the client gets no reset
            sock.sendall(b"z" * 1000)
            time.sleep(0.05)


def test_connections_need_a_key(server):
    own = start(server)
    for key in ("", "rk_wrong", "x" * 5000):
        with pytest.raises(websocket.WebSocketBadStatusException) as refused:
            websocket.create_connection(f"ws://127.0.0.1:{server.port}/jupyter/api/kernels/{own}/channels",
                                        header=[f"Authorization: token {key}"], timeout=SECONDS)
        assert refused.value.status_code == 403
    # A session_id that is too long is ignored: the second connection does not replace the first.
    long = [Channels(server, own, session="x" * 1000) for _ in range(2)]
    for each in long:
        assert each.run("1")[-1][1]["status"] == "ok"
        each.close()
