"""Names, attributes and imports that do not exist."""

import ast
import builtins
import os
import re
import sys
import types
from itertools import islice

from _reckon import brief, case, errors, hints, hints_packages, hints_tables

_type = type
_open = open
_MAIN = ("/mnt/data/", "/home/user/")
_IN_PLACE = {
    "sort",
    "append",
    "extend",
    "reverse",
    "insert",
    "remove",
    "clear",
    "update",
    "add",
    "discard",
    "shuffle",
    "to_csv",
    "to_excel",
    "to_json",
    "to_parquet",
    "show",
    "savefig",
    "print",
    "write_html",
    "write_image",
}


# ---- NameError ------------------------------------------------------------------------------


@hints.on("UnboundLocalError", says=r"'(\w+)'")
def _unbound(facts, match):
    name = match[1]
    function = brief.one_line(facts.user.function, 60)
    if name in facts.user.globals():
        yield (
            f"{function}() assigns {name!r} somewhere, so {name} is local in all of it and not yet "
            f"set here; pass it as an argument, use another name, or write `global {name}` first"
        )
        return
    tree, _ = facts.tree(facts.user.file)
    for node in islice(ast.walk(tree), 50000) if tree is not None else ():
        if (
            isinstance(node, ast.ExceptHandler)
            and node.name == name
            and node.end_lineno < facts.user.line
        ):
            yield (
                "the name after `as` ends with its except block: keep it under another, error ="
                f" {name}"
            )
            return
        if isinstance(node, ast.Delete) and any(getattr(t, "id", "") == name for t in node.targets):
            return
    if "<" not in function:
        yield (
            f"{name!r} gets a value only on a path through {function}() that was not taken; set it "
            "before the if, try or loop"
        )


def _imports(name):
    line = hints_tables.IMPORTS.get(name)
    if line is not None and case.is_installed(re.split(r"[ .]", line)[1]):
        return line
    if name in sys.stdlib_module_names and not name.startswith("_"):
        return f"import {name}"
    if not name.startswith("_") and name.isidentifier() and case.is_installed(name):
        return f"import {name}"
    return None


def _unreached(facts, name):
    """Whether a failed cell would have defined the name after the line at which it failed."""
    for file in reversed(list(errors.failed)):
        facts.check_time()
        failed_at = errors.failed[file]
        if facts.user is not None and file == facts.user.file:
            continue
        tree, _ = facts.tree(file)
        for node in islice(ast.walk(tree), 20000) if tree is not None else ():
            made = (
                getattr(node, "id", None)
                if isinstance(getattr(node, "ctx", None), ast.Store)
                else None
            )
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                made = node.name
            elif isinstance(node, ast.alias):
                made = (node.asname or node.name).partition(".")[0]
            if made == name and node.lineno >= failed_at:
                return file, node.lineno, failed_at
    return None


def _quoted(facts, name):
    """Whether a name is used as a key where its text, in quotes, is one."""
    for node in facts.nodes(ast.Subscript, within=facts.statement):
        if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.slice)):
            known, value = facts.try_value(node.value)
            if known and brief.is_frame(value) and name in brief.labels(value.columns):
                return facts.text_of(node.value, 40), "column"
            if known and _type(value) is dict and name in value:
                return facts.text_of(node.value, 40), "key"
    return None


@hints.on("NameError", says=r"name '(\w+)' is not defined")
def _name(facts, match):
    name = match[1]
    line = _imports(name)
    lost = _unreached(facts, name)
    if lost is not None:
        yield (
            f"{lost[0]} defines {name!r} at line {lost[1]}, but it failed at line {lost[2]}: run"
            " that part again"
        )
    elif line is not None:
        yield f"it is not imported in this session: {line}"
    quoted = _quoted(facts, name)
    if quoted is not None:
        yield f"{quoted[0]} has the {quoted[1]} {name!r}: write it in quotes, {quoted[0]}[{name!r}]"
    if name in hints_tables.FOREIGN:
        yield f"{name} is {hints_tables.FOREIGN[name]} in Python"
    elif name == "__file__":
        yield f"a cell has no __file__; the working directory is {os.getcwd()}"
    elif name == "self":
        yield "self is defined only inside a method that has it as its first parameter"
    place = facts.user
    names = [*place.locals(), *place.globals()]
    found = hints.near(name, list(dict.fromkeys(names)))
    found = [n for n in found if not n.startswith("_") or name.startswith("_")]
    if not found and line is None:
        found = hints.near(name, list(builtins.__dict__))
    if found:
        yield f"names that exist: {', '.join(found)}"
    tree, _ = facts.tree(place.file)
    for node in islice(ast.walk(tree), 20000) if tree is not None else ():
        if (
            isinstance(node, (ast.FunctionDef, ast.ClassDef))
            and node.name == name
            and (node.lineno > place.line and node.col_offset == 0)
        ):
            yield f"{name} is defined further down, at line {node.lineno}: move it above its use"
            return


# ---- AttributeError -------------------------------------------------------------------------


def _object(error):
    """(name, object) of an AttributeError, as the interpreter set them."""
    name = AttributeError.__dict__["name"].__get__(error)
    return name, AttributeError.__dict__["obj"].__get__(error)


def why_none(facts, node):
    """Says what made an expression None, as far as the source shows it."""
    if node is None:
        return
    shown = facts.text_of(node, 60)
    file, line, value = facts.user.file, facts.user.line, node
    if isinstance(node, ast.Name):
        found = facts.assigned(node.id)
        if found is None:
            yield f"{shown} is None here"
            return
        file, line, value = found
    where = (
        "" if value is node else f" it was assigned at {hints.place_text(facts, file, line)}, and"
    )
    text = facts.source_of(file, value, 60)
    if isinstance(value, ast.Call):
        called = value.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if any(
            k.arg == "inplace" and getattr(k.value, "value", False) is True for k in value.keywords
        ):
            yield (
                f"{shown} is None:{where} {text} changes in place and returns None; leave "
                "inplace=True away, or do not use its result"
            )
        elif name in _IN_PLACE:
            yield (
                f"{shown} is None:{where} {text} returns None: it is called for its effect, not for"
                " its result"
            )
        elif name in ("match", "search", "fullmatch"):
            yield f"{shown} is None:{where} {text} found no match; test for None first"
        elif name == "get" and value.args:
            yield f"{shown} is None:{where} {text} found no such key"
        elif name in ("find", "select_one", "find_next", "find_parent"):
            yield f"{shown} is None:{where} {text} found nothing; test for None first"
        else:
            yield f"{shown} is None:{where} {text} returned None" + _no_return(facts, called)
    elif isinstance(value, ast.Constant) and value is not node:
        yield f"{shown} is None:{where} was never given another value"
    else:
        yield f"{shown} is None here"


def _no_return(facts, called):
    known, function = facts.try_value(called)
    if known and _type(function) is types.FunctionType:
        tree, _ = facts.tree(function.__code__.co_filename)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
                if not any(
                    isinstance(n, (ast.Return, ast.Yield)) and n.value is not None
                    for n in ast.walk(node)
                ):
                    return f": {node.name}() has no return statement"
    return ""


def _shadow(module):
    """A file in the workspace that shadows a module, or None."""
    file = module.__dict__.get("__file__")
    name = module.__dict__.get("__name__")
    if (
        _type(file) is str
        and _type(name) is str
        and (file.startswith(_MAIN) or not file.startswith("/"))
    ):
        return file
    return None


def _of_module(facts, name, module):
    known = module.__dict__.get("__name__")
    known = known if _type(known) is str else "?"
    gone = hints_tables.GONE.get(known, {}).get(name)
    if gone is not None:
        yield f"{known}.{name} does not exist in the installed version; use {gone}"
        return
    file = _shadow(module)
    if file is not None:
        real = known in sys.stdlib_module_names
        yield f"{known} is your own file {brief.one_line(file, 100)}" + (
            ", which hides the standard module: rename the file"
            if real
            else ", which defines: " + hints.listing(_public(module), 200)
        )
    for inner in (known.rpartition(".")[2], "tqdm", "pprint"):
        value = module.__dict__.get(inner)
        if brief.is_a(value, type) and brief.has_attribute(value, name):
            yield (
                f"{known} is the module here; {known}.{inner}.{name} exists: from {known} import"
                f" {inner}"
            )
            return
    for folder in list(module.__dict__.get("__path__") or ())[:3]:
        path = os.path.join(folder, name)
        if os.path.isdir(path) or os.path.exists(path + ".py"):
            yield f"{known}.{name} is a module of its own: import {known}.{name}"
            return
    found = hints.near(name, [n for n in list(module.__dict__) if _type(n) is str])
    if found:
        yield f"{known} has: {', '.join(found)}"


def _public(module):
    return [n for n in list(module.__dict__) if _type(n) is str and not n.startswith("_")]


def _gone_of(value):
    for base in brief.lineage(value):
        package = brief.module_name(base).partition(".")[0]
        found = hints_tables.GONE_OF.get((package, brief.class_name(base)))
        if found is not None:
            yield package, brief.class_name(base), found


def _of_frame(facts, name, value, shown):
    columns = [c for c in brief.labels(value.columns) if _type(c) is str]
    found = hints.near(name, columns)
    if name in columns:
        yield f"the column {name!r} is read as {shown}[{name!r}]"
    elif found:
        why = hints.difference(name, found[0])
        yield f"{shown} has the column {hints.one_of(found)}" + (f" ({why})" if why else "")
    else:
        yield (
            f"{shown} has no attribute and no column {name!r}; its columns:"
            f" {hints.listing(columns, 250)}"
        )


def _expression(facts):
    """(node, text) of the object whose attribute was accessed."""
    node = facts.node
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.value, facts.text_of(node.value, 50)
    return None, ""


@hints.on("AttributeError", says=r"Can only use \.(\w+) accessor")
def _accessor(facts, match):
    node, shown = _expression(facts)
    known, value = facts.try_value(node)
    dtype = (
        f"{shown or 'the column'} is {brief.dtype_text(value.dtype)}"
        if known and (brief.is_series(value))
        else "the column is of another type"
    )
    if match[1] == "dt":
        yield f"{dtype}: {shown or 'it'} = pd.to_datetime({shown or 'it'}) first"
    elif match[1] == "str":
        yield f"{dtype}: {shown or 'it'}.astype(str).str… works on texts"


@hints.on("AttributeError")
def _attribute(facts):
    name, value = _object(facts.error)
    if _type(name) is not str:
        return
    node, shown = _expression(facts)
    if node is not None:
        known, seen = facts.try_value(node)
        if known and seen is not value and not brief.is_a(value, type):
            shown = ""
    kind = brief.type_name(value)
    if value is None:
        if node is not None and facts.places[-1] is facts.user:
            yield from why_none(facts, node)
        return
    if "accessor" in facts.value:
        return
    if _type(value) is types.ModuleType:
        yield from _of_module(facts, name, value)
        return
    if brief.is_a(value, type):
        yield from _of_class(name, value)
        return
    for package, owner, gone in _gone_of(value):
        if name in gone:
            what = owner if package == "builtins" else f"{owner} of the installed {package}"
            yield f"{what} has no {name}; use {gone[name]}"
            if not brief.is_frame(value) or not hints.near(name, brief.labels(value.columns)):
                return
    if _type(value) is dict and name in value:
        yield f"{shown or 'it'} is a dict: {shown or 'd'}[{name!r}]"
        return
    if brief.is_frame(value):
        yield from _of_frame(facts, name, value, shown or "the DataFrame")
        if any(hints.difference(name, c) for c in brief.labels(value.columns) if _type(c) is str):
            return
    if callable(value) and brief.exact(
        value, types.FunctionType, types.BuiltinFunctionType, types.MethodType
    ):
        yield (
            f"{shown or 'it'} is a {'method' if 'method' in brief.brief(value) else 'function'}:"
            f" call it first, {shown or 'f'}()"
        )
        return
    yield from _near_attribute(name, value, kind, shown)


def _of_class(name, value):
    owner = brief.class_name(value)
    module = sys.modules.get(brief.module_name(value))
    if (
        _type(module) is types.ModuleType
        and name in module.__dict__
        and module.__dict__[name] is not value
    ):
        yield (
            f"{owner} is the class here; {name} is in the module {module.__name__}: from"
            f" {module.__name__} import {name}"
        )
        return
    if name == owner:
        yield f"{owner} is the class itself here: leave '{owner}.' away"
        return
    if _type(module) is types.ModuleType and owner == module.__name__ and name in module.__dict__:
        yield f"{owner} is the class here: leave '{owner}.' away"
        return
    names = [
        n
        for base in brief.lineage_of(value)
        for n in list(brief.class_dict(base))
        if _type(n) is str
    ]
    found = hints.near(name, [n for n in names if not n.startswith("_")])
    if found:
        yield f"{owner} has: {', '.join(found)}"


def _near_attribute(name, value, kind, shown):
    names = brief.attribute_names(value)
    found = hints.near(name, names)
    own = brief.module_name(_type(value)) == "__main__"
    if found:
        yield f"{kind} has: {', '.join(found)}"
    elif own and names:
        yield f"{kind} has: {', '.join(brief.clip(n, 40) for n in names[:25])}"
    elif _type(value) is str and shown:
        yield f"{shown} is a str: {brief.brief(value, 80)}"


# ---- ImportError ----------------------------------------------------------------------------


def has_network():
    """False if there is certainly no network: only the loopback interface exists. None: unknown."""
    try:
        with _open("/proc/self/net/dev", encoding="ascii", errors="replace") as table:
            names = {line.partition(":")[0].strip() for line in table.read(20000).splitlines()[2:]}
    except OSError:
        return None
    return False if names == {"lo"} else None


def no_network():
    return "this box has no network (its only interface is the loopback one)"


@hints.on("ModuleNotFoundError")
def _module(facts):
    name = ImportError.__dict__["name"].__get__(facts.error)
    if _type(name) is not str or not name:
        return
    top, _, rest = name.partition(".")
    entry = hints_tables.MODULES.get(name) or (
        hints_tables.MODULES.get(top) if not case.is_installed(top) else None
    )
    other = hints_tables.IMPORT_NAMES.get(top)
    if entry is not None:
        if entry[0] is None or case.is_installed(entry[0]):
            yield entry[1]
    elif other is not None and case.is_installed(other.partition(".")[0]):
        yield f"the module is called {other}: import {other}"
    elif rest and case.is_installed(top):
        yield from _submodule(name)
    else:
        found = hints.near(top, _importable())
        if found and hints.folded(found[0])[:1] == hints.folded(top)[:1]:
            yield f"modules that can be imported: {', '.join(found)}"
    if rest and case.is_installed(top):
        return
    if top in hints_packages.DATA:
        yield (
            f"{top} is in the template `data`: reckon run -t data; over HTTP a session with"
            ' "template": "data"'
        )
    elif top.lower() in ("tkinter", "_tkinter"):
        pass  # hints_runtime handles a missing screen
    elif has_network() is False:
        yield (
            f"{top} cannot be installed: {no_network()}; do without it, or bring a wheel as a file"
            " and %pip install it"
        )
    else:
        yield f"when the box has network: %pip install {_pip_name(top)}"


def _pip_name(module):
    """A module's package name at PyPI, if it differs."""
    return {
        "cv2": "opencv-python-headless",
        "sklearn": "scikit-learn",
        "PIL": "pillow",
        "bs4": "beautifulsoup4",
        "yaml": "pyyaml",
        "fitz": "pymupdf",
        "docx": "python-docx",
        "skimage": "scikit-image",
        "dotenv": "python-dotenv",
        "jwt": "pyjwt",
        "Crypto": "pycryptodome",
        "serial": "pyserial",
        "camelot": "camelot-py",
        "tabula": "tabula-py",
    }.get(module, module)


def _importable():
    names = set(sys.stdlib_module_names)
    for folder in list(sys.path)[:10]:
        try:
            entries = os.listdir(folder or ".")[:2000]
        except OSError:
            continue
        for entry in entries:
            stem, _, end = entry.partition(".")
            if stem.isidentifier() and (not end or end == "py" or end.endswith("so")):
                names.add(stem)
    return [n for n in names if not n.startswith("_")]


def _submodule(name):
    parent, _, last = name.rpartition(".")
    module = sys.modules.get(parent)
    if _type(module) is not types.ModuleType:
        return
    file = _shadow(module)
    if file is not None:
        yield (
            f"{parent} is your own file {brief.one_line(file, 100)}: rename it if the package was"
            " meant"
        )
        return
    names = []
    for folder in list(module.__dict__.get("__path__") or ())[:3]:
        names += [entry.partition(".")[0] for entry in os.listdir(folder)[:2000]]
    found = hints.near(last, [n for n in dict.fromkeys(names) if not n.startswith("_")])
    if found:
        yield f"{parent} has the modules: {', '.join(found)}"
    elif not module.__dict__.get("__path__"):
        yield f"{parent} is a module, not a package: it has no {last} to import"


@hints.on("ImportError", says=r"removed|deprecated")
def _removed_import(facts, match):
    statement = facts.statement
    if isinstance(statement, ast.ImportFrom):
        for alias in statement.names:
            gone = hints_tables.GONE.get(statement.module or "", {}).get(alias.name)
            if gone is not None:
                yield (
                    f"{statement.module}.{alias.name} does not exist in the installed version; use"
                    f" {gone}"
                )


@hints.on(
    "ImportError",
    says=r"cannot import name '([^']+)' from (partially initialized module )?'([^']+)'",
)
def _cannot_import(facts, match):
    name, module = match[1], sys.modules.get(match[3])
    path = ImportError.__dict__["path"].__get__(facts.error)
    gone = hints_tables.GONE.get(match[3], {}).get(name)
    if _type(path) is str and path.startswith(_MAIN):
        hides = match[3] in sys.stdlib_module_names
        if match[2]:
            yield (
                f"{brief.one_line(path, 100)} is imported while it is still being imported (a"
                " circle)"
            )
        yield f"{match[3]} is your own file {brief.one_line(path, 100)}" + (
            ", which hides the standard module: rename it" if hides else ""
        )
    if gone is not None:
        yield f"{match[3]}.{name} does not exist in the installed version; use {gone}"
        return
    if _type(module) is not types.ModuleType:
        return
    found = hints.near(name, _public(module))
    if found:
        yield f"{match[3]} has: {', '.join(found)}"
    for other, home in hints_tables.IMPORTS.items():
        if other == name and home.startswith("from "):
            yield f"{home}"


@hints.on("ImportError", says=r"attempted relative import")
def _relative(facts, match):
    yield (
        "a cell belongs to no package: import without the dot (files in /mnt/data can be imported"
        " by name)"
    )
