"""Each limit of the MCP server at its edge: N is accepted; N + 1 is refused, or reported as
more."""
import base64
import collections
import json
import struct
import zlib

import pytest
from mcp_client import Mcp, text_of

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)
MIB = 1 << 20

# name, maximum, words of the refusal, tool, and its arguments with `n`
Row = collections.namedtuple("Row", "name most words tool arguments")


@pytest.fixture(scope="module")
def mcp(module_server):
    return Mcp(module_server, name="limits")


def put(server, mcp, path, body):
    """Put a file into the default session, which must exist."""
    session, = server.ask("GET", "/sessions?name=limits").json["sessions"]
    assert server.ask("PUT", f"/sessions/{session['id']}/files/{path}", body).status == 200
    return session["id"]


def write(**content):
    return {"action": "write", "path": "w", **content}


ROWS = [
    Row("text of a file", 8 * MIB, "8 MiB", "files", lambda n: write(text="x" * n)),
    Row("base 64 of a file", 8 * MIB, "8 MiB", "files", lambda n: write(base64=base64.b64encode(b"x" * n).decode())),
    Row("part of a file", 100000, "length", "files", lambda n: {"action": "read", "path": "w", "length": n}),
    Row("part of an output", 100000, "length", "output", lambda n: {"handle": "out_none", "length": n}),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_arguments(mcp, row):
    mcp.call("files", action="write", path="w", text="x")
    taken, over = (mcp.call(row.tool, **row.arguments(row.most + more)) for more in (0, 1))
    assert row.words not in text_of(taken), taken
    assert over["isError"] is True and row.words in text_of(over), over


def png(size):
    """An image of `size` bytes: a chunk of text fills it up."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    begin = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    end = chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    return begin + chunk(b"tEXt", b"x" * (size - len(begin) - len(end) - 12)) + end


def test_an_image_that_is_shown(module_server, mcp):
    mcp.run("1")
    for size in (384 << 10, (384 << 10) + 1):
        put(module_server, mcp, "i.png", png(size))
        kinds = [block["type"] for block in mcp.call("files", action="read", path="i.png")["content"]]
        assert ("image" in kinds) == (size == 384 << 10), kinds


def test_a_resource(module_server, mcp):
    mcp.run("1")
    for size in (8 * MIB, 8 * MIB + 1):
        session = put(module_server, mcp, "r.txt", b"x" * size)
        status, _, answer = mcp.post(mcp.message("resources/read", {"uri": f"reckon://files/{session}/r.txt"}))
        if size == 8 * MIB:
            assert len(answer["result"]["contents"][0]["text"]) == size
        else:
            assert "longer than 8 MiB" in json.dumps(answer["error"]), answer
    module_server.ask("DELETE", f"/sessions/{session}/files/r.txt")


def test_the_uri_of_a_resource(mcp):
    for size in (4399, 4400):
        _, _, answer = mcp.post(mcp.message("resources/read", {"uri": "reckon://".ljust(size, "x")}))
        assert ("too long" in answer["error"]["message"]) == (size == 4400), answer


def names(count, first=0):
    return [f"n{number:03}" for number in range(first, first + count)]


def pages(mcp):
    """The names of each page, which may be empty."""
    found, cursor = [], None
    while True:
        page = mcp.ask("resources/list", {"cursor": cursor} if cursor else None)
        found.append([each["name"] for each in page["resources"]])
        if (cursor := page.get("nextCursor")) is None:
            return found


def test_pages_of_files(module_server):
    """The files of a session beyond a page are on the next one, and the list of a folder says that
    more exist."""
    mcp = Mcp(module_server, name="pages")
    mcp.run(f"for n in {names(200)}: open(n, 'w').close()")
    assert [page for page in pages(mcp) if page] == [names(200)]
    assert "more files" not in text_of(mcp.call("files", action="list"))
    mcp.run("open('n200', 'w').close()")
    assert [page for page in pages(mcp) if page] == [names(200), ["n200"]]
    assert "more files" in text_of(mcp.call("files", action="list"))
    # Pages also continue between the files of other sessions.
    Mcp(module_server, name="newer").run("open('newer', 'w').close()")
    found = [name for page in pages(Mcp(module_server, modern=True)) for name in page]
    assert found[:202] == ["newer", *names(201)], found
    for wrong in ("x" * 4400, "x" * 60, 5):
        assert mcp.post(mcp.message("resources/list", {"cursor": wrong}))[2]["error"]["code"] == -32602


def test_files_of_a_cell(module_server):
    mcp = Mcp(module_server, name="cells")
    for count in (20, 21):
        answer = mcp.run(f"for n in {names(count, 100 * count)}: _ = open(n, 'w').write(n)")
        assert len(answer["structuredContent"]["files"]) == 20, answer
        assert ("1 more files changed" in text_of(answer)) == (count == 21), text_of(answer)
