"""Runs `reckon` on a pty: a test types keys and reads the screen.

    with Terminal(reckon, "repl") as term:
        term.prompt(1)
        term.enter("6 * 7")
        term.wait("Out[1]: 42")
"""
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

import pyte

WAIT = 20  # seconds: no measurement, only stops a wait that hangs

KEYS = {"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H",
        "end": "\x1b[F", "delete": "\x1b[3~", "backspace": "\x7f", "tab": "\t", "enter": "\r",
        "alt-enter": "\x1b\r", **{f"ctrl-{c}": chr(ord(c) - 96) for c in "abcdefghklnprtuwy"}}


def plain(text):
    """Removes the figure spaces that the editor prints before lines of a cell."""
    return text.replace("\u2007", " ")


class Terminal:
    def __init__(self, reckon, *args, columns=80, lines=40, term="xterm-256color", env=None,
                 graphics=False, pixels=(0, 0)):
        self.reckon, self.args = reckon, args
        self.columns, self.lines = columns, lines
        self.graphics = graphics  # the output contains images, which the screen cannot show
        self.pixels = pixels
        self.env = {"TERM": term, "XDG_STATE_HOME": str(reckon.work / "xdg"), **(env or {})}
        self.screen = pyte.HistoryScreen(columns, lines, history=1000)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.status = None

    def __enter__(self):
        self.master, slave = pty.openpty()
        self.set_size()
        os.set_blocking(self.master, False)
        self.process = self.reckon.popen(
            *self.args, env=self.env, stdin=slave, stdout=slave, stderr=slave,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.master)

    def set_size(self):
        size = struct.pack("HHHH", self.lines, self.columns, *self.pixels)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def resize(self, columns, lines):
        self.columns, self.lines = columns, lines
        self.screen.resize(lines, columns)
        self.set_size()

    def pump(self, seconds=0.05):
        """Reads output for up to `seconds`; False at its end."""
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.master, 65536)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.raw += data
        if not self.graphics:
            self.stream.feed(data)
        return bool(data)

    @property
    def text(self):
        """The text of the screen, and of the lines that scrolled off it."""
        gone = ["".join(line[x].data for x in range(self.columns)).rstrip()
                for line in self.screen.history.top]
        lines = [*gone, *(line.rstrip() for line in self.screen.display)]
        return plain("\n".join(lines)).rstrip()

    @property
    def line(self):
        """The line on which the cursor is."""
        return plain(self.screen.display[self.screen.cursor.y]).rstrip()

    def until(self, is_true, what):
        end = time.monotonic() + WAIT
        while not is_true():
            alive = self.pump()
            if not alive and not is_true():
                raise AssertionError(f"ended before {what}\n{self.shown()}")
            assert time.monotonic() < end, f"never {what}\n{self.shown()}"
        return self

    def shown(self):
        return self.raw[-3000:].decode(errors="replace") if self.graphics else self.text

    def wait(self, text):
        if self.graphics:
            return self.until(lambda: text.encode() in self.raw, f"{text!r}")
        return self.until(lambda: text in self.text, f"{text!r}")

    def prompt(self, number, name="In"):
        """Waits until the cursor is after this prompt, with an empty input."""
        want = f"{name} [{number}]:"
        if self.graphics:
            return self.wait(want)
        return self.until(lambda: self.line == want, want)

    def write(self, text):
        data = text.encode()
        while data:
            select.select([], [self.master], [], 1)
            data = data[os.write(self.master, data):]
        return self

    def type(self, text):
        """Types like a person: the terminal receives one key after the other."""
        for key in text:
            self.write(key)
            time.sleep(0.002)
        return self

    def key(self, *names):
        for name in names:
            self.write(KEYS[name])
            self.pump(0.02)
            time.sleep(0.02)
        return self

    def enter(self, text=""):
        self.type(text)
        self.until(lambda: self.graphics or not text or text.strip()[-20:] in
                   self.text.replace("\n", ""), f"shows {text!r}")
        return self.key("enter")

    def cell(self, number, text):
        """Runs one line and waits for the next prompt."""
        self.prompt(number)
        self.enter(text)
        return self.prompt(number + 1)

    def paste(self, text):
        return self.write("\x1b[200~" + text + "\x1b[201~")

    def end(self, seconds=WAIT):
        """Waits for the end of the program; returns its status."""
        end = time.monotonic() + seconds
        while self.pump() and self.process.poll() is None:
            assert time.monotonic() < end, f"does not end\n{self.shown()}"
        while self.pump(0.1) and select.select([self.master], [], [], 0.1)[0]:
            pass
        self.process.wait(WAIT)
        return self.process.returncode
