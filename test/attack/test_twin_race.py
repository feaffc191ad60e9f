"""A writer outside of the box races with the warden for the page of a twin's system call.

A session maps a file of a `:rw` mount over program code; a second session, or a process of the host,
writes to that file while the first is branched. The warden freezes the box but not the writer, so
an instruction can change after the check: the warden must refuse the branch. No step of the twin
may run another instruction.
"""
import mmap
import pathlib
import platform
import tempfile
import threading

import pytest
from attack import Refused

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64",
                                reason="the instructions are those of x86-64")

ROUNDS = 40
LOST, BUSY = -8, -1
# Messages when the changed code ended the session before a branch began.
OWN_END = ("the kernel ended", "trace process")

FIND = r'''
address = _ct.cast(_libc.syscall, _ct.c_void_p).value
at = address + _ct.string_at(address, 64).index(b"\x0f\x05")
low = at & ~4095
'''

# Maps a file with the same bytes over the code, as shared or private memory.
MAP = r'''
import os
fd = os.open("/mnt/shared/code", os.O_RDWR)
_libc.mmap.restype = _ct.c_void_p
_libc.mmap.argtypes = [_ct.c_void_p, _ct.c_size_t, _ct.c_int, _ct.c_int, _ct.c_int, _ct.c_long]
print(_libc.mmap(low, 4096, PROT, 0x10 | KIND, fd, 0) == low)
'''

# A loop in machine code that changes the instruction to `int 0x80` and back.
FLIP = r'''
import mmap, os, threading
fd = os.open("/mnt/shared/code", os.O_RDWR)
shared = mmap.mmap(fd, 4096)
page = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
flag = _ct.addressof(_ct.c_char.from_buffer(page)) + 2048
# loop: mov word [rdi], 0x80cd; mov word [rdi], 0x050f; cmp byte [rsi], 0; je loop; ret
page[0:16] = bytes.fromhex("66c707cd80" "66c7070f05" "803e00" "74f1" "c3")
run = _ct.CFUNCTYPE(None, _ct.c_void_p, _ct.c_void_p)(flag - 2048)
target = _ct.addressof(_ct.c_char.from_buffer(shared)) + OFFSET
race = threading.Thread(target=run, args=(target, flag), daemon=True)
race.start()
'''


class HostWriter:
    """Does the same as FLIP in a thread of this process."""

    def __init__(self, path, offset):
        self.file = open(path, "r+b")
        self.map = mmap.mmap(self.file.fileno(), 4096)
        self.offset, self.is_over = offset, False
        self.thread = threading.Thread(target=self.flip)
        self.thread.start()

    def flip(self):
        first, end = self.offset, self.offset + 2
        while not self.is_over:
            for _ in range(1000):
                self.map[first:end] = b"\xcd\x80"
                self.map[first:end] = b"\x0f\x05"

    def stop(self):
        self.is_over = True
        self.thread.join()


@pytest.fixture
def shared(place):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shared-", dir=place.base))
    folder.chmod(0o777)
    return folder


def branch_often(box):
    outcomes = set()
    for _ in range(ROUNDS):
        try:
            copy = box.branch()
            copy.close()
            outcomes.add("branched")
        except Refused as refused:
            if refused.code == LOST or refused.message.startswith(OWN_END):
                return outcomes
            if refused.code != BUSY:
                outcomes.add(refused.message)
    return outcomes


@pytest.mark.parametrize("writer", ["session", "host"])
@pytest.mark.parametrize("kind, protection", [("shared", 7), ("shared", 5), ("private", 5)])
def test_a_branch_with_code_in_a_file_that_others_write(driver, shared, kind, protection, writer):
    box = driver.open(shared=shared)
    if not box.about["has_twin"]:
        pytest.skip("no twins on this host")
    first = box.ask(FIND + "answer = [at - low, _ct.string_at(low, 4096).hex()]")
    offset, code = first[0], bytes.fromhex(first[1])
    (shared / "code").write_bytes(code)
    (shared / "code").chmod(0o666)
    if writer == "host":
        host = HostWriter(shared / "code", offset)
    else:
        other = driver.open(shared=shared)
        other.expect("ok", FLIP.replace("OFFSET", str(offset)))
    try:
        mapping = MAP.replace("KIND", "1" if kind == "shared" else "2")
        record = box.run(mapping.replace("PROT", str(protection)))
        assert record["status"] == "kernel_died" or record["stdout"] == "True\n", record
        outcomes = branch_often(box) if record["status"] == "ok" else set()
    finally:
        if writer == "host":
            host.stop()
        else:
            other.run("page[2048] = 1; race.join()")
    for outcome in outcomes - {"branched"}:
        assert "changed program code" in outcome, outcomes
    assert "branched" not in outcomes
    # The warden wrote nothing to the file.
    after = (shared / "code").read_bytes()
    assert after[:offset] + after[offset + 2:] == code[:offset] + code[offset + 2:]
    assert after[offset:offset + 2] in (b"\x0f\x05", b"\xcd\x80")


def test_a_branch_with_code_in_a_private_page_of_a_file(driver, shared):
    """Truncating a file also drops its private pages, so the warden refuses to branch while a private
    page of a file, even a written one, contains the twin's code."""
    box = driver.open(shared=shared)
    if not box.about["has_twin"]:
        pytest.skip("no twins on this host")
    code = bytes.fromhex(box.ask(FIND + "answer = _ct.string_at(low, 4096).hex()"))
    (shared / "code").write_bytes(code)
    (shared / "code").chmod(0o666)
    box.expect("ok", MAP.replace("KIND", "2").replace("PROT", "7") +
               "_ct.memmove(low, _ct.string_at(low, 1), 1); x = 41")
    with pytest.raises(Refused) as refused:
        box.branch()
    assert "changed program code" in refused.value.message
    # A branch succeeds when the code is in anonymous memory.
    box.expect("ok", ANONYMOUS)
    copy = box.branch()
    assert copy.ask("answer = x + 1") == 42


# Fills an anonymous page with the code and moves it over the code.
ANONYMOUS = r'''
text = _ct.string_at(low, 4096)
made = _libc.mmap(None, 4096, 7, 0x22, -1, 0)
_ct.memmove(made, text, 4096)
_libc.mremap.restype = _ct.c_void_p
print(_libc.mremap(_ct.c_void_p(made), _ct.c_size_t(4096), _ct.c_size_t(4096), 3,
                   _ct.c_void_p(low)) == low)
'''
