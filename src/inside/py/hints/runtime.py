"""Memory, recursion, event loops, databases, pickling and algebra."""

import ast
import re
import resource
import sys

from _reckon import brief, hints

_type = type
_getsizeof = sys.getsizeof
_base = 0  # bytes of data of a new kernel; its limit is in addition to them


def note_base():
    """
    In the zygote and in a branch: notes the data size that RLIMIT_DATA has on top of the session's
    limit.
    """
    global _base
    with open("/proc/self/status", "rb") as status:
        for line in status:
            if line.startswith(b"VmData:"):
                _base = int(line.split()[1]) * 1024


def _shown_total():
    """
    The memory in /proc/meminfo: the session's if it has its own view of /proc, else the host's.
    """
    try:
        with open("/proc/meminfo", "rb") as info:
            return int(info.readline().split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        return 0


def memory_limit():
    """The memory limit that was set for the session; None without a limit."""
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    if limit == resource.RLIM_INFINITY or limit <= _base:
        return None
    # The kernel's data has grown a little between note_base() and its limit.
    about, shown = limit - _base, _shown_total()
    if abs(about - shown) < 16 << 20:
        return shown
    return (about + (1 << 19)) >> 20 << 20


def _bytes_of(value):
    """A value's own size; of a container only the number of items is used."""
    if brief.is_array(value):
        return value.nbytes
    if brief.is_frame(value):
        return int(value.memory_usage(deep=False).sum())
    if brief.is_series(value):
        return int(value.memory_usage(deep=False))
    if brief.exact(value, str, bytes, bytearray, list, tuple, dict, set, frozenset):
        return _getsizeof(value)
    return 0


@hints.on("MemoryError")
def _memory(facts):
    limit = memory_limit()
    wanted = re.search(r"Unable to allocate ([\d.]+ \w+)", facts.value)
    parts = []
    if wanted:
        parts.append(f"{wanted[1]} were asked for at once")
    if limit is not None:
        parts.append(f"a session may have {brief.size_text(limit)}")
    if parts:
        yield ", and ".join(parts)
    sizes = {}
    for names in [facts.user.globals(), facts.user.locals()] if facts.user is not None else []:
        for name, value in list(names.items())[:2000]:
            if _type(name) is str and not name.startswith("_"):
                sizes[name] = _bytes_of(value)
    large = sorted(((size, name) for name, size in sizes.items() if size > 10 << 20), reverse=True)[
        :4
    ]
    if large:
        yield (
            "large variables: "
            + ", ".join(f"{name} {brief.size_text(size)}" for size, name in large)
            + "; del frees one"
        )
    if "recursion" in facts.value:
        return
    yield (
        "work in parts: chunksize= or usecols= in pd.read_csv, a smaller dtype, a generator in"
        " place of a list"
    )


@hints.on("RecursionError")
def _recursion(facts):
    counts = {}
    for place in facts.places[-300:]:
        counts[place.function] = counts.get(place.function, 0) + 1
    often = [f"{name}()" for name, count in counts.items() if count > 20][:3]
    if often:
        last_places = {
            p.function: p for p in facts.places[-300:] if p.is_users and f"{p.function}()" in often
        }
        same = ""
        for name, place in last_places.items():
            count = place.code.co_argcount
            given = {n: place.locals().get(n) for n in place.code.co_varnames[:count]}
            if given:
                same = f"; {name}() was last called with " + ", ".join(
                    f"{n}={brief.brief(v, 40)}" for n, v in list(given.items())[:4]
                )
        yield (
            f"{' and '.join(often)} call{'s itself' if len(often) == 1 else ' each other'} without"
            f" end, {facts.depth} calls deep{same}"
        )


@hints.on(
    "RuntimeError",
    says=(
        r"asyncio\.run\(\) cannot be called from a running event loop|This event loop is already"
        r" running|"
        r"Cannot run the event loop while another loop is running"
    ),
)
def _loop(facts, match):
    for node in facts.nodes(ast.Call, within=facts.statement):
        if (
            isinstance(node.func, ast.Attribute)
            and node.func.attr in ("run", "run_until_complete")
            and node.args
        ):
            yield (
                f"cells may await: write await {facts.text_of(node.args[0], 60)} in place of"
                f" {facts.text_of(node.func, 40)}(…)"
            )
            return
    yield "cells may await: write await main() in place of asyncio.run(main())"


@hints.on(
    "RuntimeError",
    says=r"(dictionary|Set|deque) (?:changed size|keys changed|mutated) during iteration",
)
def _changed(facts, match):
    for node in facts.nodes(ast.AST, within=facts.statement):
        iterated = getattr(node, "iter", None)
        if iterated is not None:
            yield f"loop over a copy: list({facts.text_of(iterated, 60)})"
            return
    node = getattr(facts.statement, "iter", None)
    yield (
        f"loop over a copy: list({facts.text_of(node, 60)})"
        if node is not None
        else "loop over a copy: list(…)"
    )


@hints.on("RuntimeError", says=r"no current event loop")
def _loop_of_a_thread(facts, match):
    yield "a thread has no event loop of its own: asyncio.run(main()) in it makes one"


@hints.on("RuntimeError", says=r"no running event loop")
def _no_loop(facts, match):
    yield "it must be called in an async function, or in a cell that awaits"


@hints.on(
    "RuntimeError",
    says=r"generator raised StopIteration|can't start new thread",
)
def _generator(facts, match):
    if "StopIteration" in match[0]:
        yield "next() in a generator found nothing: write next(it, None), or return"
    elif "thread" in match[0]:
        yield "the limit of processes and threads of the session is reached: use a pool of a few"


@hints.on(
    "PicklingError",
    "AttributeError",
    "TypeError",
    says=(
        r"[Cc]an't (?:pickle|get) (?:local object|<function|attribute|'(\w+)' object)?|cannot"
        r" pickle '?([\w.]+)'?"
    ),
)
def _pickle(facts, match):
    if "lambda" in facts.value or "<locals>" in facts.value or "local object" in facts.value:
        yield (
            "a lambda or an inner function cannot be pickled: define it with def at the top level"
            " of a cell"
        )
    elif match[2] or match[1]:
        yield (
            f"a {match[2] or match[1]} cannot be pickled: leave it out, or make it in the other"
            " process"
        )


@hints.on("EOFError", says=r"input\(\)")
def _input(facts, match):
    yield "nobody answers input() here: put the value into the code"


@hints.on("EOFError", says=r"Ran out of input")
def _empty_pickle(facts, match):
    yield "the pickle file is empty, or was not closed after it was written"


# ---- databases ------------------------------------------------------------------------------


def _connection(facts):
    """A sqlite3 connection that the failing expression uses."""
    sqlite = sys.modules.get("sqlite3")
    if sqlite is None:
        return None
    candidates = [value for _, value in facts.receivers()]
    for place in reversed(facts.places[-6:]):
        candidates += [place.locals().get(n) for n in ("con", "conn", "connection")]
    owner = facts.called().locals().get("self") if facts.called() is not None else None
    candidates += [brief.own_attributes(owner).get("con")] if owner is not None else []
    for value in candidates:
        if _type(value) is sqlite.Cursor:
            value = value.connection
        if _type(value) is sqlite.Connection:
            return value
    return None


def _ask(connection, query):
    cursor = connection.cursor()
    cursor.row_factory = None
    return cursor.execute(query).fetchmany(200)


@hints.on(
    "OperationalError",
    "DatabaseError",
    says=r"no such (table|column): ([\w.\"]+)|table (\w+) has no column named (\w+)",
)
def _sqlite(facts, match):
    connection = _connection(facts)
    if connection is None:
        return
    tables = [
        row[0]
        for row in _ask(
            connection, "select name from sqlite_master where type in ('table', 'view')"
        )
    ]
    if match[1] == "table":
        found = hints.near(match[2], tables)
        yield (
            f"tables of this database: {hints.listing(tables, 250)}"
            + (f"; the nearest is {hints.one_of(found[:1])}" if found else "")
            if tables
            else (
                "this database has no tables: another file may have been meant, or it was made"
                " just now"
            )
        )
        return
    wanted = (match[2] or match[4] or "").rpartition(".")[2]
    for table in tables[:6]:
        columns = [row[1] for row in _ask(connection, f'pragma table_info("{table}")')]
        found = hints.near(wanted, columns)
        if found or len(tables) == 1 or table == match[3]:
            yield f"{table} has the columns {hints.listing(columns, 250)}"
    texts = [value for _, value in facts.receivers() if brief.exact(value, str)]
    for node in facts.nodes(ast.Constant):
        texts += [node.value] if brief.exact(node.value, str) else []
    if match[2] and any(
        re.search(rf'"{re.escape(wanted)}"|[=<>]\s*{re.escape(wanted)}\b', text) for text in texts
    ):
        yield (
            "a text in SQL has single quotes: 'x', not \"x\" or x; or give it as a parameter:"
            " execute('… = ?', (x,))"
        )


@hints.on(
    "ProgrammingError",
    says=r"Incorrect number of bindings supplied.*uses (\d+), and there are (\d+) supplied",
)
def _bindings(facts, match):
    for node in facts.nodes(ast.Call):
        if len(node.args) > 1:
            known, value = facts.try_value(node.args[1])
            if known and _type(value) is str:
                yield (
                    f"{facts.text_of(node.args[1], 40)} is one text, taken for {match[2]} letters:"
                    f" ({facts.text_of(node.args[1], 40)},) is a tuple of one"
                )
                return


@hints.on(
    "OperationalError",
    says=r"near \"(.*?)\": syntax error|database is locked|unable to open database file",
)
def _sql(facts, match):
    if match[1] is not None:
        for node in facts.nodes(ast.Call):
            known, value = facts.try_value(node.args[0]) if node.args else (False, None)
            if known and _type(value) is str and match[1] in value:
                at = value.find(match[1])
                yield (
                    f"in the statement: {brief.one_line(value[max(at - 60, 0) : at], 70)} >>HERE>>"
                    f" {brief.one_line(value[at : at + 60], 70)}"
                )
                return
    elif "locked" in match[0]:
        yield "another connection has not committed: commit() or close() it"
    elif "unable" in match[0]:
        yield (
            "the path must be that of a file in a folder that is there: os.makedirs(folder,"
            " exist_ok=True)"
        )


@hints.on("CatalogException", "BinderException")
def _duckdb(facts):
    frames = []
    for names in (facts.user.locals(), facts.user.globals()):
        for name, value in list(names.items())[:2000]:
            if (
                _type(name) is str
                and not name.startswith("_")
                and brief.is_frame(value)
                and name not in frames
            ):
                frames.append(name)
    wanted = re.search(r"Table with name (\w+) does not exist", facts.value)
    if wanted and frames:
        yield f"DataFrames that SQL can name: {hints.listing(frames, 200)}"


# ---- algebra --------------------------------------------------------------------------------


@hints.on(
    "TypeError",
    says=(
        r"cannot determine truth value of Relational"
    ),
)
def _symbols(facts, match):
    yield (
        "a symbolic comparison is neither true nor false: give the symbols values with"
        " .subs(…), or use sympy.Piecewise"
    )


@hints.on(
    "NotImplementedError", says=r"multiple generators|No algorithms are implemented|could not solve"
)
def _solve(facts, match):
    yield (
        "there is no closed form that sympy finds: sympy.nsolve(equation, symbol, start) or"
        " scipy.optimize.brentq solve it by numbers"
    )


@hints.on("SympifyError")
def _sympify(facts):
    yield (
        "sympy cannot read this text as an expression: write 2*x for 2x, ** for ^, and close all"
        " brackets"
    )


@hints.on("ModuleNotFoundError", says=r"No module named '_?tkinter'")
@hints.on("ImportError", says=r"any of the following Qt binding modules")
def _display(facts, match):
    yield "the box has no screen: figures are shown as results of the cell, without a window"


@hints.on(
    "error",
    says=(
        r"(?:nothing to repeat|unterminated|missing \)|unbalanced|bad escape|multiple repeat|bad"
        r" character range).* at position (\d+)"
    ),
)
@hints.on("PatternError", says=r" at position (\d+)")
def _pattern(facts, match):
    own = brief.own_attributes(facts.error)
    pattern, at = own.get("pattern"), int(match[1])
    if _type(pattern) is str:
        yield (
            f"in the pattern: {brief.one_line(pattern[max(at - 40, 0) : at], 50)} >>HERE>>"
            f" {brief.one_line(pattern[at : at + 40], 50)}; re.escape(text) makes a pattern that"
            " matches the text itself"
        )
