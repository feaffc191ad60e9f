"""Files of a session over HTTP: archives, folders, versions, conditions, links."""

import functools
import gzip
import hashlib
import io
import json
import lzma
import os
import pathlib
import re
import struct
import subprocess
import tarfile
import time
import zipfile
import zlib
from urllib.parse import quote, unquote

import pytest
from reckon_serve import Server, memory_kib
from waiting import eventually

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)


@pytest.fixture(scope="module")
def module_server(place):
    """One server for the module; each test has sessions of its own."""
    import tempfile

    from reckon_cli import Reckon
    with Server(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))) as running:
        yield running
        assert running.ask("GET", "/health").status == 200
        assert "level=error" not in running.log()


@pytest.fixture
def server(module_server):
    return module_server


def tar(*entries, mode="w", **options):
    """Entries are (name, bytes) or (name, attributes)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, **options) as archive:
        for name, what in entries:
            info = tarfile.TarInfo(name)
            if isinstance(what, bytes):
                info.size = len(what)
                archive.addfile(info, io.BytesIO(what))
                continue
            for attribute, value in what.items():
                setattr(info, attribute, value)
            archive.addfile(info)
    return out.getvalue()


def link(target, kind=tarfile.SYMTYPE):
    return {"type": kind, "linkname": target}


def make_zip(*entries, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in entries:
            archive.writestr(name, data)
    return out.getvalue()


def put_archive(server, session, data, query=""):
    return server.ask("PUT", f"/sessions/{session}/archive{query}", data)


def names(server, session, query=""):
    answer = server.ask("GET", f"/sessions/{session}/files{query}")
    assert answer.status == 200, answer
    return {each["path"] for each in answer.json["files"]}


def workspace_is_empty(server, session):
    """True if neither a file nor the temporary folder of an archive is left."""
    done = server.execute(session, "import os; print(sorted(os.listdir('/mnt/data')))")
    return done["stdout"] == "[]\n"


# ---- archives that are unpacked -----------------------------------------------------------------

@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_unpack_a_tar(server, session, mode):
    data = tar(("./a/b.txt", b"hello"), ("a/run", {"size": 0, "mode": 0o4755}), ("d", {
        "type": tarfile.DIRTYPE}), ("l", link("a/b.txt")), ("h", link("a/b.txt", tarfile.LNKTYPE)),
        mode=mode)
    answer = put_archive(server, session, data)
    assert answer.status == 200, answer
    unpacked = answer.json
    assert (unpacked["files"], unpacked["folders"], unpacked["links"], unpacked["replaced"]) == (2, 1, 2, 0)
    assert unpacked["bytes"] == 5
    record = server.execute(session, """
import os, stat
print(open('a/b.txt').read(), open('l').read(), open('h').read(), os.readlink('l'))
print(oct(stat.S_IMODE(os.stat('a/run').st_mode)), os.path.isdir('d'))
print({os.stat(each).st_uid for each in ('a', 'a/b.txt', 'd', 'h')} == {os.getuid()})
open('a/b.txt', 'a').write('!'); os.remove('a/run'); os.rmdir('d')
print(sorted(os.listdir()))""")
    assert record["stdout"] == "hello hello hello a/b.txt\n0o755 True\nTrue\n['a', 'h', 'l']\n"
    artifact = server.ask("GET", f"/artifacts/{unpacked['artifact']}")
    assert artifact.body == data


def test_unpack_a_zip_into_a_folder(server, session):
    data = make_zip(("x/é.txt", "ü"), ("y.bin", os.urandom(200_000)), ("e/", ""))
    answer = put_archive(server, session, data, "?path=in/deep")
    assert answer.status == 200, answer
    assert (answer.json["files"], answer.json["folders"]) == (2, 1)
    assert names(server, session) == {"in/deep/x/é.txt", "in/deep/y.bin"}
    assert server.execute(session, "print(open('in/deep/x/é.txt').read())")["stdout"] == "ü\n"


def test_unpack_zstandard(server, session, tmp_path):
    if not pathlib.Path("/usr/bin/zstd").exists():
        # Without the program zstd: the daemon packs an archive, which it then unpacks.
        server.ask("PUT", f"/sessions/{session}/files/a", b"zz")
        data = server.ask("GET", f"/sessions/{session}/archive?format=tar.zst").body
    else:
        data = subprocess.run(["zstd", "-c"], input=tar(("a", b"zz")), capture_output=True,
                              check=True).stdout
    assert data[:4] == b"\x28\xb5\x2f\xfd"
    assert put_archive(server, session, data, "?path=b").status == 200
    assert server.ask("GET", f"/sessions/{session}/files/b/a").body == b"zz"


def test_replaced_files_are_stored_as_versions(server, session):
    server.ask("PUT", f"/sessions/{session}/files/d/one", b"old")
    server.execute(session, "open('d/two', 'w').write('stays')")
    answer = put_archive(server, session, tar(("d/one", b"new"), ("d/three", b"3")))
    assert (answer.json["replaced"], answer.json["files"]) == (1, 2)
    assert names(server, session) == {"d/one", "d/two", "d/three"}
    versions = server.ask("GET", f"/sessions/{session}/versions/d/one").json["versions"]
    assert [server.ask("GET", f"/artifacts/{each['artifact']}").body for each in versions] == \
        [b"old"]
    # The unpacked content is not an upload: it is stored when another file replaces it.
    server.ask("PUT", f"/sessions/{session}/files/d/three", b"4")
    versions = server.ask("GET", f"/sessions/{session}/versions/d/three").json["versions"]
    assert [each["source"] for each in versions] == ["upload", "replaced"]
    assert server.ask("GET", f"/artifacts/{versions[1]['artifact']}").body == b"3"


HOSTILE_TARS = {
    "climbs": [("../x", b"1")],
    "climbs later": [("a/b/../../../x", b"1")],
    "absolute": [("/etc/x", b"1")],
    "absolute folder": [("/x", {"type": tarfile.DIRTYPE})],
    "link out": [("l", link("/etc/passwd"))],
    "link up": [("a/l", link("../../x"))],
    "link to nothing": [("l", link(""))],
    "file through a link": [("l", link("d")), ("d", {"type": tarfile.DIRTYPE}), ("l/x", b"1")],
    "folder through a link": [("d/e", b""), ("l", link("d")),
                              ("l/f", {"type": tarfile.DIRTYPE})],
    "link over a folder": [("d/e", b"1"), ("d", link("e"))],
    "hard link out": [("h", link("/etc/passwd", tarfile.LNKTYPE))],
    "hard link up": [("h", link("../../etc/passwd", tarfile.LNKTYPE))],
    "hard link to nothing": [("h", link("x", tarfile.LNKTYPE))],
    "hard link to a link": [("l", link("x")), ("h", link("l", tarfile.LNKTYPE))],
    "hard link to itself": [("h", link("h", tarfile.LNKTYPE))],
    "character device": [("d", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3})],
    "block device": [("d", {"type": tarfile.BLKTYPE, "devmajor": 8})],
    "pipe": [("p", {"type": tarfile.FIFOTYPE})],
    "file as folder": [("a", b"1"), ("a/b", b"2")],
    "folder as file": [("a/b", b"2"), ("a", b"1")],
    "deep": [("/".join("d" * 70), b"1")],
    "long component": [("n" * 256, b"1")],
    "too long": [("/".join(["n" * 200] * 22), b"1")],
}


@pytest.mark.parametrize("name", HOSTILE_TARS)
def test_hostile_tar(server, session, name):
    good = ("good", b"not to be seen either")
    data = tar(good, *HOSTILE_TARS[name], format=tarfile.PAX_FORMAT)
    answer = put_archive(server, session, data)
    assert answer.status in (400, 403, 404, 413), answer
    assert answer.code in ("invalid", "denied", "not_found", "limit")
    assert workspace_is_empty(server, session)


def hostile_zips():
    yield "climbs", make_zip(("../x", "1"))
    yield "absolute", make_zip(("/x", "1"))
    info = zipfile.ZipInfo("l")
    info.external_attr = (0o120777 << 16)
    yield "link out", make_zip((info, "/etc/passwd"))
    device = zipfile.ZipInfo("d")
    device.external_attr = (0o020666 << 16)
    yield "device", make_zip((device, ""))
    locked = bytearray(make_zip(("a", "secret"), method=zipfile.ZIP_STORED))
    locked[6] |= 1
    locked[locked.index(b"PK\1\2") + 8] |= 1
    yield "encrypted", bytes(locked)
    whole = make_zip(("a", os.urandom(100_000)))
    yield "cut", whole[:len(whole) // 2]
    wrong = bytearray(make_zip(("a", b"x" * 1000), method=zipfile.ZIP_STORED))
    wrong[200] ^= 0xff
    yield "wrong checksum", bytes(wrong)
    yield "no archive", b"PK\3\4" + b"\0" * 100
    # Every entry of the directory refers to the same compressed bytes: a small archive with large
    # content.
    kernel = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = kernel.compress(b"\0" * (64 << 20)) + kernel.flush()
    crc = zlib.crc32(b"\0" * (64 << 20))
    head = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 33, crc, len(packed), 64 << 20, 4, 0)
    directory = b"".join(
        struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 33, crc, len(packed), 64 << 20, 4,
                    0, 0, 0, 0, 0o100644 << 16, 0) + b"%04d" % n for n in range(200))
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 200, 200, len(directory),
                      len(head) + 4 + len(packed), 0)
    yield "bomb of one kernel", head + b"0000" + packed + directory + end


@pytest.mark.parametrize("name,data", [pytest.param(*each, id=each[0]) for each in hostile_zips()])
def test_hostile_zip(server, name, data):
    session = server.create(limits={"disk_bytes": 96 << 20})
    answer = put_archive(server, session, data)
    if name == "bomb of one kernel" and answer.status == 200:
        # The entries refer to one content, which is unpacked once.
        assert answer.json["bytes"] <= 64 << 20
        return
    assert answer.status in (400, 413), answer
    assert answer.code in ("invalid", "limit")
    if name == "encrypted":
        assert "encrypted" in answer.json["error"]["message"]
    assert workspace_is_empty(server, session)
    server.ask("DELETE", f"/sessions/{session}")


def test_bombs(server):
    session = server.create(limits={"disk_bytes": 32 << 20, "files": 500})
    zeros = b"\0" * (1 << 20)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    many = tarfile.TarInfo("zeros")
    many.size = 4 << 30
    bomb = packer.compress(many.tobuf()) + b"".join(packer.compress(zeros) for _ in range(256)) + \
        packer.flush()
    assert len(bomb) < 1 << 20
    files = tar(*((f"f{n}", b"") for n in range(501)), mode="w:gz")
    for data in (bomb, files):
        answer = put_archive(server, session, data)
        assert (answer.status, answer.code) == (413, "limit"), answer
        assert workspace_is_empty(server, session)
    # An archive within an archive stays a file and is not unpacked.
    inner = make_zip(("bomb.zip", make_zip(("z", zeros * 64))))
    assert put_archive(server, session, inner).json["files"] == 1
    # The workspace is still usable.
    assert server.ask("PUT", f"/sessions/{session}/files/f", zeros * 30).status == 200
    server.ask("DELETE", f"/sessions/{session}")


def with_dictionary(data, size):
    """`data` packed by xz, with a header that demands a dictionary of `size` bytes."""
    packed = bytearray(lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32))
    length = 4 * (packed[12] + 1)  # of the only block's header, whose fifth byte is the code of the size
    code, = (code for code in range(40) if (2 | code & 1) << code // 2 + 11 == size)
    packed[16] = code
    packed[12 + length - 4:12 + length] = zlib.crc32(packed[12:12 + length - 4]).to_bytes(4, "little")
    return bytes(packed)


def test_an_archive_that_needs_too_much_memory(server):
    """The program that unpacks has 384 MiB of memory."""
    session = server.create()
    data = tar(("a", b"x" * 5000))
    assert put_archive(server, session, with_dictionary(data, 256 << 20)).json["files"] == 1
    server.ask("DELETE", f"/sessions/{session}/files/a")
    answer = put_archive(server, session, with_dictionary(data, 384 << 20))
    assert (answer.status, answer.code) == (413, "limit"), answer
    assert "memory" in answer.json["error"]["message"]
    assert workspace_is_empty(server, session)
    server.ask("DELETE", f"/sessions/{session}")


@pytest.mark.parametrize("data", [b"", b"no archive", b"\x1f\x8b\x08" + b"\0" * 50,
                                  gzip.compress(b"text"), lzma.compress(b"text"),
                                  b"\xfd7zXZ\0" + b"\xff" * 80, os.urandom(5000),
                                  gzip.compress(tar(("a", b"x" * 5000)))[:-40],
                                  tar(("a", b"x" * 5000))[:3000]])
def test_data_that_is_not_an_archive(server, session, data):
    answer = put_archive(server, session, data)
    assert (answer.status, answer.code) == (400, "invalid"), answer
    assert workspace_is_empty(server, session)


def test_empty_archives(server, session):
    for data in (tar(), make_zip()):
        answer = put_archive(server, session, data)
        assert answer.status == 200 and answer.json["files"] == 0, answer


def test_the_last_entry_of_a_name_wins(server, session):
    data = tar(("a", b"first"), ("h", link("a", tarfile.LNKTYPE)), ("a", b"second"))
    assert put_archive(server, session, data).status == 200
    assert server.execute(session, "print(open('a').read(), open('h').read())")["stdout"] == \
        "second first\n"


def test_names_that_are_not_plain_text(server, session):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT,
                      encoding="latin-1") as archive:
        for name in ("caf\xe9.txt", "new\nline", "esc\x1b[31m"):
            info = tarfile.TarInfo(name)
            archive.addfile(info)
    answer = put_archive(server, session, out.getvalue())
    assert answer.status == 200 and answer.json["renamed"] == 3, answer
    assert names(server, session) == {"caf%E9.txt", "new%0Aline", "esc%1B[31m"}


def test_long_names(server, session):
    path = "/".join(["n" * 250] * 8) + "/" + "é" * 120
    for data in (tar((path, b"1"), format=tarfile.PAX_FORMAT),
                 tar((path, b"1"), format=tarfile.GNU_FORMAT), make_zip((path, "1"))):
        assert put_archive(server, session, data).status == 200
        assert names(server, session) == {path}


def test_files_and_folders_do_not_replace_each_other(server, session):
    server.ask("PUT", f"/sessions/{session}/files/f", b"1")
    server.ask("POST", f"/sessions/{session}/files/mkdir", {"path": "d"})
    for data in (tar(("good", b""), ("f/x", b"1")), tar(("good", b""), ("d", b"1"))):
        answer = put_archive(server, session, data)
        assert (answer.status, answer.code) == (403, "denied"), answer
        assert names(server, session) == {"f"}
    for method, name, body, remedy in (("GET", "d", None, "name a file in it"),
                                       ("PUT", "d", b"1", "name a file in it"),
                                       ("PUT", "f/x", b"1", "a file stands where a folder is")):
        answer = server.ask(method, f"/sessions/{session}/files/{name}", body)
        assert (answer.status, answer.code) == (403, "denied"), (method, name, answer)
        assert remedy in answer.json["error"]["remedy"]


def test_through_links_of_the_box(server, session):
    server.execute(session, "import os; os.symlink('/etc', 'out'); os.symlink('/etc/x', 'f')")
    for data, query in ((tar(("x", b"1")), "?path=out"), (tar(("out/x", b"1")), ""),
                        (tar(("f", b"1")), "")):
        assert put_archive(server, session, data, query).status in (400, 403), query
        assert not pathlib.Path("/etc/x").exists()
    assert put_archive(server, session, tar(("x", b"1")), "?path=../x").status == 400


@functools.cache
def tar_of_many(count):
    return tar(*((f"d{n % 100}/f{n}", b"") for n in range(count)))


def test_many_entries(server):
    session = server.create(limits={"files": 200_000})
    count = 100_000
    answer = put_archive(server, session, tar_of_many(count))
    assert answer.status == 200 and answer.json["files"] == count, answer
    listed = server.ask("GET", f"/sessions/{session}/files?path=d7&recursive=0").json
    assert len(listed["files"]) == count // 100 and listed["complete"]
    assert server.ask("GET", f"/sessions/{session}/files?limit=1").json["complete"] is False
    out = server.ask("GET", f"/sessions/{session}/archive?format=tar.gz")
    assert f"files={count}," in out.headers["Reckon-Archive"]
    answer = server.ask("DELETE", f"/sessions/{session}/files/d7?recursive=1")
    assert answer.json == {"deleted": count // 100 + 1}
    server.ask("DELETE", f"/sessions/{session}")


def test_an_incomplete_upload_unpacks_nothing(server, session):
    connection = server.connect()
    connection.putrequest("PUT", f"/reckon/v1/sessions/{session}/archive")
    for name, value in server.headers({"Content-Length": "100000"}).items():
        connection.putheader(name, value)
    connection.endheaders()
    connection.send(tar(("a", b"1")))
    connection.close()
    time.sleep(0.2)
    assert workspace_is_empty(server, session)


# ---- archives that are made ---------------------------------------------------------------------

def test_pack_a_workspace(server, session):
    content = {"a.txt": b"A", "d/é ü.bin": os.urandom(100_000), "d/" + "n" * 200: b"long",
               "empty": b""}
    for path, data in content.items():
        server.ask("PUT", f"/sessions/{session}/files/{quote(path)}", data)
    server.execute(session, """
import os, socket
os.symlink('a.txt', 'inside'); os.symlink('/etc/passwd', 'outside'); os.mkfifo('pipe')
os.symlink('../../x', 'd/up'); os.mkdir('hollow'); os.chmod('a.txt', 0o750)
socket.socket(socket.AF_UNIX).bind('sock'); open(b'no\\xfftext', 'w'); open('new\\nline', 'w')""")
    for form in ("tar", "tar.gz"):
        answer = server.ask("GET", f"/sessions/{session}/archive?format={form}")
        assert answer.headers["Reckon-Archive"] == \
            "files=4, folders=2, links=1, skipped=6, changed=0"
        with tarfile.open(fileobj=io.BytesIO(answer.body)) as archive:
            got = {each.name: archive.extractfile(each).read() for each in archive
                   if each.isreg()}
            assert got == content
            assert archive.getmember("inside").linkname == "a.txt"
            assert archive.getmember("hollow").isdir()
            assert archive.getmember("a.txt").mode == 0o750
            assert not any(each.uid or each.gid for each in archive)
    answer = server.ask("GET", f"/sessions/{session}/archive?format=zip")
    assert answer.headers["Content-Type"] == "application/zip"
    assert 'filename="workspace.zip"' in answer.headers["Content-Disposition"]
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        assert archive.testzip() is None
        got = {each.filename: archive.read(each) for each in archive.infolist()
               if not each.is_dir() and each.filename != "inside"}
    assert got == content
    part = server.ask("GET", f"/sessions/{session}/archive?format=tar&path=d")
    with tarfile.open(fileobj=io.BytesIO(part.body)) as archive:
        assert set(archive.getnames()) == {"é ü.bin", "n" * 200}
    assert 'filename="d.tar"' in part.headers["Content-Disposition"]


def test_the_same_files_make_the_same_archive(server, session):
    server.execute(session, "open('b', 'w').write('B'); open('a', 'w').write('A' * 9999)")
    paths = [f"/sessions/{session}/archive?format={form}"
             for form in ("tar", "tar.gz", "tar.zst", "zip")]
    first = {path: server.ask("GET", path).body for path in paths}
    time.sleep(1.1)  # a timestamp of the archive's creation would differ now
    for path in paths:
        rest = server.ask("GET", path, headers={"Range": "bytes=20-"})
        assert rest.status == 206 and first[path][:20] + rest.body == first[path], path


def test_packed_archives_unpack_to_the_same_files(server, session):
    server.execute(session, """
import os
for n in range(300):
    os.makedirs(f'd{n % 7}/e', exist_ok=True)
    open(f'd{n % 7}/e/f{n}', 'wb').write(os.urandom(n))""")
    before = {each["path"]: each["size"] for each in
              server.ask("GET", f"/sessions/{session}/files").json["files"]}
    for form in ("tar", "tar.gz", "tar.zst", "zip"):
        other = server.create()
        data = server.ask("GET", f"/sessions/{session}/archive?format={form}").body
        assert put_archive(server, other, data).json["files"] == 300
        assert {each["path"]: each["size"] for each in
                server.ask("GET", f"/sessions/{other}/files").json["files"]} == before
        server.ask("DELETE", f"/sessions/{other}")


def test_an_archive_of_files_that_change(server, session):
    server.execute(session, """
import os, threading
stop = False
def change():
    n = 0
    while not stop:
        with open('f', 'r+b' if os.path.exists('f') else 'wb') as f:
            f.truncate((n * 7919) % 3000000)
        n += 1
open('f', 'wb').close()
thread = threading.Thread(target=change); thread.start()""")
    for form in ("tar", "zip", "tar", "zip", "tar"):
        answer = server.ask("GET", f"/sessions/{session}/archive?format={form}")
        assert answer.status == 200
        if form == "tar":
            tarfile.open(fileobj=io.BytesIO(answer.body)).getmembers()
        else:
            assert zipfile.ZipFile(io.BytesIO(answer.body)).testzip() is None
    server.execute(session, "stop = True; thread.join()")


def test_holes_do_not_fill_the_disk(server):
    session = server.create(limits={"disk_bytes": 16 << 20})
    server.execute(session, "for n in range(9): open(f'f{n}', 'wb').truncate(15 << 20)")
    answer = server.ask("GET", f"/sessions/{session}/archive")
    assert (answer.status, answer.code) == (413, "limit")
    server.ask("DELETE", f"/sessions/{session}")


@pytest.mark.parametrize("query,status,code", [
    ("?format=rar", 400, "invalid"), ("?path=no", 404, "not_found"), ("?path=..", 400, "invalid"),
    ("?path=f", 403, "denied"), ("?path=l", 403, "denied"), ("?what=1", 400, "invalid"),
    ("?path=", 400, "invalid")])
def test_archives_that_cannot_be_made(server, session, query, status, code):
    server.execute(session, "import os; open('f', 'w'); os.symlink('/etc', 'l')")
    answer = server.ask("GET", f"/sessions/{session}/archive{query}")
    assert (answer.status, answer.code) == (status, code)


# ---- folders, moves -----------------------------------------------------------------------------

def test_pages_of_a_folder(server, session):
    server.execute(session, """
import os
for n in range(25): open(f'f{n:02}', 'w').write('x' * n)
os.makedirs('sub/deep'); open('sub/deep/g', 'w'); open('sub/h', 'w')""")
    path = f"/sessions/{session}/files"
    got, query = [], "?recursive=0&limit=10"
    while True:
        page = server.ask("GET", path + query).json
        got += page["files"]
        if page["next"] is None:
            break
        query = f"?recursive=0&limit=10&cursor={page['next']}"
    assert [each["path"] for each in got] == [f"f{n:02}" for n in range(25)] + ["sub"]
    assert got[25]["kind"] == "folder" and "size" not in got[25]
    assert (got[7]["size"], got[7]["mime"], got[7]["kind"]) == (7, "text/plain", "file")
    assert names(server, session, "?path=sub") == {"sub/deep/g", "sub/h"}
    assert names(server, session, "?path=sub&recursive=0") == {"sub/deep", "sub/h"}
    for query, status in (("?path=none", 404), ("?path=..", 400), ("?path=f00", 403),
                          ("?recursive=2", 400), ("?limit=x", 400), ("?before=x", 400)):
        assert server.ask("GET", path + query).status == status, query


def test_move(server, session):
    path = f"/sessions/{session}/files"
    server.ask("PUT", f"{path}/a", b"A")
    server.ask("PUT", f"{path}/b", b"B")
    move = f"{path}/move"
    assert server.ask("POST", move, {"from": "a", "to": "new/dir/a"}).json == \
        {"path": "new/dir/a", "replaced": None}
    answer = server.ask("POST", move, {"from": "b", "to": "new/dir/a"})
    assert (answer.status, answer.code) == (409, "exists")
    replaced = server.ask("POST", move, {"from": "b", "to": "new/dir/a", "overwrite": True}).json
    assert server.ask("GET", f"/artifacts/{replaced['replaced']}").body == b"A"
    assert server.ask("GET", f"{path}/new/dir/a").body == b"B"
    assert server.ask("POST", move, {"from": "new", "to": "old"}).status == 200
    assert names(server, session) == {"old/dir/a"}
    # A file may have the same name as the endpoint `move`.
    assert server.ask("PUT", f"{path}/move", b"M").status == 200
    assert server.ask("GET", f"{path}/move").body == b"M"
    server.execute(session, "import os; os.symlink('/etc', 'l')")
    for body, status in (({"from": "none", "to": "x"}, 404), ({"from": "old", "to": "old/x"}, 400),
                         ({"from": "../x", "to": "x"}, 400), ({"from": "move", "to": "/x"}, 400),
                         ({"from": "move", "to": "l/x"}, 403), ({"from": "l/passwd", "to": "x"}, 403),
                         ({"from": "move"}, 400), ({"from": "move", "to": ""}, 400),
                         ({"from": "move", "to": "x", "force": True}, 400),
                         ({"from": "move", "to": "old", "overwrite": True}, 400),
                         ({"from": "move", "to": "x", "overwrite": 1}, 400)):
        assert server.ask("POST", move, body).status == status, body


def test_details_of_a_folder(server, session):
    """Details list modes, links and attributes; a folder that is a link is refused."""
    server.execute(session, """
import os
os.makedirs('d/sub')
open('d/plain', 'w').write('x')
open('d/run', 'w').close(); os.chmod('d/run', 0o750)
os.symlink('/etc/passwd', 'd/link')
os.mkfifo('d/pipe')
os.setxattr('d/plain', 'user.note', b'kept'); os.setxattr('d/plain', 'user.raw', bytes([255]))
os.symlink('/etc', 'out')""")
    path = f"/sessions/{session}/files?path=d&recursive=0"
    assert {each["path"] for each in server.ask("GET", path).json["files"]} == {"d/plain", "d/run", "d/sub"}
    listed = {each.pop("path"): each for each in server.ask("GET", path + "&details=1").json["files"]}
    assert set(listed) == {"d/plain", "d/run", "d/sub", "d/link"}
    assert (listed["d/link"]["kind"], listed["d/link"]["target"]) == ("link", "/etc/passwd")
    assert listed["d/plain"]["attributes"] == {"user.note": "kept"}
    assert "attributes" not in listed["d/run"] and listed["d/run"]["mode"] == 0o750
    assert listed["d/sub"]["kind"] == "folder" and listed["d/sub"]["mode"] == 0o755
    one = server.ask("GET", path + "&details=1&name=run").json["files"]
    assert [each["path"] for each in one] == ["d/run"]
    for name in ("nope", "..", ".", "../d", "sub/../run"):
        assert server.ask("GET", path + f"&details=1&name={name}").json["files"] == []
    assert server.ask("GET", f"/sessions/{session}/files?path=out&recursive=0&details=1").status == 403


def test_folders_are_made_and_removed(server, session):
    path = f"/sessions/{session}/files"
    for _ in range(2):
        assert server.ask("POST", f"{path}/mkdir", {"path": "a/b/c"}).json == {}
    server.ask("PUT", f"{path}/a/b/f", b"1")
    assert server.ask("POST", f"{path}/mkdir", {"path": "a/b/f"}).status == 403
    assert server.ask("POST", f"{path}/mkdir", {"path": "a/../x"}).status == 400
    assert server.ask("POST", f"{path}/mkdir", {}).status == 400
    assert server.execute(session, "open('a/b/c/mine', 'w')")["status"] == "ok"
    assert server.ask("DELETE", f"{path}/a").status == 400
    assert server.ask("DELETE", f"{path}/a?recursive=1").json == {"deleted": 5}
    assert server.ask("DELETE", f"{path}/a?recursive=1").status == 404
    assert workspace_is_empty(server, session)


def test_remove_a_deep_folder(server, session):
    server.execute(session, """
import os
os.makedirs('t')
top = os.getcwd()
os.chdir('t')
for n in range(2000):
    os.mkdir('d'); os.chdir('d'); open('f', 'w')
os.chdir(top)
os.symlink('/etc', 't/l'); os.symlink('..', 't/up')""", timeout_s=60)
    answer = server.ask("DELETE", f"/sessions/{session}/files/t?recursive=1")
    assert answer.status == 200 and answer.json["deleted"] == 4003, answer
    assert workspace_is_empty(server, session)


# ---- one file -----------------------------------------------------------------------------------

def test_head_and_conditions(server, session):
    path = f"/sessions/{session}/files/f.txt"
    put = server.ask("PUT", path, b"one").json
    assert put["sha256"] == hashlib.sha256(b"one").hexdigest() and put["size"] == 3
    head = server.ask("HEAD", path)
    assert (head.status, head.body, head.headers["Content-Length"]) == (200, b"", "3")
    etag = head.headers["ETag"]
    assert etag == f'"{put["etag"]}"' and "GMT" in head.headers["Last-Modified"]
    assert server.ask("GET", path).headers["ETag"] == etag
    assert server.ask("GET", path, headers={"If-None-Match": etag}).status == 304
    assert server.ask("GET", path, headers={"If-None-Match": f'"x", W/{etag}'}).body == b""
    assert server.ask("GET", path, headers={"If-None-Match": '"x"'}).status == 200
    assert server.ask("GET", path, headers={"If-Match": '"x"'}).code == "precondition_failed"
    ranged = {"Range": "bytes=0-0", "If-Range": etag}
    assert server.ask("GET", path, headers=ranged).status == 206
    assert server.ask("GET", path, headers={**ranged, "If-Range": '"x"'}).status == 200
    # A change requires the etag of the current content.
    assert server.ask("PUT", path, b"two", {"If-None-Match": "*"}).code == "precondition_failed"
    assert server.ask("PUT", path, b"two", {"If-Match": '"x"'}).status == 412
    assert server.ask("PUT", path, b"two", {"If-Match": f"W/{etag}"}).status == 412
    assert server.ask("GET", path).body == b"one"
    second = server.ask("PUT", path, b"two", {"If-Match": etag}).json["etag"]
    assert second != put["etag"]
    assert server.ask("PUT", path, b"six", {"If-Match": etag}).status == 412
    server.execute(session, "open('f.txt', 'w').write('six')")
    assert server.ask("PUT", path, b"ten", {"If-Match": f'"{second}"'}).status == 412
    assert server.ask("DELETE", path, headers={"If-Match": f'"{second}"'}).status == 412
    assert server.ask("DELETE", path, headers={"If-Match": "*"}).status == 200
    assert server.ask("PUT", path, b"new", {"If-Match": "*"}).status == 412
    assert server.ask("PUT", path, b"new", {"If-None-Match": "*"}).status == 200


def test_head_of_everything(server, session):
    for path in ("/health", "/sessions", f"/sessions/{session}", f"/sessions/{session}/files",
                 "/templates"):
        head, got = server.ask("HEAD", path), server.ask("GET", path)
        assert (head.status, head.body) == (200, b"") and got.status == 200
        assert head.headers["Content-Length"] == str(len(got.body))
    assert server.ask("HEAD", "/nothing").status == 404
    assert server.ask("HEAD", f"/sessions/{session}/interrupt").status == 405
    events = server.ask("HEAD", f"/sessions/{session}/executions/ex_1/events")
    assert events.status == 405 and events.headers["Allow"] == "GET"
    # The connection stays usable after a response without a body.
    connection = server.connect()
    for method in ("HEAD", "GET", "HEAD", "GET"):
        connection.request(method, "/reckon/v1/health")
        response = connection.getresponse()
        assert (response.read() == b"") == (method == "HEAD")
    connection.close()


@pytest.mark.parametrize("name,content,type_", [
    ("page.html", b"<html><script>alert(1)</script>", "text/html"),
    ("x.svg", b"<svg onload='alert(1)'/>", "image/svg+xml"), ("x.js", b"alert(1)", "text/plain"),
    ("noname", b"<!doctype html>", "text/html"), ("x.png", b"<html>", "text/html"),
    ("x.csv", b"a,b\n", "text/csv"), ("x.png", b"\x89PNG\r\n\x1a\n", "image/png"),
    ("x.bin", b"\0\1", "application/octet-stream")])
def test_files_of_a_box_are_never_shown_as_pages_of_the_server(server, session, name, content, type_):
    server.ask("PUT", f"/sessions/{session}/files/{name}", content)
    got = server.ask("GET", f"/sessions/{session}/files/{name}")
    assert got.headers["Content-Type"] == type_
    assert got.headers["Content-Disposition"].startswith("attachment; filename=")
    assert got.headers["X-Content-Type-Options"] == "nosniff"
    assert got.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"


@pytest.mark.parametrize("name", ["a\"b.txt", "a;b=c.txt", "é\u4e2d.txt", "a%0d.txt", "back\\slash",
                                  "'quote'", "n" * 255, "\U0001f600" * 60])
def test_names_in_the_disposition(server, session, name):
    server.ask("PUT", f"/sessions/{session}/files/{quote(name)}", b"x")
    got = server.ask("GET", f"/sessions/{session}/files/{quote(name)}")
    plain, encoded = re.fullmatch(r'attachment; filename="([ -~]*)"; filename\*=UTF-8\'\'(\S*)',
                                  got.headers["Content-Disposition"]).groups()
    assert unquote(encoded) == name and '"' not in plain and "\\" not in plain


def test_an_upload_is_seen_whole(server, session):
    """A program that reads a file while it is replaced sees the old one or the new one."""
    server.ask("PUT", f"/sessions/{session}/files/f", b"a" * 1_000_000)
    server.execute(session, """
import threading
seen, stop = set(), False
def look():
    while not stop:
        data = open('f', 'rb').read()
        seen.add((data[:1], len(data), len(set(data))))
thread = threading.Thread(target=look); thread.start()""")
    for letter in b"bcdefgh":
        assert server.ask("PUT", f"/sessions/{session}/files/f",
                          bytes([letter]) * 1_000_000).status == 200
    record = server.execute(session, "stop = True; thread.join()\n"
                                     "print({each[1:] for each in seen})")
    assert record["stdout"] == "{(1000000, 1)}\n"


def test_versions(server, session):
    path = f"/sessions/{session}/files/v.txt"
    for content in (b"one", b"two"):
        server.ask("PUT", path, content)
    ran = server.execute(session, "open('v.txt', 'w').write('three')")
    server.ask("PUT", path, b"four")
    server.ask("DELETE", path)
    other = server.create()
    assert server.ask("GET", f"/sessions/{other}/versions/v.txt").json["versions"] == []
    server.ask("DELETE", f"/sessions/{other}")
    page = f"/sessions/{session}/versions/v.txt"
    versions = server.ask("GET", page).json["versions"]
    assert [each["source"] for each in versions] == ["upload", "execution", "upload", "upload"]
    assert versions[1]["execution"] == ran["id"] and versions[0]["execution"] is None
    first = server.ask("GET", page + "?limit=2").json
    assert first["versions"] == versions[:2]
    assert server.ask("GET", f"{page}?before={first['next']}").json["versions"] == versions[2:]
    server.ask("PUT", f"/sessions/{session}/files/same", b"one")
    artifacts = server.ask("GET", f"/sessions/{session}/artifacts").json["artifacts"]
    assert [each["path"] for each in artifacts] == ["same", "v.txt", "v.txt", "v.txt"]
    # All of it outlives the session.
    server.ask("DELETE", f"/sessions/{session}")
    assert server.ask("GET", page).json["versions"] == versions
    assert [server.ask("GET", f"/artifacts/{each['artifact']}").body for each in versions] == \
        [b"four", b"three", b"two", b"one"]


def test_replace_a_file_with_room_for_one_copy(server):
    """If the disk limit has no room for both, the new file replaces the old one in place."""
    session = server.create(limits={"disk_bytes": 16 << 20})
    path = f"/sessions/{session}/files/f"
    for letter in (b"a", b"b"):
        answer = server.ask("PUT", path, letter * (10 << 20))
        assert answer.status == 200, answer
    assert server.ask("GET", path).body == b"b" * (10 << 20)
    versions = server.ask("GET", f"/sessions/{session}/versions/f").json["versions"]
    assert server.ask("GET", f"/artifacts/{versions[1]['artifact']}").body == b"a" * (10 << 20)
    server.ask("DELETE", f"/sessions/{session}")


def test_files_of_a_dead_kernel(server, session):
    """The session and its files survive the death of the kernel."""
    record = server.execute(session, "import os\nopen('f', 'w').write('left')\n"
                                     "os.kill(os.getpid(), 9)")
    assert record["status"] == "kernel_died"
    path = f"/sessions/{session}/files"
    assert server.ask("PUT", f"{path}/g", b"put").status == 200
    assert put_archive(server, session, tar(("d/h", b"unpacked"))).status == 200
    assert server.ask("POST", f"{path}/move", {"from": "f", "to": "d/f"}).status == 200
    data = server.ask("GET", f"/sessions/{session}/archive?format=tar").body
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert {each.name: archive.extractfile(each).read() for each in archive
                if each.isreg()} == {"d/f": b"left", "d/h": b"unpacked", "g": b"put"}
    assert server.ask("DELETE", f"{path}/d?recursive=1").json == {"deleted": 3}


# ---- links --------------------------------------------------------------------------------------

def make_link(server, session, **body):
    answer = server.ask("POST", f"/sessions/{session}/links", body)
    assert answer.status == 201, answer
    made = answer.json
    return made, made["url"].removeprefix("/reckon/v1")


def follow(server, url, method="GET", headers=None):
    return server.ask(method, url, key=False, headers=headers)


def test_a_link_to_a_file(server, session):
    server.ask("PUT", f"/sessions/{session}/files/d/r%C3%A9sum%C3%A9.html", b"<html>1")
    made, url = make_link(server, session, path="d/résumé.html", expires_in_s=60)
    assert url.endswith("/r%C3%A9sum%C3%A9.html")
    got = follow(server, url)
    assert (got.status, got.body) == (200, b"<html>1")
    assert got.headers["Content-Disposition"].endswith("UTF-8''r%C3%A9sum%C3%A9.html")
    assert got.headers["Content-Security-Policy"].startswith("sandbox")
    server.ask("PUT", f"/sessions/{session}/files/d/r%C3%A9sum%C3%A9.html", b"<html>2")
    assert follow(server, url, headers={"Range": "bytes=6-"}).body == b"2"
    assert follow(server, url, "HEAD").headers["Content-Length"] == "7"
    listed = server.ask("GET", f"/sessions/{session}/links").json["links"]
    assert [(each["id"], each["downloads"]) for each in listed] == [(made["id"], 2)]
    assert "url" not in listed[0]
    server.ask("DELETE", f"/sessions/{session}/files/d?recursive=1")
    assert follow(server, url).status == 404
    server.ask("DELETE", f"/sessions/{session}")
    assert follow(server, url).code == "session_closed"
    assert server.ask("POST", f"/sessions/{session}/links", {"path": "x"}).status == 410


def test_a_link_to_an_artifact_outlives_its_session(server, session):
    record = server.execute(session, "open('r.csv', 'w').write('a,b')")
    artifact = record["files"][0]["artifact"]
    server.ask("DELETE", f"/sessions/{session}")
    _, url = make_link(server, session, artifact=artifact, max_downloads=2)
    assert follow(server, url, "HEAD").status == 200
    for _ in range(2):
        got = follow(server, url)
        assert (got.body, got.headers["Content-Type"]) == (b"a,b", "text/csv")
    answer = follow(server, url)
    assert (answer.status, answer.code) == (410, "link_gone")
    other = server.create()
    answer = server.ask("POST", f"/sessions/{other}/links", {"artifact": artifact})
    assert (answer.status, answer.code) == (404, "not_found")
    server.ask("DELETE", f"/sessions/{other}")


def test_links_end(server, session):
    server.ask("PUT", f"/sessions/{session}/files/f", b"1")
    made, url = make_link(server, session, path="f")
    _, short = make_link(server, session, path="f", expires_in_s=1)
    other = server.create()
    assert server.ask("DELETE", f"/sessions/{other}/links/{made['id']}").status == 404
    server.ask("DELETE", f"/sessions/{other}")
    assert follow(server, url).status == 200
    assert server.ask("DELETE", f"/sessions/{session}/links/{made['id']}").json == {}
    assert server.ask("DELETE", f"/sessions/{session}/links/{made['id']}").status == 404
    assert follow(server, url).code == "link_gone"
    eventually(lambda: follow(server, short).status != 200)
    assert follow(server, short).code == "link_gone"


def test_invalid_link_tokens(server, session):
    server.ask("PUT", f"/sessions/{session}/files/f", b"1")
    made, url = make_link(server, session, path="f")
    token = url.split("/")[2]
    other = made["id"][:-1] + ("0" if made["id"][-1] != "0" else "1")
    for wrong in (made["id"], token[:-1], token + "A", token[:-1] + ("A" if token[-1] != "A" else
                  "B"), other + token[len(other):], "x", "lk_", "-" * 72, "%00", "a" * 500):
        answer = follow(server, f"/links/{wrong}/f")
        assert (answer.status, answer.code) == (403, "denied"), wrong
    # The name in the URL is not checked.
    assert follow(server, f"/links/{token}/other/name").body == b"1"
    for body in ({}, {"path": "f", "artifact": "ar_1"}, {"path": ""}, {"path": 1},
                 {"path": "f", "expires_in_s": 0}, {"path": "f", "max_downloads": 0},
                 {"path": "f", "expires_in_s": 1e9}, {"path": "f", "forever": True}):
        answer = server.ask("POST", f"/sessions/{session}/links", body)
        assert (answer.status, answer.code) == (400, "invalid"), body


# ---- templates, receipts ------------------------------------------------------------------------

def test_templates(server):
    listed = server.ask("GET", "/templates").json["templates"]
    python = next(each for each in listed if each["name"] == "python")
    assert python["languages"] == ["python", "bash"] and "json" in python["preload"]
    data = next((each for each in listed if each["name"] == "data"), None)
    if data is not None:
        assert "numpy" in {each["name"] for each in data["packages"]}
        assert all(each["version"] for each in data["packages"])
    assert server.ask("GET", "/templates/python").json == python
    for name in ("none", "..", ".hidden", "a%2Fb", "%00"):
        answer = server.ask("GET", f"/templates/{name}")
        assert (answer.status, answer.code) == (404, "not_found"), name


def test_receipts(server, session):
    records = [server.execute(session, code) for code in ("1", "1/0", "open('f', 'w').write('x')")]
    path = f"/sessions/{session}/receipts"
    listed = server.ask("GET", path).json["receipts"]
    assert [(each["execution"], each["status"], each["receipt"]) for each in listed] == \
        [(each["id"], each["status"], each["receipt"]) for each in reversed(records)]
    one = server.ask("GET", path + "?limit=1").json
    assert one["receipts"] == listed[:1]
    assert server.ask("GET", f"{path}?before={one['next']}").json["receipts"] == listed[1:]
    server.ask("DELETE", f"/sessions/{session}")
    assert server.ask("GET", path).json["receipts"] == listed


@as_root
def test_expiry_of_the_history_keeps_uploads_and_links(reckon):
    with Server(reckon) as server:
        session = server.create()
        server.execute(session, "open('made', 'w').write('1')")
        server.ask("PUT", f"/sessions/{session}/files/put", b"2")
        made, _ = make_link(server, session, path="put")
        actions = [each["action"] for each in server.ask("GET", "/audit?limit=500").json["entries"]]
        assert "link.create" in actions and "file.put" in actions
        server.stop()
        server.args = ("--history-keep", "1")
        server.start()
        path = f"/sessions/{session}"
        eventually(lambda: not server.ask("GET", f"{path}/receipts").json["receipts"])
        left = server.ask("GET", f"{path}/artifacts").json["artifacts"]
        assert [(each["path"], each["source"]) for each in left] == [("put", "upload")]
        assert [each["id"] for each in server.ask("GET", f"{path}/links").json["links"]] == \
            [made["id"]]


def test_unknown_sessions(server):
    for path in ("artifacts", "receipts", "links", "versions/a", "archive"):
        assert server.ask("GET", f"/sessions/se_none/{path}").code == "session_not_found"
    for path, body in (("links", {"path": "a"}), ("files/move", {"from": "a", "to": "b"}),
                       ("files/mkdir", {"path": "a"})):
        assert server.ask("POST", f"/sessions/se_none/{path}", body).code == "session_not_found"
    assert server.ask("PUT", "/sessions/se_none/archive", b"x").code == "session_not_found"


# ---- large --------------------------------------------------------------------------------------

@as_root
def test_large_archives_take_no_memory(server):
    session = server.create(limits={"disk_bytes": 256 << 20})
    piece, count = os.urandom(1 << 20), 64
    pids = [server.process.pid, server.front()]
    before = [memory_kib(pid) for pid in pids]
    head = tarfile.TarInfo("large")
    head.size = count << 20
    connection = server.connect()
    connection.putrequest("PUT", f"/reckon/v1/sessions/{session}/archive")
    for name, value in server.headers({"Content-Length": str((count << 20) + 512)}).items():
        connection.putheader(name, value)
    connection.endheaders()
    connection.send(head.tobuf())
    for _ in range(count):
        connection.send(piece)
    assert json.loads(connection.getresponse().read())["bytes"] == count << 20
    connection.request("GET", f"/reckon/v1/sessions/{session}/archive?format=zip", None,
                       server.headers())
    response = connection.getresponse()
    got = 0
    while part := response.read(1 << 20):
        got += len(part)
    connection.close()
    assert got >= count << 20
    for was, pid in zip(before, pids):
        assert memory_kib(pid) - was < 16 * 1024
    server.ask("DELETE", f"/sessions/{session}")
