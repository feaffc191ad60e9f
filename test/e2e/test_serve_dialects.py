"""Several dialect processes under one daemon: they hand connections over to each other, and a crash
affects one dialect only.

The daemon here has two dialects: native, which an attacker plays, and a toy
(test/support/two_dialects.py).
"""

import socket
import time

import field_table
import pytest
from captured_front import CALL, CLIENT, DATAGRAM, FILE, LISTENING, NOTHING, RETURNED, TWO
from reckon_serve import SECONDS, is_alive, memory_kib, wait_gone
from toy_dialect import HANDOFF
from two_dialects import NATIVE, TOY, TwoDialects

GET = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
HOPS_MAX = 8
MOST = 80 << 10
WAITING_BYTES_MAX = 8 << 20

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


def until(front, condition):
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, front.server.log()
        time.sleep(0.01)
    return found


def full(word):
    """A request head, followed by so many bytes that no more may be handed over."""
    return (GET % word).ljust(MOST, b"x")


def test_a_dialect_starts_with_its_first_connection(reckon):
    with TwoDialects(reckon) as front:
        assert front.dialects() == {"native": {"name": "native", "state": "up", "restarts": 0},
                                    "toy": {"name": "toy", "state": "idle", "restarts": 0}}
        for data in (GET % b"toy", full(b"toy"), b""):
            client = front.hand_off(data)
            if not data:
                client.sendall(GET % b"toy")
            answer = front.answer(client)
            assert (answer["hops"], answer["bytes"]) == (1, len(data))
        assert front.dialects()["toy"] == {"name": "toy", "state": "up", "restarts": 0}
        assert is_alive(answer["pid"])
        front.server.stop()
        wait_gone(answer["pid"])


def ask_by_toy(front, name, key, **values):
    """The same call as front.call(), by the toy's process."""
    kind, row = field_table.call(name)
    payload = field_table.image(field_table.table().common.CALLER, {"key": key, "request": "toy"}) + \
        field_table.image(row.takes_struct, values)
    answer = front.answer(front.hand_off((GET % b"call") + b"%d %s" % (kind, payload.hex().encode())))
    return answer["is_reply"], bytes.fromhex(answer["payload"])


def test_each_dialect_gets_its_own_replies(reckon):
    """Both dialects number their requests from 1 on."""
    with TwoDialects(reckon) as front:
        session = front.call("session_create", front.key, template="python")[1]["id"]
        is_reply, payload = ask_by_toy(front, "session_create", front.key, template="python")
        other = field_table.read(field_table.call("session_create")[1].gives_struct, payload)["id"]
        assert is_reply and other != session
        front.call("execute", front.key, session=other, code="x = 6")
        error, answer = front.call("execute", front.key, session=other, code="x * 7")
        assert error is None and b"42" in str(answer).encode()
        assert not ask_by_toy(front, "session_show", "rk_wrong", session=session)[0]
        assert ask_by_toy(front, "session_show", front.key, session=session)[0]


def test_a_crash_affects_one_dialect_only(reckon):
    with TwoDialects(reckon) as front:
        session = front.call("session_create", front.key, template="python")[1]["id"]
        front.call("execute", front.key, session=session, code="x = 6")
        pids = set()
        for crashes in range(1, 21):
            pids.add(front.answer(front.hand_off(GET % b"toy"))["pid"])
            assert front.answer(front.hand_off(GET % b"crash")) is None
            until(front, lambda: front.dialects()["toy"]["state"] == "down")
            assert front.dialects()["toy"]["restarts"] == crashes - 1
        assert len(pids) == 20
        assert front.dialects()["native"] == {"name": "native", "state": "up", "restarts": 0}
        error, answer = front.call("execute", front.key, session=session, code="x * 7")
        assert error is None and b"42" in str(answer).encode()
        # Without a connection the dialect is not started again.
        time.sleep(0.5)
        assert front.dialects()["toy"] == {"name": "toy", "state": "down", "restarts": 19}


def test_a_dialect_that_cannot_start_fails_only_its_own_clients(reckon):
    with TwoDialects(reckon) as front:
        program = front.slow.with_name("reckon-front-toy")
        hidden = program.rename(program.with_name("hidden"))
        for _ in range(3):
            assert front.answer(front.hand_off(GET % b"toy")) is None
        assert front.dialects()["toy"]["state"] == "down"
        hidden.rename(program)
        assert front.answer(until(front, lambda: front.hand_off(GET % b"toy")))["hops"] == 1


def test_handoffs_in_a_loop_end(reckon):
    with TwoDialects(reckon) as front:
        client = front.hand_off(GET % b"back")
        for hops in range(2, HOPS_MAX + 1, 2):
            assert front.receive_connection() == (hops, GET % b"back")
            front.send_handoff(HANDOFF.pack(TOY, hops) + GET % b"back", RETURNED)
        assert front.answer(client) is None
        # The last allowed handoff is served; one more closes the connection.
        assert front.answer(front.hand_off(GET % b"toy", hops=HOPS_MAX - 1))["hops"] == HOPS_MAX
        assert front.answer(front.hand_off(GET % b"toy", hops=HOPS_MAX)) is None
        assert "the front is gone" not in front.server.log()


def test_bytes_that_wait_for_a_start_are_bounded(reckon):
    with TwoDialects(reckon) as front:
        before = memory_kib(front.server.process.pid)
        front.slow.touch()
        fits = WAITING_BYTES_MAX // (MOST + HANDOFF.size)
        clients = [front.hand_off(full(b"toy")) for _ in range(fits + 20)]
        assert front.dialects()["toy"]["state"] == "starting"
        for client in clients[fits:]:
            assert front.answer(client) is None
        assert memory_kib(front.server.process.pid) - before < 3 * WAITING_BYTES_MAX >> 10
        front.slow.unlink()
        assert {front.answer(client)["hops"] for client in clients[:fits]} == {1}
        assert front.answer(front.hand_off(GET % b"toy"))["hops"] == 1
        assert front.server.log().count("too many wait already") == 1


def test_many_connections_wait_for_a_start(reckon):
    with TwoDialects(reckon) as front:
        front.slow.touch()
        clients = [front.hand_off(b"") for _ in range(300)]
        assert front.dialects()["toy"]["state"] == "starting"
        front.slow.unlink()
        for client in clients:
            client.sendall(GET % b"toy")
            assert front.answer(client)["hops"] == 1


TO_TOY = HANDOFF.pack(TOY, 0)


@pytest.mark.parametrize("payload, along, head", [
    (HANDOFF.pack(NATIVE, 0), CLIENT, {}),
    (HANDOFF.pack(2, 0), CLIENT, {}),
    (HANDOFF.pack(0xffffffff, 0), CLIENT, {}),
    (HANDOFF.pack(TOY, HOPS_MAX + 1), CLIENT, {}),
    (TO_TOY, NOTHING, {}),
    (TO_TOY, FILE, {}),
    (TO_TOY, DATAGRAM, {}),
    (TO_TOY, LISTENING, {}),
    (TO_TOY, TWO, {}),
    (TO_TOY, CLIENT, {"number": 1}),
    (TO_TOY, CLIENT, {"count": 1}),
    (TO_TOY, CLIENT, {"flags": CALL}),
    (TO_TOY[:-1], CLIENT, {}),
    (b"", CLIENT, {}),
    (TO_TOY + b"x" * (MOST + 1), CLIENT, {}),
], ids=["itself", "unknown", "unknown-far", "hops", "nothing", "file", "datagram", "listener", "two", "id", "fields",
        "call", "short", "empty", "long"])
def test_a_dialect_that_hands_over_wrongly_is_ended(reckon, payload, along, head):
    with TwoDialects(reckon) as front:
        clients = [front.connect() for _ in range({CLIENT: 1, TWO: 2}.get(along, 0))]
        front.send_handoff(payload, along, **head)
        assert front.sock.recv(1) == b""
        for client in clients:
            assert front.answer(client) is None
        assert is_alive(front.server.process.pid)
        assert "the front is gone" in front.server.log()
        assert "dialect=toy" not in front.server.log()


def test_handing_over_a_reset_connection_is_allowed(reckon):
    """The socket of a client that has gone is not a violation: an honest dialect may hand one over,
    too."""
    with TwoDialects(reckon) as front:
        client = front.connect()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        front.send_handoff(TO_TOY + GET % b"toy", CLIENT)
        assert front.dialects()["native"]["state"] == "up"
        assert "dialect=native" not in front.server.log()
