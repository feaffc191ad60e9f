"""Files that do not exist, may not be written or have another format; programs; the network."""

import ast
import errno
import os
import re
import stat

from _reckon import brief, hints, hints_names

_type = type
_lstat, _scandir, _open, _read, _close = os.stat, os.scandir, os.open, os.read, os.close
_join, _dirname, _basename = os.path.join, os.path.dirname, os.path.basename
_ENTRIES_MAX, _WALK_MAX = 400, 3000
WORKSPACE = "/mnt/data"
MAGIC = [
    (
        b"PK\x03\x04",
        (
            "is a zip archive (an .xlsx, .docx or .zip file): pd.read_excel reads a workbook,"
            " zipfile an archive"
        ),
    ),
    (b"\x1f\x8b", "is compressed with gzip: gzip.open(path, 'rt'), or compression='gzip'"),
    (b"BZh", "is compressed with bzip2: bz2.open(path, 'rt'), or compression='bz2'"),
    (b"\xfd7zXZ", "is compressed with xz: lzma.open(path, 'rt'), or compression='xz'"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd: compression='zstd'"),
    (b"%PDF", "is a PDF: pypdf.PdfReader(path) or pdfplumber.open(path) read it"),
    (b"PAR1", "is a Parquet file: pd.read_parquet(path)"),
    (b"\x89PNG", "is a PNG image: PIL.Image.open(path)"),
    (b"\xff\xd8\xff", "is a JPEG image: PIL.Image.open(path)"),
    (b"GIF8", "is a GIF image: PIL.Image.open(path)"),
    (b"SQLite format 3\0", "is an SQLite database: sqlite3.connect(path)"),
    (
        b"\xd0\xcf\x11\xe0",
        "is an old Excel or Word file (.xls): pd.read_excel(path, engine='xlrd')",
    ),
    (b"\x89HDF", "is an HDF5 file: h5py.File(path)"),
    (b"\x80\x04", "is a pickle: pickle.load(open(path, 'rb'))"),
    (b"{\\rtf", "is an RTF document"),
]


def _as_path(value):
    if _type(value) is str:
        return value
    if brief.module_name(_type(value)) == "pathlib" and brief.type_name(value) == "PosixPath":
        return str(value)
    return None


def path_given(facts):
    """The file that the failing call works on, if it can be determined; or None."""
    places = [facts.user] if facts.user is not None else []
    for node in facts.nodes(ast.Call, within=facts.statement):
        for argument in [*node.args[:1], *(k.value for k in node.keywords[:3])]:
            known, value = facts.try_value(argument)
            path = _as_path(value) if known else None
            if path and len(path) < 1000 and "\n" not in path and os.path.isfile(path):
                return path
            name = (
                getattr(value, "name", None)
                if known and brief.module_name(_type(value)) == "_io"
                else None
            )
            if _type(name) is str and os.path.isfile(name):
                return name
    for place in [*reversed(facts.places[-12:]), *places]:
        for name in (
            "filepath_or_buffer",
            "filename",
            "path",
            "file",
            "io",
            "f",
            "fh",
            "handle",
            "infile",
            "csvfile",
        ):
            value = place.locals().get(name)
            path = _as_path(value)
            if path is None and brief.module_name(_type(value)) == "_io":
                path = getattr(value, "name", None)
            if (
                _type(path) is str
                and len(path) < 1000
                and "\n" not in path
                and os.path.isfile(path)
            ):
                return path
    return None


def head_of(path, size=8192):
    """The first bytes of a regular file; b"" for anything else."""
    if path is None or not stat.S_ISREG(_lstat(path).st_mode):
        return b""
    fd = _open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        return _read(fd, size)
    finally:
        _close(fd)


def first_lines(path, count):
    return head_of(path).decode("utf-8", "replace").splitlines()[:count]


def kind_of(path):
    """What a file really is, as a phrase without a subject; or None."""
    data = head_of(path)
    if not data:
        return "is empty (0 bytes)"
    for start, kind in MAGIC:
        if data.startswith(start):
            return kind
    if b"\0" not in data:
        first = brief.one_line(data.decode("utf-8", "replace"), 120)
        return (
            "is HTML: pd.read_html reads its tables"
            if data.lstrip()[:1] == b"<"
            else f"is text; it begins with: {first}"
        )
    return None


def _entries(folder):
    """Names in a folder, folders with a slash; None if it cannot be read."""
    names = []
    try:
        with _scandir(folder) as entries:
            for entry in entries:
                names.append(entry.name + ("/" if entry.is_dir(follow_symlinks=False) else ""))
                if len(names) >= _ENTRIES_MAX:
                    break
    except OSError:
        return None
    return sorted(n for n in names if not n.startswith("."))


def _elsewhere(name):
    """Paths in the workspace whose last component is this name, ignoring case."""
    found, seen, pending = [], 0, [(WORKSPACE, 0)]
    if (
        os.getcwd() != WORKSPACE
        and not os.getcwd().startswith(WORKSPACE + "/")
        and os.getcwd() != "/"
    ):
        pending.append((os.getcwd(), 0))
    while pending and seen < _WALK_MAX:
        folder, depth = pending.pop(0)
        for entry in _entries(folder) or ():
            seen += 1
            path = _join(folder, entry.rstrip("/"))
            if entry.rstrip("/").casefold() == name.casefold():
                found.append(path)
            if entry.endswith("/") and depth < 4:
                pending.append((path, depth + 1))
    return found


def _name_of(error):
    name = OSError.__dict__["filename"].__get__(error) if brief.is_a(error, OSError) else None
    name = name.decode("utf-8", "replace") if _type(name) is bytes else name
    return _as_path(name)


def _listed(folder):
    names = _entries(folder)
    if names is None:
        return None
    return f"{folder} holds: {hints.listing(names, 330)}" if names else f"{folder} is empty"


@hints.on("FileNotFoundError")
def _not_found(facts):
    path = _name_of(facts.error)
    if path is None:
        found = re.search(r"'([^'\n]{1,300})'|(/[^\s'\"]{1,300})", facts.value)
        path = (found[1] or found[2]) if found else None
    if path is None:
        return
    if any(p.file.endswith("/subprocess.py") for p in facts.places[-3:]):
        if not os.path.exists(path) or "/" not in path:
            yield f"the box has no program {brief.brief(path, 60)}" + (
                "; a command with arguments is given as a list, or with shell=True"
                if " " in path
                else ""
            )
        return
    if path.startswith("~"):
        yield (
            f"Python does not expand ~ here: os.path.expanduser({path!r}) is"
            f" {os.path.expanduser(path)!r}"
        )
    if re.match(r"[A-Za-z]:[\\/]", path):
        yield f"this is Linux: files that were given lie in {WORKSPACE}"
    if re.match(r"(https?|ftp|s3)://?", path):
        yield "it is an address, not a file"
    folder = _dirname(path) or os.getcwd()
    name = _basename(path)
    found = [p for p in _elsewhere(name) if p != path] if name else []
    if found:
        shown = [p.removeprefix(os.getcwd() + "/") for p in found[:3]]
        yield f"there is {hints.one_of(shown)}"
    names = _entries(folder)
    if names is None:
        above = folder
        while above not in ("/", "") and not os.path.isdir(above):
            above = _dirname(above)
        if _is_written(facts) and not _can_write(above or "."):
            yield _writable(path)
            return
        yield f"the folder {brief.brief(folder, 80)} does not exist" + (
            f"; os.makedirs({folder!r}, exist_ok=True) makes it" if _is_written(facts) else ""
        )
        listed = _listed(WORKSPACE if above in ("/", "") else above)
    else:
        close = [] if found else hints.near(name, [n.rstrip("/") for n in names])
        if close:
            yield f"{folder} has {hints.one_of(close)}"
        listed = _listed(folder)
    if listed:
        yield listed
    if (
        folder != WORKSPACE
        and os.getcwd() != WORKSPACE
        and not found
        and not folder.startswith(WORKSPACE)
    ):
        listed = _listed(WORKSPACE)
        if listed:
            yield listed


def _writable(path):
    folders = [f for f in (WORKSPACE, "/tmp") if _can_write(f)]
    return f"files can be written in {' and '.join(folders)}, not at {brief.brief(path, 100)}"


def _is_written(facts):
    for node in facts.nodes(ast.Call, within=facts.statement):
        name = (
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        )
        if name.startswith(("to_", "save", "write", "dump", "imwrite", "imsave")):
            return True
        if name == "open":
            modes = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
            return any(
                isinstance(m, ast.Constant) and _type(m.value) is str and m.value[:1] in "wax"
                for m in modes
            )
    return False


@hints.on("OSError", says=r"Cannot save file into a non-existent directory: '(.*)'")
def _no_folder(facts, match):
    yield f"os.makedirs({match[1]!r}, exist_ok=True) makes the folder"


def _can_write(folder):
    return os.path.isdir(folder) and os.access(folder, os.W_OK)


@hints.on("OSError")
def _refused(facts):
    number = OSError.__dict__["errno"].__get__(facts.error)
    path = _name_of(facts.error)
    if number in (errno.EACCES, errno.EPERM, errno.EROFS):
        folders = [f for f in (WORKSPACE, "/tmp") if _can_write(f)]
        if folders and path is not None and not any(path.startswith(f + "/") for f in folders):
            yield _writable(path)
    elif number == errno.ENOSPC:
        state = os.statvfs(WORKSPACE)
        yield (
            f"the disk of the session is full: {state.f_bavail * state.f_frsize >> 20} MiB of"
            f" {brief.size_text(state.f_blocks * state.f_frsize)} free in {WORKSPACE}"
        )
    elif number == errno.EMFILE:
        yield "too many files are open at once: open them with a with block, one after the other"
    elif number == errno.ENAMETOOLONG:
        yield "a text was given where a path belongs: io.StringIO(text) makes a file of it"


@hints.on("IsADirectoryError")
def _folder(facts):
    path = _name_of(facts.error)
    if path and os.path.isdir(path):
        yield _listed(path) or "it is a folder"


@hints.on("NotADirectoryError")
def _no_directory(facts):
    path = _name_of(facts.error) or ""
    while path not in ("", "/") and not os.path.exists(path):
        path = _dirname(path)
    if path and os.path.isfile(path):
        yield f"{brief.brief(path, 100)} is a file, not a folder"


@hints.on("FileExistsError")
def _exists(facts):
    path = _name_of(facts.error)
    if path and os.path.isdir(path):
        yield "the folder already exists: os.makedirs(path, exist_ok=True) does not raise"
    elif path:
        yield "the file already exists: mode 'w' replaces it, os.remove(path) removes it"


@hints.on("UnidentifiedImageError")
def _image(facts):
    path = path_given(facts)
    kind = kind_of(path) if path else None
    if kind:
        yield f"{brief.one_line(path, 100)} {kind}"


# ---- tables in files ------------------------------------------------------------------------


def _separator(lines):
    """The separator that splits the first lines into equally many parts, or None."""
    for sign, name in ((";", "';'"), ("\t", r"'\t'"), ("|", "'|'"), (",", "','")):
        counts = [line.count(sign) for line in lines[:5] if line.strip()]
        if len(counts) > 1 and min(counts) == max(counts) > 0:
            return name
    return None


@hints.on("ParserError", says=r"Expected (\d+) fields in line (\d+), saw (\d+)")
def _fields(facts, match):
    path = path_given(facts)
    number = int(match[2])
    lines = first_lines(path, 200) if path else []
    if lines:
        yield f"line 1: {brief.one_line(lines[0], 150)}" + (
            f" / line {number}: {brief.one_line(lines[number - 1], 150)}"
            if 1 < number <= len(lines)
            else ""
        )
        sign = _separator(lines)
        if sign is not None and sign != "','":
            yield f"the lines are divided by {sign}: pd.read_csv(path, sep={sign})"
            return
        counts = [line.count(",") for line in lines[:20]]
        first = next((at for at, count in enumerate(counts) if count), 0)
        if first and len(counts) >= first + 3 and min(counts[first:]) == max(counts[first:]):
            yield (
                f"the first {first} lines hold no separator, all others {counts[first]}:"
                f" skiprows={first} leaves them out"
            )
            return
    yield "on_bad_lines='skip' leaves such lines out; quoted fields may hold the separator"


@hints.on("EmptyDataError")
def _no_data(facts):
    path = path_given(facts)
    if path:
        size = _lstat(path).st_size
        yield f"{brief.one_line(path, 100)} has {size} bytes" + (
            ": nothing was written to it, or it is still open for writing" if not size else ""
        )


# ---- programs -------------------------------------------------------------------------------


def _tail(output):
    if _type(output) is bytes:
        output = output[-4000:].decode("utf-8", "replace")
    if _type(output) is not str:
        return ""
    lines = [line for line in output[-4000:].strip().splitlines() if line.strip()]
    return brief.one_line(" / ".join(lines[-4:]), 400)


@hints.on("CalledProcessError")
def _process(facts):
    own = brief.own_attributes(facts.error)
    tail = _tail(own.get("stderr")) or _tail(own.get("output"))
    code = own.get("returncode")
    if tail:
        yield f"it wrote: {tail}"
    elif own.get("stderr") is None:
        yield (
            "what it wrote was not kept: subprocess.run(…, capture_output=True, text=True) keeps"
            " it, or it stands above"
        )
    if code == 127:
        yield "status 127: the shell knows no such program"
    elif code == 126:
        yield "status 126: the file may not be executed"
    elif _type(code) is int and (code == -9 or code == 137):
        yield "it was killed, as happens when memory ends"


@hints.on("TimeoutExpired")
def _timeout(facts):
    tail = _tail(brief.own_attributes(facts.error).get("stderr")) or _tail(
        brief.own_attributes(facts.error).get("output")
    )
    if tail:
        yield f"until then it wrote: {tail}"


# ---- network --------------------------------------------------------------------------------

_NETWORK = (
    "Name or service not known",
    "Temporary failure in name resolution",
    "Network is unreachable",
    "NameResolutionError",
    "No address associated",
    "Connection refused",
    "Failed to establish a new connection",
    "[Errno 101]",
    "[Errno -2]",
    "[Errno -3]",
    "Max retries exceeded",
    "All connection attempts failed",
    "Operation not permitted",
    "Address family not supported",
)


@hints.on(
    "URLError",
    "ConnectionError",
    "ConnectError",
    "gaierror",
    "ClientConnectorError",
    "MaxRetryError",
    "NewConnectionError",
    "ConnectTimeout",
    "OSError",
)
def _network(facts):
    number = (
        OSError.__dict__["errno"].__get__(facts.error) if brief.is_a(facts.error, OSError) else None
    )
    is_local = re.search(r"localhost|127\.0\.0\.1|\[::1\]", facts.value)
    if (
        number == errno.ENETUNREACH
        or any(part in facts.value for part in _NETWORK)
        and (_name_of(facts.error) is None)
        and not is_local
    ):
        if hints_names.has_network() is False:
            yield (
                f"{hints_names.no_network()}: work with the files in {WORKSPACE}, or ask for the"
                " data as a file"
            )
    elif is_local and "refused" in facts.value:
        yield "nothing listens on that port in the box: start the server first"
