"""reckon template: builds from wheels that the test makes itself, and their use in sessions."""
import base64
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import zipfile

import pytest
from reckon_cli import ROOT, Reckon

PYTHON = "/usr/bin/python3"
THREAD = """
import threading, time
threading.Thread(target=time.sleep, args=(1000,), name="ticker", daemon=True).start()
"""
# Where the name to import is not the name to install. None: nothing to import.
IMPORTS = {
    "scikit-learn": "sklearn", "vl-convert-python": "vl_convert", "pillow": "PIL",
    "scikit-image": "skimage", "python-calamine": "python_calamine", "python-docx": "docx",
    "python-pptx": "pptx", "fpdf2": "fpdf", "beautifulsoup4": "bs4", "pyyaml": "yaml",
    "tomli-w": "tomli_w", "python-dateutil": "dateutil", "opencv-python-headless": "cv2",
    "pypdf2": "PyPDF2", "protobuf": "google.protobuf",
}


def wheel(folder, name, files, version="1.0"):
    """A wheel of Python files and a script; returns its requirement with the hash."""
    info = f"{name}-{version}.dist-info"
    files = {f"{name}/{path}": text for path, text in files.items()}
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files[f"{info}/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
                              "Tag: py3-none-any\n")
    files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{name}-hello = {name}:hello\n"
    rows = []
    for path, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
        rows.append(f"{path},sha256={digest.decode()},{len(text.encode())}\n")
    files[f"{info}/RECORD"] = "".join(rows) + f"{info}/RECORD,,\n"
    path = pathlib.Path(folder, f"{name}-{version}-py3-none-any.whl")
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in files.items():
            archive.writestr(member, text)
    return f"{name}=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


class Templates:
    """One module's templates of one user, and the wheels they are made of."""

    def __init__(self, place):
        self.place = place
        self.path = place.folder("own-templates")
        self.wheels = place.folder("wheels")
        self.lock = wheel(self.wheels, "tiny", {
            "__init__.py": "import os\nfrom tiny import when\n"
                           "def hello():\n    print('hello', os.environ.get('TINY'))\n",
            "when.py": "import os\npid = os.getpid()\n",
        }) + wheel(self.wheels, "ticking", {"__init__.py": THREAD, "calm.py": ""})

    @functools.cached_property
    def env(self):
        return {"RECKON_TEMPLATES": str(self.path)}

    def names(self):
        """
        Everything below the directory but lock files, and old trees: these may be mounted in a
        zygote that has not ended yet.
        """
        found = {path.name for path in self.path.iterdir()} - {".defined"}
        if (self.path / ".defined").exists():
            found |= {f".defined/{path.name}" for path in (self.path / ".defined").iterdir()}
        return {name for name in found if not name.endswith(".lock") and ".old-" not in name}


@pytest.fixture(scope="module")
def templates(place):
    return Templates(place)


@pytest.fixture
def own(reckon, templates):
    """`reckon` with this module's own templates instead of the host's."""
    reckon.env.update(templates.env)
    return reckon


def add(own, templates, name, *options, lock=None, **more):
    file = own.file(f"{name}.txt", templates.lock if lock is None else lock)
    return own("template", "add", name, "--requirements", file, "--offline", "--find-links",
               templates.wheels, *options, **more)


@pytest.fixture
def tiny(own, templates):
    """`reckon` with the template `tiny`, made by the first test that requests it."""
    if not (templates.path / "tiny").exists():
        add(own, templates, "tiny", "--preload", "tiny,tiny.when", "--env", "TINY=a b=c",
            "--memory", "300M").expect(0)
    return own


def until_warm(own, name, module):
    """The first session of a template may come from a zygote that has not preloaded anything
    yet."""
    code = f"import sys; print({module!r} in sys.modules)"
    while own("run", "-t", name, "-c", code).expect(0).out != "True\n":
        pass


# ---- the command ------------------------------------------------------------------------------

def test_add_list_and_remove(own, templates):
    done = add(own, templates, "brief", "--preload", "tiny").expect(0)
    assert done.out.startswith("brief: 2 packages, ")
    rows = own("template", "ls").expect(0).out.splitlines()
    (row,) = [row.split() for row in rows if row.startswith("brief ")]
    assert row[1:3] == ["built", "2"] and row[-1] == "tiny"
    assert own("template", "build", "brief").expect(0).out == "brief: up to date\n"
    again = add(own, templates, "brief").expect(1)
    assert "there already" in again.err and "--force" in again.err
    add(own, templates, "brief", "--force").expect(0)
    assert own("run", "-t", "brief", "-c", "import tiny; tiny.hello()").expect(0).out == "hello None\n"
    own("template", "rm", "brief").expect(0)
    assert not {name for name in templates.names() if "brief" in name}
    assert "brief" not in own("template", "ls").expect(0).out
    assert own("run", "-t", "brief", "-c", "1").expect(2).out == ""


@pytest.mark.one_user
@pytest.mark.parametrize("arguments", [
    ("rm", "nosuch"), ("build", "nosuch"), ("verify", "nosuch"), ("build",), ("rm",), ("add",),
    ("ls", "nosuch"), ("frob",), ("build", "../up"), ("build", "--nosuch", "python"),
    ("build", "--offline", "python"), ("add", "x", "--requirements", "nosuch.txt"),
    ("add", "x", "--requirements", "/dev/null", "--memory", "1T"),
    ("add", "x", "--requirements", "/dev/null", "--env", "A=b ;c"),
    ("add", "x", "--requirements", "/dev/null", "--env", "A=" + 91 * "b"),
    ("add", "x", "--requirements", "/dev/null", "--preload", "a;b"),
    ("add", "x", "--from", "nosuch", "--requirements", "/dev/null"),
])
def test_a_wrong_name_or_option_exits_with_2_and_makes_nothing(own, templates, arguments):
    before = templates.names()
    done = own("template", *arguments).expect(2)
    assert done.out == "" and done.err.startswith("reckon-template: ")
    assert templates.names() == before


@pytest.mark.one_user
def test_an_unknown_template_error_has_a_remedy(own):
    err = own("run", "-t", "nosuch", "-c", "1").expect(2).err
    assert "reckon template ls" in err and "reckon template add" in err


def test_lock_pins_the_newest_with_its_hash(own, templates):
    done = add(own, templates, "pinned", "--lock", lock="tiny\n").expect(0)
    assert done.out.startswith("pinned: 1 packages")
    lock = (templates.path / "pinned/lock").read_text()
    assert re.sub(r"\s*\\\s*", " ", lock) == templates.lock.splitlines(keepends=True)[0]
    own("template", "rm", "pinned").expect(0)


def test_from_another_template(tiny, templates):
    add(tiny, templates, "more", "--from", "tiny", "--lock", "--env", "TINY=mine",
        "--preload", "json", lock="ticking\n").expect(0)
    ini = (templates.path / "more/template.ini").read_text()
    assert re.findall(r"^modules = (.*)$", ini, re.M) == ["tiny", "tiny.when", "json"]
    assert re.findall(r"^TINY = (.*)$", ini, re.M) == ["mine"]
    assert "memory = 300M" in ini
    assert tiny("run", "-t", "more", "-c", "import tiny; tiny.hello()").expect(0).out == \
        "hello mine\n"
    tiny("template", "rm", "more").expect(0)


# ---- packages that are refused, builds that fail ----------------------------------------------

def test_a_requirement_without_a_hash_is_refused(own, templates):
    before = templates.names()
    err = add(own, templates, "loose", lock="tiny==1.0\n").expect(1).err
    assert "has no hashes" in err and "--lock" in err
    mixed = templates.lock.splitlines(keepends=True)[0] + "ticking==1.0\n"
    assert "hash" in add(own, templates, "loose", lock=mixed).expect(1).err
    assert templates.names() == before


def test_a_tampered_wheel_is_refused_and_nothing_is_left(own, templates):
    before = templates.names()
    good = (templates.wheels / "tiny-1.0-py3-none-any.whl").read_bytes()
    bad = own.cwd / "bad"
    bad.mkdir()
    wheel(bad, "tiny", {"__init__.py": "raise SystemExit('tampered')\n"})
    assert (bad / "tiny-1.0-py3-none-any.whl").read_bytes() != good
    file = own.file("tiny.txt", templates.lock.splitlines()[0])
    done = own("template", "add", "bad", "--requirements", file, "--offline", "--find-links", bad)
    assert "HASHES" in done.expect(1).err
    assert templates.names() == before


def test_a_source_archive_is_refused(own, templates):
    before = templates.names()
    source = own.cwd / "source"
    (source / "src-1.0").mkdir(parents=True)
    marker = own.cwd / "set-up-code-ran"
    (source / "src-1.0/setup.py").write_text(f"open({str(marker)!r}, 'w')\n")
    shutil.make_archive(source / "src-1.0", "gztar", source, "src-1.0")
    digest = hashlib.sha256((source / "src-1.0.tar.gz").read_bytes()).hexdigest()
    file = own.file("src.txt", f"src==1.0 --hash=sha256:{digest}\n")
    for options in (), ("--lock",):
        own("template", "add", "src", "--requirements", file, "--offline", "--find-links", source,
            *options).expect(1)
    assert not marker.exists()
    assert templates.names() == before


def test_a_killed_build_does_not_block_the_next_one(own, templates):
    """The build is killed while pip installs packages: pip waits for a pipe."""
    pipe = own.cwd / "slow" / "tiny-1.0-py3-none-any.whl"
    pipe.parent.mkdir()
    own.user.own(pipe.parent)
    os.mkfifo(pipe)
    own.user.own(pipe)
    file = own.file("killed.txt", templates.lock.splitlines()[0])
    with own.start("template", "add", "killed", "--requirements", file, "--offline",
                   "--find-links", pipe.parent) as process:
        writer = os.open(pipe, os.O_WRONLY)  # returns when pip has opened it
        assert any(".killed.tmp-" in name for name in templates.names())
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.close(writer)
    assert any(".killed.tmp-" in name for name in templates.names())
    assert own("run", "-t", "killed", "-c", "1").expect(2).out == ""
    assert "not built" in own("template", "ls").expect(0).out
    add(own, templates, "killed").expect(0)
    assert {name for name in templates.names() if "killed" in name} == {"killed", ".defined/killed"}
    own("template", "rm", "killed").expect(0)


def test_a_failed_change_keeps_the_old_template(tiny, templates):
    before = templates.names()
    definition = (templates.path / ".defined/tiny/template.ini").read_text()
    add(tiny, templates, "tiny", "--force", "--preload", "nosuch").expect(1)
    assert templates.names() == before
    assert (templates.path / ".defined/tiny/template.ini").read_text() == definition
    assert tiny("run", "-t", "tiny", "-c", "import tiny; tiny.hello()").expect(0).out == \
        "hello a b=c\n"


def test_an_unchanged_template_builds_without_python(own, templates):
    """A python3 that always fails replaces the real one."""
    own("template", "build", "python").expect(0)
    real = pathlib.Path(PYTHON).resolve().name
    stub = own.file(real, "#!/bin/sh\necho started >&2\nexit 9\n")
    stub.chmod(0o755)
    link = own.cwd / "python3"
    link.symlink_to(stub)
    stubbed = {"RECKON_PYTHON": str(stub), "PATH": f"{own.cwd}:{own.env['PATH']}"}
    done = own("template", "build", "python", env=stubbed).expect(0)
    assert (done.out, done.err) == ("python: up to date\n", "")
    # Check of the stub: a real build notices it.
    assert "started" in own("template", "build", "--force", "python", env=stubbed).expect(1).err
    assert own("template", "build", "python").expect(0).out == "python: up to date\n"


# ---- preloading -------------------------------------------------------------------------------

def test_preload_and_environment_reach_the_session(tiny):
    until_warm(tiny, "tiny", "tiny.when")
    code = ("import os, sys; print('tiny' in sys.modules, os.environ['TINY']); "
            "import tiny; print(tiny.when.pid != os.getpid())")
    assert tiny("run", "-t", "tiny", "-c", code).expect(0).out == "True a b=c\nTrue\n"
    shell = tiny("run", "-t", "tiny", "-l", "bash", "-c", "echo $TINY; tiny-hello").expect(0)
    assert shell.out == "a b=c\nhello a b=c\n"


def test_a_preload_that_starts_a_thread_is_refused_by_name(own, templates):
    before = templates.names()
    err = add(own, templates, "ticking", "--preload", "tiny,ticking").expect(1).err
    # A thread of Python 3.11 has the process's name; one of a C library has its own.
    assert re.search(r"preload module ticking leaves a second thread: '\S+'", err)
    assert templates.names() == before


def test_verify_and_run_refuse_a_thread_that_came_later(own, templates):
    add(own, templates, "later", "--preload", "tiny").expect(0)
    assert own("template", "verify", "later").expect(0).out == \
        "later: preload list leaves one thread\n"
    ini = templates.path / "later/template.ini"
    text = ini.read_text()
    ini.chmod(0o644)
    ini.write_text(text.replace("modules = tiny", "modules = tiny\nmodules = ticking"))
    done = own("template", "verify", "later").expect(1)
    assert re.search(r"module ticking leaves a second thread: '\S+'", done.err)
    while (done := own("run", "-t", "later", "-c", "print(1)")).status == 0:
        pass  # served by the bare interpreter while the other one warms up
    assert done.status != 1 and done.out == ""
    assert re.search(r"module ticking started thread '\S+'", done.err)
    # In a cell the same module is allowed.
    ini.write_text(text)
    done = own("run", "-t", "later", "-c", "import ticking, threading",
               "-c", "[t.name for t in threading.enumerate()].count('ticker')")
    assert done.expect(0).out == "1\n"
    own("template", "rm", "later").expect(0)


def test_a_long_preload_list_arrives_whole(own, templates):
    """The warden's reader takes 200 bytes of a line."""
    modules = ("argparse ast bisect bz2 calendar cmath configparser contextlib copy csv dataclasses "
               "decimal difflib email enum fractions functools gzip hashlib heapq html http inspect "
               "itertools json lzma operator pickle platform queue secrets shlex sqlite3 string "
               "tarfile textwrap tomllib uuid wave zipfile").split()
    add(own, templates, "long", "--preload", ",".join(modules)).expect(0)
    until_warm(own, "long", modules[-1])
    code = f"import sys; print([m for m in {modules} if m not in sys.modules])"
    assert own("run", "-t", "long", "-c", code).expect(0).out == "[]\n"
    own("template", "rm", "long").expect(0)


def test_memory_of_the_template_is_the_default(tiny):
    def limit(*options):
        return tiny.record("1", *options)["receipt"]["limits"]["memory_bytes"]

    assert limit("-t", "tiny") == 300 << 20
    assert limit("-t", "tiny", "--memory", "200M") == 200 << 20


# ---- the tree ---------------------------------------------------------------------------------

PATHS = "import sys; print(*sys.path, sep='\\n')"


def test_the_distributions_packages_are_not_in_the_box(tiny):
    code = f"""
import subprocess, sys
{PATHS}
for python in "python3", sys.executable:
    subprocess.run([python, "-c", {PATHS!r}], check=True)
"""
    out = tiny("run", "-t", "tiny", "-c", code).expect(0).out
    assert out.count("/opt/template/lib/python3") == 3
    assert "dist-packages" not in out


def test_the_distributions_python_finds_no_packages(tiny):
    """Called by its path it is not part of the template, and has nothing to import either."""
    code = """
import os, sys
folders = [path for path in sys.path if "dist-packages" in path]
print([os.path.join(path, name) for path in folders for name in os.listdir(path)])
"""
    shell = tiny("run", "-t", "tiny", "-l", "bash", "-c",
                 f"/usr/bin/python3 - <<'END'\n{code}\nEND")
    assert shell.expect(0).out == "[]\n"


def test_modules_of_the_workspace_come_first(tiny):
    """As in Jupyter, they come before the template's packages; what the kernel has imported does
    not change."""
    for name in "helper.py", "random.py", "tiny.py":
        tiny.file(name, f"where = {name!r}\n")
    code = """
import importlib, sys
sys.modules.pop("tiny", None)
for name in "helper", "random", "tiny":
    print(hasattr(importlib.import_module(name), "where"))
"""
    options = [word for name in ("helper", "random", "tiny") for word in ("-f", f"{name}.py")]
    done = tiny("run", "-t", "tiny", *options, "-c", code).expect(0)
    assert done.out == "True\nFalse\nTrue\n"


def test_the_tree_is_read_only_in_the_box(tiny):
    code = """
import errno, os, tiny
for path in tiny.__file__, os.path.dirname(tiny.__file__) + "/new", "/opt/template/new":
    try:
        open(path, "w")
    except OSError as error:
        print(error.errno in (errno.EROFS, errno.EACCES))
try:
    os.unlink(tiny.__file__)
except OSError:
    print(True)
"""
    assert tiny("run", "-t", "tiny", "-c", code).expect(0).out == "True\n" * 4


def test_no_file_contains_a_path_of_the_build(tiny, templates):
    tree = templates.path / "tiny/tree"
    found = [str(path.relative_to(tree)) for path in tree.rglob("*")
             if path.is_file() and not path.is_symlink()
             and os.fsencode(templates.path) in path.read_bytes()]
    assert not found
    assert (tree / "bin/tiny-hello").read_text().startswith("#!/opt/template/bin/python")
    assert (tree / "pyvenv.cfg").read_text().splitlines()[:2] == [
        "home = /usr/bin", "include-system-site-packages = false"]
    links = [os.readlink(path) for path in (tree / "bin").iterdir() if path.is_symlink()]
    assert set(links) == {PYTHON, "python3"}
    writable = [path for path in tree.rglob("*") if not path.is_symlink()
                and path.stat().st_mode & 0o222]
    assert not writable


# ---- data -------------------------------------------------------------------------------------

def wanted_packages():
    text = (ROOT / "share/templates/data.requirements.in").read_text(encoding="utf-8")
    lines = [re.split("[<>=]", line.split("#")[0].strip())[0] for line in text.splitlines()]
    return [IMPORTS.get(name, name) for name in lines if name]


@pytest.mark.one_user
def test_every_package_of_data_imports_in_one_session(reckon):
    names = wanted_packages()
    assert len(names) > 60 and {"polars", "statsmodels", "duckdb", "sklearn"} <= set(names)
    code = "import importlib\n" + "\n".join(f"importlib.import_module({name!r})" for name in names)
    record = reckon.record(f"{code}\nprint('all of them')", "-t", "data", "--timeout", "2m",
                           "--memory", "2G")
    assert record["status"] == "ok", record.get("error")
    assert (record["stdout"], record["stderr"]) == ("all of them\n", "")


# Packages that hosted interpreters document, except those that need a program of the host or a GPU
# (pdf2image, pdfkit, tabula-py, pylatex, tensorflow): share/templates/data_hints.py has hints for
# these.
HOSTED = """
attrs chess contourpy cv2 dateutil docx faker fpdf geopandas imageio img2pdf jinja2 joblib
jsonschema jsonschema_specifications lxml matplotlib mpmath numpy openpyxl packaging pandas
pdfplumber PIL pkg_resources pptx google.protobuf pyarrow pyparsing pypdf PyPDF2 pypdfium2 pytz
reportlab scipy seaborn setuptools six skimage sklearn statsmodels striprtf sympy tables tabulate
toolz tqdm xlrd xlsxwriter
""".split()

# Packages that may import and still not work: data files, native parts, other packages that they
# need.
USED = {
    "faker": "import faker; faker.Faker.seed(1); assert faker.Faker('de_DE').name()",
    "setuptools": "import setuptools; assert len(setuptools.find_packages('/opt')) >= 0",
    "pkg_resources": "import warnings; warnings.simplefilter('ignore'); import pkg_resources; "
                     "assert pkg_resources.get_distribution('numpy').version",
    "tables": "import pandas as pd; t = pd.DataFrame({'a': [1, 2]}); t.to_hdf('t.h5', key='t'); "
              "assert pd.read_hdf('t.h5').equals(t)",
    "dateutil": "import dateutil.parser, dateutil.tz; "
                "assert dateutil.parser.parse('3 May 2026', tzinfos=None).year == 2026; "
                "assert dateutil.tz.gettz('Europe/Berlin') is not None",
    "pdfplumber": "from fpdf import FPDF; f = FPDF(); f.add_page(); f.set_font('Helvetica'); "
                  "f.cell(text='hello'); f.output('t.pdf'); import pdfplumber; "
                  "assert pdfplumber.open('t.pdf').pages[0].extract_text() == 'hello'",
    "openpyxl": "import openpyxl; b = openpyxl.Workbook(); b.active['A1'] = 6; b.save('t.xlsx'); "
                "assert openpyxl.load_workbook('t.xlsx').active['A1'].value == 6",
    "img2pdf": "import io, img2pdf; from PIL import Image; p = io.BytesIO(); "
               "Image.new('RGB', (9, 9)).save(p, 'png'); "
               "assert img2pdf.convert(p.getvalue()).startswith(b'%PDF')",
    "chess": "import chess; assert chess.Board().legal_moves.count() == 20",
    "striprtf": r"from striprtf.striprtf import rtf_to_text; assert rtf_to_text(r'{\rtf1 a}') == 'a'",
}


@pytest.fixture(scope="module")
def tried(place):
    """{what was tried in a session of the template `data`: its error, or None}."""
    cells = {**{f"import {name}": f"import {name}" for name in HOSTED}, **USED}
    code = f"cells = {cells!r}\nfound = {{}}\n" + """
for name, code in cells.items():
    try:
        exec(code, {})
        found[name] = None
    except BaseException as error:
        found[name] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""
    reckon = Reckon(place, place.folder("hosted"))
    record = reckon.record(f"import json\n{code}", "-t", "data", "--timeout", "2m", "--memory", "2G")
    return json.loads(record["stdout"].splitlines()[-1])


@pytest.mark.parametrize("name", [*(f"import {name}" for name in HOSTED), *USED])
def test_data_has_what_hosted_interpreters_have(tried, name):
    assert tried[name] is None


@pytest.mark.one_user
def test_hints_for_packages_that_data_does_not_have(reckon):
    for name, instead in (("pdf2image", "pypdfium2"), ("pdfkit", "fpdf2"), ("tabula", "pdfplumber"),
                          ("pylatex", "reportlab"), ("tensorflow", "sklearn")):
        hints = reckon.record(f"import {name}", "-t", "data")["error"]["hints"]
        assert any(instead in hint for hint in hints), (name, hints)


@pytest.mark.one_user
def test_a_template_without_a_package_names_the_one_with_it(reckon):
    """The list in the kernel is that of the lock's requirements."""
    text = (ROOT / "src/inside/py/hints/packages.py").read_text(encoding="utf-8")
    listed = text.partition('frozenset("""')[2].partition('"""')[0].split()
    assert set(listed) == {name.partition(".")[0] for name in wanted_packages()} - {"pip"}
    record = reckon.record("import pandas", "-t", "python")
    assert record["error"]["hints"] == [
        'pandas is in the template `data`: reckon run -t data; over HTTP a session with "template": "data"']


@pytest.mark.one_user
def test_chinese_japanese_and_korean_in_a_figure(reckon):
    code = """
import io, warnings
import matplotlib.pyplot as plt
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for style in "default", "ggplot", "seaborn-v0_8":
        plt.style.use(style)
        figure = plt.figure()
        plt.title("日本語 中文简体 繁體 한국어 Ünïcode")
        figure.savefig(io.BytesIO())
        plt.close(figure)
print(len(caught), *[w.message for w in caught])
"""
    done = reckon("run", "-t", "data", "-c", code).expect(0)
    assert (done.out, done.err) == ("0\n", "")


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_multiprocessing(reckon, method):
    reckon.file("work.py", "import numpy\n\ndef double(n):\n    return int(numpy.int64(n) * 2)\n")
    code = f"""
import multiprocessing, sys
from work import double
context = multiprocessing.get_context({method!r})
with context.Pool(2) as pool:
    print(sys.executable, pool.map(double, range(4)))
"""
    done = reckon("run", "-t", "data", "-f", "work.py", "-c", code).expect(0)
    assert (done.out, done.err) == ("/opt/template/bin/python3 [0, 2, 4, 6]\n", "")
