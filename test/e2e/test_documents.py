"""The documents match the program: the first commands, the C program, the contents of a box."""
import pathlib
import re
import shutil
import subprocess

import jsonschema
import pytest
from reckon_cli import ROOT, parse_json

README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST_STEPS = (ROOT / "docs/first-steps.md").read_text(encoding="utf-8")
C_PROGRAM = (ROOT / "docs/c-program.md").read_text(encoding="utf-8")
STEP = re.compile(r"^\$ (.*(?:\n> .*)*)\n((?:(?!\$ ).*\n)*)", re.M)


def blocks(language, page):
    return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.M | re.S)


def steps():
    """Each command of the first pages with the output it shows; "> " continues a command."""
    return [(command.replace("\n> ", "\n"), shown)
            for page in (README, FIRST_STEPS) for block in blocks("console", page) for command, shown in STEP.findall(block)]


def shell(reckon, command, **more_env):
    """Runs a command as this test's user, with the built `reckon` on its path."""
    env = {**reckon.env, **more_env}
    env["PATH"] = f"{reckon.place.program.parent}:{env['PATH']}"
    done = subprocess.run(["bash", "-c", command], cwd=reckon.cwd, env=env, text=True, timeout=90,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **reckon.user.switch)
    return done.stdout


def matches(shown, output):
    """Whether output is what was shown; "…" stands for any text, also of several lines."""
    pattern = ".*".join(map(re.escape, shown.strip("\n").split("…")))
    return re.fullmatch(pattern, output.strip("\n"), re.S) is not None


def test_matches_compares_whole_outputs():
    assert matches("a … c\n", "a b c\n") and matches("a\n…", "a\nb\nc\n")
    assert not matches("a\n", "a\nb\n") and not matches("a.c", "abc")


@pytest.mark.parametrize("as_user", ["rootless"], indirect=True)
def test_the_commands_of_the_first_pages(reckon):
    """As an ordinary user; test_guides.py runs them as root."""
    found = steps()
    assert len(found) > 5
    for command, shown in found:
        output = shell(reckon, command)
        assert matches(shown, output), f"$ {command}\n--- shown\n{shown}\n--- printed\n{output}"


def test_the_program_of_the_page(reckon, tmp_path):
    library = ROOT / "build/src/lib"
    (program,) = blocks("c", C_PROGRAM)
    source, binary = reckon.cwd / "program.c", reckon.cwd / "program"
    source.write_text(program)
    reckon.user.own(source)
    shutil.copytree(library, reckon.cwd / "lib", symlinks=True,
                    ignore=lambda _, names: [name for name in names if ".so" not in name])
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", source,
                    f"-L{reckon.cwd}/lib", "-lreckon", f"-Wl,-rpath,{reckon.cwd}/lib", "-o", binary],
                   cwd=tmp_path, check=True)
    libexec = pathlib.Path(reckon.place.program).parent.parent / "libexec"
    record = parse_json(shell(reckon, str(binary), RECKON_LIBEXEC=str(libexec)))
    assert record["status"] == "ok" and record["results"][0]["data"]["text/plain"] == "42"


# Variables that only tests and builds set.
NOT_FOR_USERS = {"RECKON_MCP_CONFORMANCE", "RECKON_SHARE"}


def test_the_manual_knows_every_command_and_variable(reckon):
    text = (ROOT / "man/reckon.1.scd").read_text(encoding="utf-8")
    commands, rest = text.split("# COMMANDS")[1].split("# EXIT STATUS")
    documented = set(re.findall(r"\*([a-z0-9]+)\*", "\n".join(
        line for line in commands.splitlines() if line.startswith("*"))))
    overview = reckon("--help").expect(0).out
    known = set(re.findall(r"^  ([a-z0-9]+)  ", overview, re.M))
    for line in re.search(r"administration: (.*?)\n\n", overview, re.S).group(1).split("also:"):
        known |= set(re.findall(r"[a-z0-9]+", line))
    assert len(known) > 30 and not known - documented, known - documented
    read = set()
    for path in [*(ROOT / "src").rglob("*.c"), *(ROOT / "tools").glob("reckon-*")]:
        source = path.read_text(encoding="utf-8")
        read |= set(re.findall(r'(?:getenv|variable|given|env)\([^;]*?"(RECKON_[A-Z_]+)"', source))
        read |= set(re.findall(r"\$\{(RECKON_[A-Z_]+):?-", source))
    environment = rest.split("# ENVIRONMENT")[1]
    missing = {name for name in read - NOT_FOR_USERS if f"*{name}*" not in environment}
    assert len(read) > 8 and not missing, missing


def test_doctor_keeps_to_its_schema(reckon):
    schema = parse_json((ROOT / "docs/doctor.schema.json").read_bytes())
    (answer,) = reckon("doctor", "--json").expect(0).lines()
    jsonschema.validators.validator_for(schema)(schema).validate(answer)
    # Root in a container may count as rootless.
    assert answer["rootless"] or reckon.user.is_root


def test_a_box_contains_the_names_of_the_table(reckon):
    """ARCHITECTURE.md's table and the root of a box have the same names."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.split("## Inside a box")[1].split("\n## ")[0]
    first_cells = "".join(re.findall(r"^\| (`/.*?) \|", table, re.M))
    documented = set(re.findall(r"`/(\w+)", first_cells))
    found = set(reckon("run", "-t", "python", "-c", "import os; print(*os.listdir('/'))")
                .expect(0).out.split())
    assert documented == found


def test_a_box_has_its_sizes_user_and_folder(reckon):
    code = ("import os\nfor p in '/mnt/data', '/tmp', '/dev/shm':\n"
            "    s = os.statvfs(p); print(s.f_blocks * s.f_frsize >> 20)\n"
            "print(os.getuid(), os.getcwd(), os.path.realpath(os.environ['HOME']))")
    done = reckon("run", "-t", "python", "--memory", "256M", "--disk", "64M", "-c", code).expect(0)
    assert done.out.split() == ["64", "128", "128", "1000", "/mnt/data", "/mnt/data"]
