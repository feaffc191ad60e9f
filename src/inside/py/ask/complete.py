"""COMPLETE: names, attributes, arguments, keys, columns, files, modules, magics."""

import ast
import importlib.machinery
import keyword
import os
import pkgutil
import re
import sys
import types

from _reckon import cell, magics, parse, resolve, safe, wire

_MATCHES_MAX = 1000
_FILES_MAX = 10_000  # in one directory
_SOURCE_MAX = 1 << 20
_type = type
_MAGIC = re.compile(r"^\s*(%{1,2})(\w*)$")
_SHELL = re.compile(r"^\s*(?:[\w.,\s]+=\s*)?!(.*)$")
_IMPORT = re.compile(r"^\s*import\s+(?:[\w.]+(?:\s+as\s+\w+)?\s*,\s*)*([\w.]*)$")
_FROM = re.compile(r"^\s*from\s+([\w.]*)$")
_FROM_IMPORT = re.compile(r"^\s*from\s+([\w.]+)\s+import\s+\(?\s*(?:\w+(?:\s+as\s+\w+)?\s*,\s*)*(\w*)$")
_path_finder = importlib.machinery.PathFinder.find_spec


def _sorted(names, stem):
    """Names that begin with the stem: public ones, then _private, then __special__."""
    found = [n for n in names if n.startswith(stem)]
    if not stem.startswith("_"):
        found = [n for n in found if not n.startswith("_")]
    return sorted(set(found), key=lambda n: (n.startswith("__"), n.startswith("_"), n))


# ---- modules --------------------------------------------------------------------------------

def _modules(path):
    names = set()
    for place in path[:64]:
        try:
            names.update(m.name for m in pkgutil.iter_modules([place]) if m.name.isidentifier())
        except Exception:
            pass
    return names


def _package_path(name):
    """Where a package's modules are, without importing anything."""
    path, spec = None, None
    for at, part in enumerate(name.split(".")):
        spec = _path_finder(".".join(name.split(".")[: at + 1]), path)
        if spec is None or part == "":
            return None, None
        path = spec.submodule_search_locations
    return spec, list(path) if path is not None else []


def _top_modules():
    return (_modules([p or "." for p in sys.path if _type(p) is str]) |
            set(sys.stdlib_module_names) | set(sys.builtin_module_names))


def _submodules(name):
    _, path = _package_path(name)
    return _modules(path) if path else set()


def _defined(name):
    """The names that a module defines, parsed from its source."""
    spec, path = _package_path(name)
    names = _modules(path) if path else set()
    file = spec.origin if spec is not None else None
    if _type(file) is not str or not file.endswith(".py") or os.stat(file).st_size > _SOURCE_MAX:
        return names
    with open(file, "rb") as source:
        tree = ast.parse(source.read())
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((item.asname or item.name).partition(".")[0] for item in node.names)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names.update(t.id for t in targets if isinstance(t, ast.Name))
    return names - {"*"}


def _imports(line, resolver):
    """(stem, matches) for a line that imports, or None."""
    match = _IMPORT.match(line) or _FROM.match(line)
    if match is not None:
        package, _, stem = match[1].rpartition(".")
        return stem, _sorted(_submodules(package) if package else _top_modules(), stem)
    match = _FROM_IMPORT.match(line)
    if match is None:
        return None
    module = sys.modules.get(match[1])
    if _type(module) is types.ModuleType:
        names = resolver.names(resolve.Found(module)) | _submodules(match[1])
    else:
        names = _defined(match[1])
    return match[2], _sorted(names, match[2])


# ---- strings --------------------------------------------------------------------------------

def _files(content):
    """(stem, names) of files that can complete a path; directories end with a slash."""
    folder, _, stem = content.rpartition("/")
    folder = os.path.expanduser(folder + "/" if "/" in content else ".")
    names = []
    with os.scandir(folder) as entries:
        for number, entry in enumerate(entries):
            if number >= _FILES_MAX:
                break
            if entry.name.startswith(stem) and (stem.startswith(".") or entry.name[0] != "."):
                names.append(entry.name + "/" * entry.is_dir())
    return stem, sorted(names)


def _owner_of_bracket(place, resolver):
    """The object before the innermost bracket of a subscript, or before the one around its list."""
    for bracket, at in reversed(place.open[-3:]):
        if bracket != "[":
            return None
        end = len(place.before[:at].rstrip())
        start = place.expression(end)
        if start < end:
            text = place.before[start:end]
            for tail in (".loc", ".iloc", ".at"):
                text = text.removesuffix(tail)
            return resolver.text(text)
    return None


def _keys(found):
    """Keys of a dict, columns of a frame: those that are str."""
    if safe.built_in(found.cls, (dict,)):
        return [k for k in dict.keys(found.value) if _type(k) is str]
    if found.has_value and not safe.is_own(found.cls):
        columns = getattr(found.value, "columns", None)
        names = getattr(getattr(found.value, "dtype", None), "names", None)
        if columns is None and safe.class_name(found.cls) == "Series":
            columns = found.value.index[:_MATCHES_MAX]
        listed = list(columns) if columns is not None else list(names or ())
        return [k for k in listed if _type(k) is str]
    return []


def _columns_of_call(place, resolver):
    """df.groupby(" and similar: the columns of the frame whose method is called."""
    if not place.open or not any(bracket == "(" for bracket, _ in place.open[-2:]):
        return []
    at = [at for bracket, at in place.open if bracket == "("][-1]
    target = place.before[place.expression(at):at]
    owner, dot, _ = target.rpartition(".")
    found = resolver.text(owner) if dot else None
    return _keys(found) if found is not None and resolver.is_frame(found) else []


def _string(place, resolver):
    content = place.content
    owner = _quietly(lambda: _owner_of_bracket(place, resolver))
    if owner is not None:
        keys = resolver.deadline.run(lambda: _keys(owner), [])
        return content, [k for k in keys if k.startswith(content)]
    columns = resolver.deadline.run(lambda: _columns_of_call(place, resolver), [])
    columns = [name for name in columns if name.startswith(content)]
    if columns:
        return content, columns
    return _quietly(lambda: _files(content)) or ("", [])


# ---- code -----------------------------------------------------------------------------------

def _quietly(function):
    try:
        return function()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def _arguments(place, resolver, stem):
    """`name=` for the parameters of the call around the cursor."""
    if not place.open or place.open[-1][0] != "(":
        return []
    at = place.open[-1][1]
    end = len(place.before[:at].rstrip())
    target = place.before[place.expression(end):end]
    if not target or keyword.iskeyword(target):
        return []
    names = resolver.parameters(resolver.text(target))
    before = place.before[: len(place.before) - len(stem)].rstrip()
    if not before.endswith(("(", ",")):
        return []
    return [f"{name}=" for name in names if _type(name) is str and name.startswith(stem)]


def _attributes(place, resolver, stem):
    end = len(place.before) - len(stem) - 1
    end = len(place.before[:end].rstrip())
    found = resolver.text(place.before[place.expression(end):end])
    return _sorted(resolver.names(found), stem)


def _code(place, resolver):
    stem = parse.word_before(place.before)
    before = place.before[: len(place.before) - len(stem)].rstrip(" \t")
    if before.endswith(".") and not before.endswith(".."):
        return stem, _quietly(lambda: _attributes(place, resolver, stem)) or []
    arguments = _quietly(lambda: _arguments(place, resolver, stem)) or []
    names = [n for n in (*cell.namespace, *cell.builtins.__dict__) if _type(n) is str]
    names += [*keyword.kwlist, *(n for n in parse.names_in(place.before) if n != stem)]
    return stem, arguments + _sorted(names, stem)


def _magics(line, is_first):
    match = _MAGIC.match(line)
    if match is None or (match[1] == "%%" and not is_first):
        return None
    listed = magics.names(match[1])
    return match[1] + match[2], [match[1] + n for n in sorted(listed) if n.startswith(match[2])]


def _matches(before):
    """(stem, matches): a match replaces the stem, which ends at the cursor."""
    place, resolver = parse.Place(before), resolve.Resolver()
    line = place.line
    found = _magics(line, not before[: place.line_start].strip())
    if found is None and _SHELL.match(line):
        found = _quietly(lambda: _files(re.split(r"[\s'\"=]", line)[-1].lstrip("!"))) or ("", [])
    if found is None and place.string is not None:
        inner = place.content.rpartition("{")[2]
        if "f" in place.prefix.lower() and "{" in place.content and "}" not in inner:
            return _matches(inner)
        found = _string(place, resolver)
    if found is None and place.comment:
        return "", []
    if found is None:
        found = _quietly(lambda: _imports(line, resolver)) or _code(place, resolver)
    return found


def complete(source, cursor):
    """Replies to COMPLETE. Offsets are bytes."""
    stem, matches = "", []
    try:
        stem, matches = _matches(source[:cursor].decode("utf-8", "replace"))
    except KeyboardInterrupt:
        pass
    except Exception:
        pass
    start = max(0, cursor - len(stem.encode("utf-8", "replace")))
    fields = [(wire.CURSOR_START, str(start)), (wire.CURSOR_END, str(cursor))]
    fields += [(wire.MATCH, name) for name in matches[:_MATCHES_MAX] if len(name) < 1000]
    wire.send(wire.COMPLETE_REPLY, fields)
    return True
