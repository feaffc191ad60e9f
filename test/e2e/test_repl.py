"""reckon repl at a terminal and with a pipe."""
import base64
import re
import stat
import subprocess
import time

import nbformat
import pytest
from terminal import Terminal

pytestmark = pytest.mark.one_user  # isolation is not tested here

# A picture: the left half red, the right half blue.
PICTURE = """
import struct, zlib
def chunk(kind, data):
    return struct.pack('>I', len(data)) + kind + data + struct.pack('>I', zlib.crc32(kind + data))
def png(w, h, rows):
    return (b'\\x89PNG\\r\\n\\x1a\\n' + chunk(b'IHDR', struct.pack('>IIBBBBB', w, h, 8, 2, 0, 0, 0))
            + chunk(b'IDAT', zlib.compress(rows)) + chunk(b'IEND', b''))
class Show:
    def __init__(self, data): self.data = data
    def _repr_png_(self): return self.data
two = Show(png(40, 40, (b'\\0' + b'\\xff\\0\\0' * 20 + b'\\0\\0\\xff' * 20) * 40))
"""


@pytest.fixture
def repl(reckon):
    """repl("-l", "bash", columns=60, …): a terminal with a session in it."""
    opened = []

    def start(*args, **options):
        term = Terminal(reckon, "repl", *args, **options)
        opened.append(term)
        return term.__enter__()

    yield start
    for term in opened:
        term.__exit__()


# ---- editing -----------------------------------------------------------------------------------

def test_a_value_and_a_variable(repl):
    term = repl()
    term.cell(1, "x = 6")
    term.cell(2, "x * 7")
    assert "\nOut[2]: 42\n" in term.text
    term.cell(3, "print('a', end='')")
    assert "\na\n" in term.text


def test_a_block_continues_until_an_empty_line(repl):
    term = repl()
    term.prompt(1).enter("for i in range(2):")
    term.until(lambda: term.line.endswith("┆") and "\n" in term.text, "a second line")
    assert term.screen.cursor.x == len("In [1]: ") + 4  # indented
    term.enter("print('n', i)")
    term.key("enter").prompt(2)
    assert "n 0\nn 1\n" in term.text
    term.enter("x = (1,").until(lambda: term.line.endswith("┆"), "more").enter("2)").prompt(3)
    term.enter("'''a").until(lambda: term.line.endswith("┆"), "more").enter("b'''").prompt(4)
    assert r"Out[3]: 'a\nb'" in term.text


def test_lines_above_the_cursor_can_be_edited(repl):
    term = repl()
    term.prompt(1).enter("for i in range(2):")
    term.until(lambda: term.line.endswith("┆"), "a second line").type("print('v', i)")
    term.wait("print('v', i)").key("up", "end", "backspace", "backspace").type("+1):")
    term.wait("range(2+1):").key("home", "right", "left", "down", "end", "enter", "enter").prompt(2)
    assert "v 0\nv 1\nv 2\n" in term.text
    # A line is added and joined with the one above again.
    term.type("if 1:").key("alt-enter").type("x").key("home", "backspace").wait("if 1:x")
    term.key("end", "enter", "enter").wait("NameError")
    assert "if 1:x" in term.text


def test_editing_keys(repl):
    term = repl()
    term.prompt(1).type("  bcd").key("ctrl-a").type("a").key("ctrl-e").type("e")
    term.wait("  abcde").key("ctrl-a", "ctrl-k").type("7 + 1").key("enter").prompt(2)
    assert "Out[1]: 8" in term.text
    term.type("123").key("left", "left", "delete", "ctrl-d", "enter").prompt(3)
    assert "Out[2]: 1\n" in term.text
    term.type("wort 'größe'").key("ctrl-w").type("9").key("ctrl-u", "enter").prompt(3)
    term.type("\t\t").type("5").key("home", "ctrl-k").type("5").key("enter").prompt(4)
    assert "Out[3]: 5" in term.text


def test_wide_characters_are_edited_at_the_right_column(repl):
    term = repl()
    term.prompt(1).type("'日本x語'").key("left", "left", "backspace").wait("'日本語'")
    term.key("enter").prompt(2)
    assert "Out[1]: '日本語'" in term.text


def test_an_interrupt_at_the_prompt_clears_the_line(repl):
    term = repl()
    term.prompt(1).type("never").wait("never").key("ctrl-c").prompt(1)
    term.enter("for i in x:").until(lambda: term.line.endswith("┆"), "more").key("ctrl-c").prompt(1)
    term.cell(1, "'still ' + 'here'")
    assert "'still here'" in term.text and "Traceback" not in term.text


def test_the_window_can_change_its_size(repl):
    term = repl(columns=80)
    term.prompt(1)
    term.resize(50, 30)
    term.type("'" + "w" * 60 + "'").key("enter").prompt(2)
    assert "w" * 60 in term.text.replace("\n", "")
    term.enter("import os; os.get_terminal_size").prompt(3)
    term.enter("%help").prompt(3)
    assert re.search(r"\n%put HOSTFILE \[NAME\] .*…\n", term.text)  # fitted to 50 columns


# ---- history -----------------------------------------------------------------------------------

def test_history_has_whole_cells_and_is_private(repl, reckon):
    term = repl()
    term.prompt(1).enter("for i in range(1):").until(lambda: term.line.endswith("┆"), "more")
    term.enter("print('kept', '\\\\')").key("enter").prompt(2)
    term.cell(2, "'second'")
    term.key("ctrl-d").wait("Ctrl-D again").key("ctrl-d")
    assert term.end() == 0
    file = reckon.work / "xdg/reckon/history"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_text().splitlines()) == 2

    term = repl()
    term.prompt(1).key("up").wait("'second'").key("up").wait("print('kept', '\\\\')")
    term.until(lambda: re.search(r"In \[1\]: for i in range\(1\):\n +┆ +print", term.text), "both")
    term.key("enter", "enter").prompt(2)
    assert "\nkept \\\n" in term.text
    term.key("ctrl-r").type("sec").wait("'second'").key("enter").prompt(3)
    assert "Out[2]: 'second'" in term.text


def test_no_history_writes_no_file(repl, reckon):
    term = repl("--no-history")
    term.cell(1, "1")
    term.key("up").until(lambda: term.line == "In [2]: 1", "recall").key("ctrl-c").prompt(2)
    assert not (reckon.work / "xdg").exists()


def test_the_console_works_if_the_history_is_not_usable(repl, reckon):
    (reckon.work / "xdg").write_text("not a folder")
    term = repl()
    term.cell(1, "1 + 1")
    assert "no history:" in term.text and "Out[1]: 2" in term.text


# ---- completion --------------------------------------------------------------------------------

def test_tab_completes(repl):
    term = repl()
    term.cell(1, "apple_tree = 1; apple_pie = 2; größe = {'schlüssel': 3}")
    term.type("appl").key("tab").until(lambda: term.line == "In [2]: apple_", "the common part")
    term.key("tab").wait("apple_pie   apple_tree")
    term.until(lambda: term.line == "In [2]: apple_", "the line again")
    term.type("t").key("tab", "enter").prompt(3)
    assert "Out[2]: 1" in term.text
    term.type("grö").key("tab").wait("größe").type("['sch").key("tab").wait("['schlüssel")
    term.type("']").key("enter").prompt(4)
    assert "Out[3]: 3" in term.text


def test_tab_in_the_middle_of_a_block(repl):
    term = repl()
    term.cell(1, "a_long_name = 5")
    term.prompt(2).enter("if 1:").until(lambda: term.line.endswith("┆"), "more")
    term.type("a_lo").key("tab").wait("┆     a_long_name").key("enter", "enter").prompt(3)
    term.type("\t1").until(lambda: term.line == "In [3]:     1", "indentation").key("ctrl-c")


def test_commands_and_host_files_are_completed(repl, reckon):
    reckon.file("measurements.csv", "a\n1\n")
    term = repl()
    term.prompt(1).type("%rest").key("tab").wait("%restart").key("ctrl-c").prompt(1)
    term.type("%put meas").key("tab").wait("%put measurements.csv").key("enter").prompt(1)
    term.enter("open('measurements.csv').read()").prompt(2)
    assert r"'a\n1\n'" in term.text


def test_names_with_control_characters_are_not_completed(repl):
    term = repl()
    term.prompt(1).enter("class K(dict): pass").key("enter").prompt(2)
    term.cell(2, r"k = K({'sa\x1b]0;x\x07': 1, 'safe': 2, 'sa\x9bc': 3})")
    term.type("k['sa").key("tab").wait("k['safe").type("']").key("enter").prompt(4)
    assert "Out[3]: 2" in term.text


# ---- paste -------------------------------------------------------------------------------------

BLOCK = "def f(a):\n    if a:\n\n        return 1\n    return 2\n\nprint('f:', f(0))\nf(1)\n"


def test_a_paste_is_one_cell(repl):
    term = repl()
    term.prompt(1).paste(BLOCK.replace("\n", "\r")).wait("f(1)")
    assert "Out" not in term.text  # it waits for Enter
    term.key("enter").prompt(2)
    assert "f: 2\nOut[1]: 1" in term.text
    term.paste("x = '\x1b[31m\x07'").wait("x = '[31m'").key("ctrl-c").prompt(2)


def test_a_paste_without_markers_is_one_cell(repl):
    term = repl()
    term.prompt(1).write(BLOCK.strip().replace("\n", "\r")).wait("┆ f(1)").key("enter").prompt(2)
    assert "f: 2\nOut[1]: 1" in term.text


def test_input_typed_ahead_runs_afterwards(repl):
    term = repl()
    term.prompt(1).enter("import time; time.sleep(1)").write("6 * 7\r").prompt(3)
    assert "Out[2]: 42" in term.text


# ---- running cells ----------------------------------------------------------------------------

def test_an_interrupt_stops_the_cell_and_keeps_variables(repl):
    term = repl()
    term.cell(1, "n = 5")
    term.enter("while True: n = 6").until(lambda: term.line.endswith("┆"), "more").key("enter")
    time.sleep(0.5)
    term.key("ctrl-c").prompt(3)
    assert "interrupted" in term.text
    term.enter("n").prompt(4)
    assert "Out[3]: 6" in term.text


def test_output_comes_as_it_is_printed(repl):
    term = repl()
    term.prompt(1).enter("import time; print('first', flush=True); time.sleep(60)")
    term.until(lambda: term.text.endswith("\nfirst"), "output").key("ctrl-c").prompt(2)


def test_a_cell_requests_input(repl):
    term = repl()
    term.prompt(1).enter("name = input('Who? ')")
    term.until(lambda: term.line == "Who?", "the question").type("Ada\r").prompt(2)
    term.enter("import getpass; word = getpass.getpass('Word? ')")
    term.until(lambda: term.line == "Word?", "the question").type("secret\r").prompt(3)
    assert "secret" not in term.text
    term.cell(3, "name + word")
    assert "'Adasecret'" in term.text
    term.enter("input('a? ')").until(lambda: term.line == "a?", "the question").key("ctrl-c")
    term.prompt(5).wait("interrupted").enter("input('b? ')")
    term.until(lambda: term.line == "b?", "the question").key("ctrl-d").prompt(6)
    assert "EOFError" in term.text and "name" in term.text


def test_an_error_and_its_traceback(repl):
    term = repl()
    term.cell(1, "1 / 0")
    assert "ZeroDivisionError: division by zero" in term.text


def test_control_sequences_are_escaped(repl):
    term = repl()
    term.prompt(1).enter(r"print('\x1b]0;owned\x07\x1b[2J\x9b5n'); '\x1b[31mx'").prompt(2)
    assert r"\x1b]0;owned\x07\x1b[2J\x9b5n" in term.text
    assert b"\x1b]0;owned" not in term.raw and b"\x1b[2J" not in term.raw
    term.enter(r"class R:").until(lambda: term.line.endswith("┆"), "more")
    term.enter(r"def __repr__(s): return '\x1b]0;repr\x07'").key("enter").key("enter").prompt(3)
    term.cell(3, "r = R(); r")
    term.enter("%vars").prompt(4)
    assert b"\x1b]0;repr" not in term.raw and r"\x1b]0;repr" in term.text


def test_a_time_limit_is_set_and_lifted(repl):
    term = repl()
    term.prompt(1).enter("%time-limit").prompt(1).wait("No time limit.")
    term.enter("%time-limit 1s").prompt(1).wait("1 s")
    term.enter("import time; time.sleep(600)").prompt(2)
    assert "time limit of 1 s (%time-limit allows more)" in term.text.replace("\n", "")
    term.enter("%time-limit none").prompt(2).enter("%time-limit soon").prompt(2)
    assert "soon" in term.text


def test_magics_of_the_kernel_go_to_the_kernel(repl):
    term = repl()
    term.cell(1, "!echo from a shell")
    term.cell(2, "len?")
    term.cell(3, "%time 1 + 1")
    assert "\nfrom a shell\n" in term.text and "Signature: len" in term.text
    assert "Out[3]: 2" in term.text
    term.prompt(4).enter("%%bash").until(lambda: term.line.endswith("┆"), "more")
    term.enter("echo in $BASH_VERSION").key("enter").prompt(5)
    assert "\nin 5" in term.text
    term.enter(" %history").prompt(6)  # goes to the kernel, because of the space
    assert "\n[1]" not in term.text


def test_bash(repl):
    term = repl("-l", "bash")
    term.prompt(1, "bash").enter("for i in 1 2; do").until(lambda: term.line.endswith("┆"), "more")
    term.enter("echo $i; done").prompt(2, "bash").enter("read x; echo got $x; cd /tmp")
    term.type("word\r").prompt(3, "bash")
    assert "\n1\n2\n" in term.text and "\ngot word\n" in term.text
    term.enter("pwd; false").prompt(4, "bash").enter("exit")
    assert term.end() == 0 and "/tmp\n" in term.text


# ---- tables ------------------------------------------------------------------------------------

FRAME = ("import pandas as pd; d = pd.DataFrame({'city': ['Bonn', '東京都', 'Rio de Janeiro ' * 4], "
         "'sales': [3, 12345, 7], 'share': [0.5, 0.25, 1], 'day': pd.date_range('2024-01-30', "
         "periods=3), **{f'q{i}': [i] * 3 for i in range(20)}})")


@pytest.mark.parametrize("columns", [60, 120])
def test_a_table_fits_the_window(repl, columns):
    from wcwidth import wcswidth
    term = repl("-t", "data", columns=columns)
    term.prompt(1).enter(FRAME).prompt(2)
    term.enter("d[['city', 'sales', 'share', 'day']]").prompt(3)
    rows = term.text.split("Out[2]:\n")[1].split("\nIn [3]")[0].split("\n")
    assert len(rows) == 5 and rows[-1] == "3 rows × 4 columns"
    assert all(wcswidth(row) <= columns for row in rows)
    assert rows[0].split() == ["city", "sales", "share", "day"]
    assert rows[1].split() == ["0", "Bonn", "3", "0.50", "2024-01-30"]
    # Numbers are aligned to the right, whatever is next to them.
    ends = {wcswidth(row[:row.index(number) + len(number)])
            for row, number in zip(rows[1:4], ["  3  ", "12345  ", "  7  "])}
    assert len(ends) == 1
    assert ("…" in rows[3]) == (columns == 60)
    term.enter("d").prompt(4)
    wide = term.text.split("Out[3]:\n")[1].split("\nIn [4]")[0].split("\n")
    assert wide[-1] == "3 rows × 24 columns" and len(wide) == 5
    assert " … " in wide[0] and wide[0].split()[-1] == "q19"


def test_variables_as_a_table(repl):
    term = repl(columns=60)
    term.prompt(1).enter("%vars").prompt(1).wait("No variables.")
    term.cell(1, "text = 'word ' * 50; n = 3")
    term.enter("%vars").prompt(2)
    rows = term.text.split("%vars\n")[2].split("\nIn [2]")[0].split("\n")
    assert rows[0].split() == ["name", "type", "shape", "size", "value"]
    assert rows[1].startswith("text  str") and rows[1].endswith("…") and len(rows[1]) <= 60


# ---- pictures ----------------------------------------------------------------------------------

def show_two(repl, how, **options):
    term = repl("--images", how, graphics=how != "blocks", **options)
    term.prompt(1).paste(PICTURE).wait("two = Show").key("enter").prompt(2)
    before = len(term.raw)
    term.type("two").key("enter").wait("In [3]:")
    return term, term.raw[before:]


def test_a_picture_in_symbols(repl):
    term, _ = show_two(repl, "blocks", columns=61, lines=33, env={"COLORTERM": "truecolor"})
    seen = {}  # colour: columns; an inverted cell shows its foreground
    for y in range(33):
        for x in range(61):
            cell = term.screen.buffer[y][x]
            seen.setdefault(cell.fg if cell.reverse else cell.bg, []).append(x)
    red, blue = (sum((seen.get(name, []) for name in names), [])
                 for names in (("ff0000", "fe0000"), ("0000ff", "0000fe")))
    assert len(red) > 300 and len(blue) > 300
    assert max(red) <= min(blue)


def test_a_picture_without_colours(repl):
    term, raw = show_two(repl, "blocks", env={"NO_COLOR": "1"})
    assert not re.search(rb"\x1b\[[0-9;]*[34]8;", raw) and not re.search(rb"\x1b\[3[0-7]m", raw)


def test_a_picture_for_kitty(repl):
    _, raw = show_two(repl, "kitty")
    chunks = re.findall(rb"\x1b_G([^;\x1b]*)(?:;([^\x1b]*))?\x1b\\", raw)
    head = dict(pair.split(b"=") for pair in chunks[0][0].split(b","))
    pixels = b"".join(base64.b64decode(chunk[1]) for chunk in chunks)
    width, height = int(head[b"s"]), int(head[b"v"])
    assert head[b"a"] == b"T" and len(pixels) == width * height * int(head[b"f"]) // 8
    step = int(head[b"f"]) // 8
    assert pixels[:3] == b"\xff\0\0" and pixels[(width - 1) * step:][:3] == b"\0\0\xff"


def sixel_columns(text):
    """{x: colours} of a sixel picture's first band."""
    registers, column, colour, found = {}, 0, None, {}
    body = re.sub(rb'^"[\d;]*', b"", text)
    for number, rgb, repeat, bits, other in re.findall(
            rb"#(\d+)((?:;\d+){4})?|!(\d+)([?-~])|([?-~$-])", body):
        if number:
            colour = int(number)
            if rgb:
                registers[colour] = tuple(map(int, rgb[1:].split(b";")[1:]))
        elif other == b"-":
            break
        elif other == b"$":
            column = 0
        else:
            for _ in range(int(repeat or 1)):
                if (bits or other) != b"?":
                    found.setdefault(column, set()).add(registers[colour])
                column += 1
    return found


def test_a_picture_in_sixels(repl):
    _, raw = show_two(repl, "sixel", pixels=(800, 800))
    body = re.search(rb"\x1bP[\d;]*q(.*?)\x1b\\", raw, re.S)
    columns = sixel_columns(body[1])
    assert len(columns) >= 40
    assert columns[0] == {(100, 0, 0)} and columns[max(columns)] == {(0, 0, 100)}


def test_a_picture_for_iterm2(repl):
    _, raw = show_two(repl, "iterm2")
    found = re.search(rb"\x1b\]1337;File=([^:]*):([A-Za-z0-9+/=]+)\x07", raw)
    assert b"inline=1" in found[1]
    assert base64.b64decode(found[2])[:2] in (b"II", b"MM", b"\x89P")  # made from pixels: TIFF


def test_images_none_shows_the_command_to_save_an_image(repl, reckon):
    term = repl("--images", "none")
    term.prompt(1).paste(PICTURE).wait("two = Show").key("enter").prompt(2)
    term.enter("two").prompt(3)
    assert "%get figure-2-1.png saves it" in term.text
    term.enter("%get figure-2-1.png").prompt(3)
    assert (reckon.cwd / "figure-2-1.png").read_bytes().startswith(b"\x89PNG")
    term.enter("%get figure-2-2.png").prompt(3)
    assert not (reckon.cwd / "figure-2-2.png").exists()


@pytest.mark.parametrize("broken", [
    "b'\\x89PNG\\r\\n\\x1a\\n'", "two.data[:60]", "two.data.replace(b'IDAT', b'IDAX')",
    "png(100000, 100000, b'')", "png(4096, 4097, b'')", "png(4000, 4000, b'')"])
def test_a_broken_picture_is_reported_and_the_console_continues(repl, broken):
    term = repl("--images", "blocks")
    term.prompt(1).paste(PICTURE).wait("two = Show").key("enter").prompt(2)
    term.enter(f"Show({broken})").prompt(3)
    assert "figure (PNG," in term.text and "not drawn: the picture" in term.text
    term.cell(3, "'alive'")


# ---- files -------------------------------------------------------------------------------------

def test_files_go_in_and_out(repl, reckon):
    reckon.file("in.txt", "given")
    reckon.file("kept.txt", "mine")
    (reckon.cwd / "link.txt").symlink_to("kept.txt")
    term = repl("-f", "in.txt")
    term.prompt(1).enter("open('out.txt', 'w').write(open('in.txt').read() * 2)").prompt(2)
    assert "created   out.txt  10 B" in term.text
    term.enter("%files").prompt(2)
    assert re.search(r"in.txt +5 B +text/plain", term.text)
    term.enter("%get out.txt").prompt(2)
    assert (reckon.cwd / "out.txt").read_text() == "givengiven"
    term.enter("%get out.txt kept.txt").prompt(2).wait("already exists (-f replaces it)")
    term.enter("%get out.txt link.txt").prompt(2)
    assert (reckon.cwd / "kept.txt").read_text() == "mine"
    term.enter("%get -f out.txt link.txt").prompt(2)
    assert (reckon.cwd / "kept.txt").read_text() == "mine"  # the link was replaced, not followed
    assert (reckon.cwd / "link.txt").read_text() == "givengiven"
    term.enter("import os; os.symlink('/etc/passwd', 'pw')").prompt(3)
    term.enter("%get pw").prompt(3)
    assert not (reckon.cwd / "pw").exists()
    term.enter("%put in.txt 'a b.txt'").prompt(3).enter("open('a b.txt').read()").prompt(4)
    assert "Out[3]: 'given'" in term.text
    term.enter("%put none.txt").prompt(4).wait("No such file")


def test_files_are_saved_as_they_come(repl, reckon):
    term = repl("-o", "out")
    term.prompt(1).enter("open('a.txt', 'w').write('x')").prompt(2)
    assert (reckon.cwd / "out/a.txt").read_text() == "x"


def test_a_file_is_run_loaded_and_edited(repl, reckon):
    reckon.file("cell.py", "v = 20\nv + 1\n")
    reckon.file("editor", "#!/bin/sh\necho \"'edited'\" >\"$1\"\n").chmod(0o755)
    term = repl(env={"EDITOR": str(reckon.cwd / "editor")})
    term.prompt(1).enter("%run cell.py").prompt(2)
    assert "Out[1]: 21" in term.text
    term.enter("%load cell.py").until(lambda: "┆ v + 1" in term.line, "the text").key("backspace")
    term.type("2").key("enter").prompt(3)
    assert "Out[2]: 22" in term.text
    term.enter("%edit").until(lambda: term.line == "In [3]: 'edited'", "the text").key("enter")
    term.prompt(4).wait("Out[3]: 'edited'")
    term.enter("%run none.py").prompt(4).wait("none.py: ")


# ---- sessions ----------------------------------------------------------------------------------

def test_restart_keeps_files_and_drops_variables(repl):
    term = repl()
    term.cell(1, "x = open('f.txt', 'w').write('stays'); open('/tmp/t', 'w').write('too')")
    term.enter("%restart").prompt(2).wait("no variables, files are kept")
    term.enter("open('f.txt').read() + open('/tmp/t').read()").prompt(3)
    assert "Out[2]: 'staystoo'" in term.text
    term.enter("x").prompt(4)
    assert "NameError" in term.text


def test_a_kernel_that_died_is_reported_and_replaced(repl, reckon):
    reckon.file("in.txt", "given")
    term = repl("-f", "in.txt")
    term.cell(1, "x = open('f.txt', 'w').write('stays')")
    term.enter("import os; os._exit(1)").prompt(3)
    assert "the kernel is gone, with its variables; files stay until this console ends" in term.text.replace("\n", "")
    term.enter("%files").prompt(3).enter("%get f.txt").prompt(3)
    assert (reckon.cwd / "f.txt").read_text() == "stays"
    term.enter("open('f.txt').read() + open('in.txt').read()").prompt(4)
    assert "Out[3]: 'staysgiven'" in term.text
    assert "ran in a fresh kernel" in term.text.replace("\n", "")
    term.enter("%restart").prompt(4).wait("no variables, files are kept")
    term.cell(4, "'goes on'")


def test_the_console_continues_after_a_memory_error(repl):
    term = repl("--memory", "200M", "--disk", "16M")
    term.prompt(1).enter("import os; [bytearray(10**8) for _ in range(99)]").prompt(2)
    assert "MemoryError" in term.text
    term.cell(2, "'goes on'")


def test_ctrl_d_and_exit_end_the_console(repl):
    term = repl()
    term.prompt(1).key("ctrl-d")
    assert term.end() == 0  # nothing ran: nothing is lost
    term = repl()
    term.cell(1, "1")
    term.key("ctrl-d").prompt(2).wait("Ctrl-D again leaves").enter("2").prompt(3)
    term.key("ctrl-d").prompt(3).key("ctrl-d")
    assert term.end() == 0
    term = repl()
    term.prompt(1).enter("exit()")
    assert term.end() == 0
    assert term.raw.count(b"\x1b[?2004h") == term.raw.count(b"\x1b[?2004l")


def test_record_and_receipt(repl):
    term = repl(columns=200)
    term.prompt(1).enter("%record").prompt(1).wait("Nothing ran yet")
    term.cell(1, "print('measured')")
    term.enter("%receipt").prompt(2).wait("receipt of cell 1: ok")
    term.enter("%record").prompt(2)
    joined = term.text.replace("\n", "")
    assert '"schema":"reckon.execution/1"' in joined and '"stdout":"measured' in joined
    term.enter("%history").prompt(2).wait("[1] print('measured')")


def test_save(repl, reckon):
    term = repl("-t", "data")
    term.prompt(1).enter("import pandas as pd; print('out'); pd.DataFrame({'a': [1.5]})").prompt(2)
    term.cell(2, "1 / 0")
    term.cell(3, "!echo shell")
    term.enter("%save all.ipynb").prompt(4).enter("%save all.py").prompt(4)
    book = nbformat.read(reckon.cwd / "all.ipynb", as_version=4)
    nbformat.validate(book)
    assert [cell.execution_count for cell in book.cells] == [1, 2, 3]
    assert (book.metadata.kernelspec.name, book.metadata.language_info.file_extension) == (
        "python3", ".py")
    first = book.cells[0].outputs
    assert first[0].text == "out\n" and "text/html" in first[1].data
    assert book.cells[1].outputs[0].ename == "ZeroDivisionError"
    script = (reckon.cwd / "all.py").read_text()
    compile(script, "all.py", "exec")
    assert "_cell(r'''\n!echo shell\n''')" in script and "DataFrame" in script
    assert "# %% [2] failed with ZeroDivisionError; what it had done stays\n_failed(" in script
    term.enter("%save all.py").prompt(4).wait("already exists")
    term.enter("%save -f all.py").prompt(4)


def test_save_bash(reckon):
    reckon("repl", "-l", "bash", stdin="! false\n\n%save a.ipynb\n%save a.sh\n").expect(0)
    book = nbformat.read(reckon.cwd / "a.ipynb", as_version=4)
    nbformat.validate(book)
    assert book.metadata.kernelspec == {"name": "bash", "display_name": "Bash", "language": "bash"}
    assert book.metadata.language_info == {"name": "bash", "file_extension": ".sh",
                                           "mimetype": "text/x-sh"}
    # Bash has no magics: the line stays unchanged.
    assert (reckon.cwd / "a.sh").read_text() == "# %% [1]\n! false\n"


def test_a_saved_bash_script_continues_after_failed_cells(reckon):
    cells = "x='it''s'; nosuch-command\n\nif then\n\necho \"$x\" > /mnt/data/made.txt\n\n"
    done = reckon("repl", "-l", "bash", stdin=cells + "%save b.sh\n")
    assert "2 cells that failed: the script goes on behind them" in done.err
    again = subprocess.run(["bash", "b.sh"], cwd=reckon.cwd, capture_output=True, text=True,
                           check=False)
    assert again.returncode == 0 and "nosuch-command" in again.stderr, again
    assert (reckon.cwd / "made.txt").read_text() == "its\n"


# ---- other terminals, and none -----------------------------------------------------------------

def test_a_dumb_terminal(repl):
    term = repl(term="dumb", graphics=True)
    term.wait("In [1]: ").write("6 * 7\n").wait("Out[1]: 42")
    term.wait("In [2]: ").write("for i in range(2):\n").wait("...: ").write("  print('n', i)\n")
    term.write("\n").wait("n 1").wait("In [3]: ").write("input('q? ')\n").wait("\nq? ")
    term.write("yes\n").wait("'yes'").wait("In [4]: ").write("\x03").write("%exit\n")
    assert term.end() == 0
    assert b"\x1b" not in term.raw


def test_no_color_disables_colours(repl):
    term = repl(env={"NO_COLOR": "1"})
    term.cell(1, "6 * 7")
    assert b"\x1b[31m" not in term.raw and b"\x1b[32m" not in term.raw
    assert "Out[1]: 42" in term.text


def test_cells_from_a_pipe(reckon):
    code = ("x = 6\nx * 7\nfor i in range(2):\n    print(i)\n\ndef f():\n    a = 1\n\n    return a\n\n"
            "f()\n%vars\n")
    done = reckon("repl", stdin=code).expect(0)
    assert done.out.startswith("42\n0\n1\n1\nname  type")
    assert done.err == "" and "\x1b" not in done.out
    done = reckon("repl", stdin="1 / 0\nprint('on')").expect(1)
    assert done.out == "on\n" and "ZeroDivisionError" in done.err
    assert reckon("repl", stdin="").expect(0).out == ""
    assert reckon("repl", stdin="input('?')\n").expect(1).out == ""
    assert reckon("repl", "-l", "bash", stdin="if true; then\necho yes\nfi\n").expect(0).out == "yes\n"
    assert reckon("repl", stdin=b"'\xff'\n1\n").out == "1\n"
    reckon("repl", "--timeout", "1s", stdin="while 1: pass\n\n").expect(124)
    done = reckon("repl", stdin="import os; os._exit(1)\n1 + 1\n")
    assert done.status != 0 and done.out == "2\n"
    assert "kernel_died" in done.err and "in a fresh kernel with the same files" in done.err


def test_invalid_options(reckon):
    for args in (["file.py"], ["--images", "ascii"], ["--json"], ["--memory", "x"]):
        assert reckon("repl", *args).expect(2).err.startswith("reckon: repl: ")
