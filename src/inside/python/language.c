/*
 * language.c - Python's row of the language table.
 *
 * Runs in:  every program that names a language.
 * Reads:    nothing.
 * Never:    needs Python: it is data.
 */
#include "languages/table.h"

/* "tool_code" is how Gemini models label their code. */
static const char *const aliases[] = { "py", "python3", "ipython", "tool_code", NULL };
static const char *const suffixes[] = { "py", NULL };

/* The beginning of a saved script if a cell needs features that a plain program lacks. */
static const char script_prelude[] =
	"# What a cell has and a program has not: commands, magics, await, figures that end with a\n"
	"# cell, and that what fails does not end the rest.\n"
	"import ast as _ast, asyncio as _asyncio, concurrent.futures as _futures, os as _os\n"
	"import re as _re, subprocess as _subprocess, sys as _sys, warnings as _warnings\n"
	"\n"
	"_loop = None\n"
	"try:\n"
	"    display\n"
	"except NameError:\n"
	"    def display(*values, **_options):\n"
	"        print(*values, sep=\"\\n\")\n"
	"\n"
	"\n"
	"def _shell(command, lines=False):\n"
	"    def value(found):\n"
	"        try:\n"
	"            return str(eval(found[1] or found[2], globals()))\n"
	"        except Exception:\n"
	"            return found[0]\n"
	"\n"
	"    command = _re.sub(r\"\\{([^{}]+)\\}|\\$([A-Za-z_]\\w*)\", value, command)\n"
	"    _sys.stdout.flush()\n"
	"    done = _subprocess.run(command, shell=True, text=True,\n"
	"                           stdout=_subprocess.PIPE if lines else None)\n"
	"    return done.stdout.splitlines() if lines else None\n"
	"\n"
	"\n"
	"def _line(found):\n"
	"    space, name, sign, rest = found.groups()\n"
	"    word, _, more = rest.strip().partition(\" \")\n"
	"    if sign[0] == \"!\":\n"
	"        return f\"{space}{name or ''}_shell({rest!r}, {bool(name)})\"\n"
	"    if word in (\"time\", \"timeit\", \"prun\"):\n"
	"        return f\"{space}{name or ''}{_re.sub(r'^(-[nr] ?[0-9]+ +|-[a-z]+ +)*', '', more)}\"\n"
	"    if word == \"cd\":\n"
	"        return f\"{space}_os.chdir({more.strip()!r})\"\n"
	"    if word in (\"env\", \"set_env\") and _re.search(\"[= ]\", more):\n"
	"        return f\"{space}_os.environ.update([{_re.split('[= ]', more, maxsplit=1)!r}])\"\n"
	"    return f\"{space}pass  # %{rest}\"\n"
	"\n"
	"\n"
	"def _plain(source):\n"
	"    head, _, body = source.partition(\"\\n\")\n"
	"    if head.startswith(\"%%\"):\n"
	"        word, _, more = head[2:].strip().partition(\" \")\n"
	"        if word in (\"bash\", \"sh\", \"script\"):\n"
	"            return f\"_subprocess.run(['bash', '-c', {body!r}])\"\n"
	"        if word in (\"writefile\", \"file\"):\n"
	"            mode = \"a\" if more.startswith(\"-a \") else \"w\"\n"
	"            return f\"open({more.removeprefix('-a ').strip()!r}, {mode!r}).write({body!r})\"\n"
	"        if word in (\"time\", \"timeit\", \"capture\", \"prun\"):\n"
	"            return _plain(body)\n"
	"        return f\"pass  # {head}\"\n"
	"    return _re.sub(r\"(?m)^([ \\t]*)([\\w, ]+= *)?(!!?|%)\"\n"
	"                   r\"((?:[^\\n]*\\\\\\n)*[^\\n]*)$\", _line, source)\n"
	"\n"
	"\n"
	"def _wait(loop, waits):\n"
	"    try:\n"
	"        _asyncio.get_running_loop()\n"
	"    except RuntimeError:\n"
	"        loop.run_until_complete(waits)\n"
	"    else:\n"
	"        with _futures.ThreadPoolExecutor(1) as pool:\n"
	"            pool.submit(loop.run_until_complete, waits).result()\n"
	"\n"
	"\n"
	"def _cell(source):\n"
	"    global _loop\n"
	"    source = source.strip(\"\\n\") + \"\\n\"\n"
	"    flags = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT\n"
	"    try:\n"
	"        code = compile(source, \"<cell>\", \"exec\", flags)\n"
	"    except SyntaxError:\n"
	"        code = compile(_plain(source), \"<cell>\", \"exec\", flags)\n"
	"    try:\n"
	"        waits = eval(code, globals())\n"
	"        if waits is not None:\n"
	"            _loop = _loop or _asyncio.new_event_loop()\n"
	"            _wait(_loop, waits)\n"
	"    finally:\n"
	"        _end_of_cell()\n"
	"\n"
	"\n"
	"def _failed(source):\n"
	"    try:\n"
	"        _cell(source)\n"
	"    except (Exception, SystemExit) as error:\n"
	"        print(f\"{type(error).__name__}: {error}\", file=_sys.stderr)\n"
	"\n"
	"\n"
	"def _end_of_cell():\n"
	"    pyplot = _sys.modules.get(\"matplotlib.pyplot\")\n"
	"    if pyplot is not None and pyplot.get_fignums():\n"
	"        with _warnings.catch_warnings():\n"
	"            _warnings.simplefilter(\"ignore\")\n"
	"            pyplot.show()\n"
	"        pyplot.close(\"all\")\n"
	"\n";

static const char *const given_as_text[] = { "await ", "async ", "from __future__ ", NULL };
static const char *const draws[] = { "plt.",	"pyplot",  ".plot", ".hist(",
				     "sns.", "figure(", NULL };
static const char *const needs[] = { "display(", NULL };

const struct language language_python = {
	.name = "python",
	.prose_name = "Python",
	.aliases = aliases,
	.suffixes = suffixes,
	.syntax = { .comment = "#", .ignores_operator_space = true, .has_equal_quotes = true },
	.features = LANGUAGE_CALLS_TOOLS | LANGUAGE_LISTS_VARIABLES | LANGUAGE_COMPLETES |
		    LANGUAGE_INSPECTS | LANGUAGE_JUDGES_CELLS | LANGUAGE_REQUESTS_INPUT |
		    LANGUAGE_HAS_MAGICS | LANGUAGE_PRELOADS,
	.arguments = { "__import__(\"sys\").argv = [", "", ", ", "]", false },
	.script = { .prelude = script_prelude,
		    .cell = "_cell(",
		    .failed = "_failed(",
		    .close = ")",
		    .end_of_cell = "_end_of_cell()",
		    .given_as_text = given_as_text,
		    .draws = draws,
		    .needs = needs,
		    .quotes = { "'''", "\"\"\"" } },
	.exit_error = "SystemExit",
	.zygote = "reckon-zygote-python",
	.prompt_label = "In",
	.result_label = "Out",
	.kernelspec_name = "python3",
	.kernelspec_display_name = "Python 3",
	.mime = "text/x-python",
	.version = RECKON_PYTHON_VERSION,
	.pygments_lexer = "ipython3",
	.codemirror_mode = "{\"name\":\"ipython\",\"version\":3}",
	.nbconvert_exporter = "python",
	.tool_description = "Runs a cell in a persistent Python session and returns its output, as "
			    "in a notebook.",
	.tool_words =
		"each as a coroutine: `await NAME(argument=...)` (also `tools.NAME`), many at once "
		"with asyncio.gather; what fails raises tools.ToolError",
};
