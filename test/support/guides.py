"""Runs a guide as a new user would: its fenced blocks, unchanged, one after the other.

    with Desk(place, folder) as desk:        looks like a machine of its own
        desk.read(Guide("sessions.md"))

A desk has its own network, in which nothing else runs, and its own home, /etc/reckon and /var/lib/reckon (with the
templates of this host). So a guide's daemon listens on the port, and uses the paths, that the guide names.

Each block continues with the variables, the working directory and the background programs of the block before. The
runner replaces placeholders: "rk_…" by the daemon's key, others as the table of guides says. Commands must succeed
unless the page shows their output, and requests must not fail. The runner compares the output that a page shows: all
text after a "$ " line, and a comment with JSON, "# {…}". "…" matches any text.
"""
import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

from model_server import ModelServer, Reply
from reckon_cli import ROOT, templates_dir
from reckon_serve import SECONDS
from waiting import eventually

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
STEP = re.compile(r"^\$ (.*(?:\n> .*)*)\n((?:(?!\$ ).*\n)*)", re.M)
ANSWER = re.compile(r"#.*?(\{.*\})\s*$", re.M)
RUN = ("sh", "console", "python", "js")
MODEL_PORT = 11434
CLONE_NEWNET = 0x40000000

# The environment of each block: the state of the last block, a daemon that outlives the block, and a curl
# that fails if the status is 400 or above.
HEAD = r"""
set -euo pipefail
curl() { command curl -sS --max-time 60 --fail-with-body "$@"; }
key() { sed -n 's/.*shown this once: //p' "$DESK/serve.out" | tail -1; }
reckon() {
    if [ "${1-}" != serve ] || [ "${2-}" = --check-config ]; then
        command reckon "$@"
        return
    fi
    RECKON_LOG=info setsid reckon "$@" </dev/null >>"$DESK/serve.out" 2>>"$DESK/serve.err" &
    echo $! >"$DESK/serve.pid"
    for _ in $(seq 600); do
        grep -q 'reckon: listening on ' "$DESK/serve.out" && break
        sleep 0.05
    done
    cat "$DESK/serve.out"
}
systemctl() { # of the service manager: the daemon's part of it
    test "$*" = "reload reckon" && kill -HUP "$(cat "$DESK/serve.pid")"
    for _ in $(seq 600); do
        grep -q 'configuration was reloaded' "$DESK/serve.err" && return
        sleep 0.05
    done
    return 1
}
[ ! -f "$DESK/variables" ] || . "$DESK/variables"
cd "$(cat "$DESK/folder")"
trap 'declare -p | grep -E "^declare -[-aAxi]+ [A-Za-z]" | grep -vE " (BASH|FUNC|PIPESTATUS|DIRSTACK|GROUPS|SHELLOPTS)" >"$DESK/variables"; pwd >"$DESK/folder"' EXIT
"""


@dataclasses.dataclass(frozen=True)
class Block:
    number: int
    line: int
    language: str
    text: str

    @property
    def where(self):
        return f"block {self.number} ({self.language}), line {self.line}"


@dataclasses.dataclass(frozen=True)
class Guide:
    """One line of the table. The key for a block is a text that only this block contains."""
    page: str
    why_not: str = ""  # the reason why no block is run
    models: bool = False  # /etc/reckon/models.ini names a model, as agent.md says
    session: bool = False  # the page starts like "A session" of http-api.md: $U, $A, $S
    before: str = ""  # bash commands that prepare what the page assumes
    sdk: str = ""  # the folder of build/sdks that has its clients, or "venv"
    put: dict = dataclasses.field(default_factory=dict)  # placeholder: its replacement, in bash
    skip: dict = dataclasses.field(default_factory=dict)  # block that is not run: the reason
    use: dict = dataclasses.field(default_factory=dict)  # block without commands: bash that uses it as $BLOCK
    tells: dict = dataclasses.field(default_factory=dict)  # block: a pattern that its output must match
    after: str = ""  # bash commands that must succeed at the end

    @property
    def text(self):
        folder = ROOT if self.page.endswith("README.md") else ROOT / "docs"
        return (folder / self.page).read_text(encoding="utf-8")

    @property
    def blocks(self):
        text = self.text
        return [Block(number, text[:found.start()].count("\n") + 1, found[1], found[2])
                for number, found in enumerate(BLOCK.finditer(text), 1) if found[1]]

    def of(self, table, block):
        """The entry of a table of this guide for a block, or None."""
        return next((said for part, said in table.items() if part in block.text), None)


def matches(shown, output):
    """Whether output equals the shown text; "…" matches any text, also over several lines."""
    pattern = ".*".join(map(re.escape, shown.strip("\n").split("…")))
    return re.fullmatch(pattern, output.strip("\n"), re.S) is not None


def tells_answer(answer, output):
    """Whether the output contains the JSON of a comment, ignoring whitespace; a last "…" matches the rest."""
    parts = re.sub(r"\s+", "", answer).removesuffix("…}").split("…")
    return re.search(".*?".join(map(re.escape, parts)), re.sub(r"\s+", "", output), re.S) is not None


# ---- the model ----------------------------------------------------------------------------------

# Questions in guides, the code that the model writes for each, and its answer.
KNOWS = (
    ("Which city sold most?", "import csv\nrows = list(csv.DictReader(open('sales.csv')))\n"
     "print(max(rows, key=lambda row: int(row['sales']))['city'])", "Kiel sold most."),
    ("What is in this file?", "import pandas as pd\ndf = pd.read_csv('sales.csv')\nprint(df)", "Cities and their sales."),
    ("6 times 7", "print(6 * 7)", "It is 42."),
    ("Write 42 to out.txt", "open('out.txt', 'w').write('42')", "It is in out.txt."),
    ("Count to three", "for i in (1, 2, 3): print(i)", "I counted."),
    ("primes to primes.csv", "open('primes.csv', 'w').write('2,3,5,7,11,13,17,19,23,29\\n')",
     "They are in [primes.csv](sandbox:/mnt/data/primes.csv)."),
    ("Draw the first ten primes", "import matplotlib.pyplot as plt\nplt.bar(range(10), [2, 3, 5, 7, 11, 13, 17, 19, 23, 29])",
     "They are drawn."),
    ("Train a classifier", "open('/mnt/models/classifier', 'w').write('knn')", "It is trained."),
    ("How good is the classifier", "print(open('/mnt/models/classifier').read())", "It is good."),
    ("...", None, "What?"),
)


def answer(body):
    """The next reply of a model that knows the questions of the guides."""
    said = json.dumps(body.get("messages") or body.get("input") or body, ensure_ascii=False)
    question, code, text = max(KNOWS, key=lambda known: said.rfind(known[0]))
    after = said[said.rfind(question):]
    if code is None or re.search(r'"role": "tool"|function_call_output|tool_result|functionResponse', after):
        return Reply(text=text)
    return Reply(calls=[{"args": {"code": code}}])


@contextlib.contextmanager
def network_of(pid):
    """Makes this thread create sockets in the network namespace of that process."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(path):
        with open(path, "rb") as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), path)

    with open("/proc/thread-self/ns/net", "rb") as own:
        enter(f"/proc/{pid}/ns/net")
        try:
            yield
        finally:
            enter(f"/proc/self/fd/{own.fileno()}")


# ---- the machine --------------------------------------------------------------------------------

MODELS = f"""cat > /etc/reckon/models.ini <<'INI'
[default]
model = work/big
[provider work]
protocol = chat
base-url = http://127.0.0.1:{MODEL_PORT}/v1
key-env = WORK_KEY
model = big
INI
"""
MACHINE = r"""
set -e
ip link set lo up
mkdir -p etc/upper etc/work lib/templates
mount -t tmpfs none etc
mkdir etc/upper etc/work
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$PWD/etc/upper,workdir=$PWD/etc/work" /etc
mkdir -p /etc/reckon /var/lib/reckon
if [ -d "$1" ]; then mount --bind "$1" lib/templates; fi
mount --rbind lib /var/lib/reckon
echo made
exec cat
"""


class Desk:
    def __init__(self, place, folder):
        self.folder = pathlib.Path(folder)
        self.program = place.program
        self.printed = []
        for name in ("home", "runtime", "home/work", "blocks"):
            (self.folder / name).mkdir(mode=0o700)
        (self.folder / "folder").write_text(str(self.folder / "home/work"))
        (self.folder / "serve.out").touch()
        (self.folder / "serve.err").touch()

    def __enter__(self):
        self.machine = subprocess.Popen(
            ["unshare", "--net", "--mount", "--propagation", "private", "bash", "-c", MACHINE, "desk",
             str(templates_dir())], cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.machine.stdout.readline() == b"made\n"
        self.stack = contextlib.ExitStack()
        with network_of(self.machine.pid):
            model = ModelServer(answer, models=("m", "big", "NAME", "qwen3"), port=MODEL_PORT)
        self.stack.enter_context(model)
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError, ValueError):
            pid = int((self.folder / "serve.pid").read_text())
            os.kill(pid, signal.SIGTERM)
            eventually(lambda: not pathlib.Path(f"/proc/{pid}/exe").exists(), "the daemon does not end", (OSError,))
        with contextlib.suppress(subprocess.CalledProcessError):
            self.bash("unset RECKON_URL; command reckon daemon stop --force")
        self.stack.close()
        self.machine.stdin.close()
        self.machine.wait(SECONDS)
        self.machine.stdout.close()

    def env(self, guide):
        folders = [str(pathlib.Path(self.program).parent)]
        if guide.sdk:
            home = ROOT / "build" / (guide.sdk if guide.sdk == "venv" else f"sdks/{guide.sdk}")
            folders[:0] = [str(home / "bin" if guide.sdk == "venv" else home / "venv/bin"),
                           str(home / "node_modules/.bin")]
        home = self.folder / "home"
        return {"PATH": ":".join([*folders, "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"]), "LANG": "C.UTF-8",
                "HOME": str(home), "XDG_RUNTIME_DIR": str(self.folder / "runtime"), "DESK": str(self.folder), "ROOT": str(ROOT),
                "LAST": str(self.folder / "last"),
                "OPENAI_BASE_URL": f"http://127.0.0.1:{MODEL_PORT}/v1", "WORK_KEY": "of-the-model",
                "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}

    def bash(self, text, guide=Guide(""), may_fail=False):
        """Runs commands in the desk; returns their output."""
        number = len(self.printed) + 1
        script = self.folder / "blocks" / f"{number}.sh"
        script.write_text(HEAD + text)
        done = subprocess.run(
            ["nsenter", f"--net=/proc/{self.machine.pid}/ns/net", f"--mount=/proc/{self.machine.pid}/ns/mnt",
             "bash", str(script)], env=self.env(guide), cwd=self.folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=2 * SECONDS, check=False)
        output = done.stdout.decode("utf-8", "replace")
        self.printed.append(output)
        (self.folder / "last").write_text(output)
        if done.returncode != 0 and not may_fail:
            raise subprocess.CalledProcessError(done.returncode, text, output)
        return output

    def filled(self, guide, text, key="$(key)"):
        for old, new in {**guide.put, "rk_…": key}.items():
            text = text.replace(old, new)
        return text

    # ---- blocks of each kind ----

    def run_sh(self, guide, block):
        output = self.bash(self.filled(guide, block.text), guide)
        for shown in ANSWER.findall(block.text):
            assert tells_answer(shown, output), f"{shown} is not in\n{output}"
        return output

    def run_console(self, guide, block):
        whole = ""
        steps = STEP.findall(block.text)
        assert steps and sum(len(f"$ {command}\n{shown}") for command, shown in steps) == len(block.text)
        for command, shown in steps:
            for old, new in guide.put.items():
                shown = shown.replace(old, new)
            output = self.bash(self.filled(guide, command.replace("\n> ", "\n")), guide, may_fail=shown != "")
            output = output.replace(str(self.folder / "home"), "/home/you").replace(str(self.program), "/usr/bin/reckon")
            if shown:
                assert matches(shown, output), f"$ {command}\n--- shown\n{shown}--- printed\n{output}"
            whole += output
        return whole

    def run_program(self, guide, block, interpreter):
        path = self.folder / "blocks" / f"block-{block.number}.{block.language}"
        path.write_text(self.filled(guide, block.text, key=self.bash("key").strip()))
        return self.bash(f"{interpreter} {shlex.quote(str(path))}", guide)

    def run(self, guide, block):
        if (use := guide.of(guide.use, block)) is not None:
            path = self.folder / "blocks" / f"block-{block.number}"
            path.write_text(self.filled(guide, block.text))
            return self.bash(f"BLOCK={shlex.quote(str(path))}\n{use}", guide)
        if block.language == "sh":
            return self.run_sh(guide, block)
        if block.language == "console":
            return self.run_console(guide, block)
        return self.run_program(guide, block, {"python": "python3", "js": "node"}[block.language])

    def read(self, guide):
        """Runs the guide; returns the number of blocks that it ran."""
        count = 0
        if guide.models:
            self.bash(MODELS, guide)
        if guide.session:
            self.bash('reckon serve >/dev/null; export RECKON_API_KEY=$(key)', guide)
            [block] = [each for each in Guide("http-api.md").blocks if "export U=" in each.text]
            self.bash(self.filled(guide, block.text), guide)
        if guide.before:
            self.bash(guide.before, guide)
        for block in guide.blocks:
            if guide.of(guide.skip, block) is not None:
                continue
            try:
                output = self.run(guide, block)
                for part, pattern in guide.tells.items():
                    assert part not in block.text or re.search(pattern, output, re.S), f"no {pattern!r} in\n{output}"
            except subprocess.CalledProcessError as error:
                raise AssertionError(f"{guide.page}, {block.where} ended with {error.returncode}:\n{error.output}"
                                     f"\n{(self.folder / 'serve.err').read_text()}") from None
            except AssertionError as error:
                raise AssertionError(f"{guide.page}, {block.where}: {error}") from None
            count += 1
        if guide.after:
            self.bash(guide.after, guide)
        return count
