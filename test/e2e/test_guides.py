"""Runs the blocks of the README and the guides as a new user would, and compares the output that they show.

A page of docs/ that is not in this table fails, and so does a block that is neither run nor skipped with a reason.
"""
import tempfile

import pytest
from guides import BLOCK, RUN, Desk, Guide, matches, tells_answer
from reckon_cli import ROOT

as_root = pytest.mark.parametrize("as_user", ["root"], indirect=True)

SALES = "printf 'city,sales\\nBonn,3\\nKiel,5\\n' > sales.csv\n"
CHECK_CONFIG = 'chmod 600 "$BLOCK"; reckon serve --check-config --config "$BLOCK"'
QUERY = r"""printf '#!/bin/sh\ncat > arguments; echo "[1]"\n' > query; chmod +x query
printf '%s' '[{"name": "query", "parameters": {"type": "object"}, "command": ["./query"]}]' > own.json
"""
PROGRAMS = r"""printf 'all:\n\t@echo made\n' > Makefile
printf '#!/bin/sh\nsleep 60\n' > server; chmod +x server
reckon run -s NAME -t python -c 0
reckon files put -s NAME Makefile server
curl -H "$A" -T Makefile $U/sessions/$S/files/Makefile
"""
THREE_CALLS = r"""EX=$(curl -H "$A" -d '{"code": "import asyncio; await asyncio.gather(*[tools.query(n=n) for n in range(3)], return_exceptions=True)", "tools": [{"name": "query"}], "background": true}' \
    $U/sessions/$S/executions | jq -r .id)
curl -N -H "$A" $U/sessions/$S/executions/$EX/events >calls &
until grep -q tc_3 calls; do sleep 0.05; done
. "$BLOCK"
wait
"""
FORWARD = r"""set -m
(. "$BLOCK") >forward.out 2>&1 &
until grep -q 'in a browser' forward.out; do sleep 0.05; done
cat forward.out
until command curl -s http://127.0.0.1:8501 | grep 'Directory listing'; do sleep 0.05; done
curl -o /dev/null "$(sed -n 's/.*in a browser: //p' forward.out)"
kill -INT -- -$!
wait || true
"""
PAPER = r"""cat > in.ipynb <<'JSON'
{"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [],
            "source": "import pandas\nprint(6 * 7)"}],
 "metadata": {"kernelspec": {"name": "python3", "display_name": "x", "language": "python"}},
 "nbformat": 4, "nbformat_minor": 5}
JSON
"""
LAST_RUN = "$(reckon runs ls | grep -oE '[0-9]{6}-[0-9a-z]{5}' | head -1)"
C_PROGRAM = r"""cc -Wall -Wextra -Werror -Iinclude -x c "$BLOCK" -Lbuild/src/lib -lreckon \
    -Wl,-rpath,$PWD/build/src/lib -o program
RECKON_LIBEXEC=$PWD/build/libexec ./program
"""
PISTON = r"""tail -1 "$LAST" >answer
jq -S 'del(.version, .run.cpu_time, .run.wall_time, .run.memory)' "$BLOCK" >shown
jq -S 'del(.version, .run.cpu_time, .run.wall_time, .run.memory)' answer >printed
diff shown printed
"""
PASTE = "nothing on it is to be pasted"
PART = "a part of a program, not one"

GUIDES = (
    Guide("README.md", skip={"make run": "sets the machine up, and runs this suite"}),
    Guide("docs/README.md", why_not=PASTE),
    Guide("agent.md", models=True, session=True, before=SALES + "export RECKON_MODEL=openai/NAME",
          put={"export OPENAI_API_KEY=...": "export OPENAI_API_KEY=of-the-model", "261122-7k3fq": LAST_RUN,
               "rm ID...": f"rm {LAST_RUN}"},
          skip={"reckon model install": "fetches a model of 130 MB; test_ask_local.py has one of its own",
                "the last question had no answer": "test_ask_resume.py",
                "get_weather": "test_serve_conversation.py", "cc -Iinclude": "test_lib_agent.py"},
          use={"[default]": 'cp "$BLOCK" models.ini; RECKON_MODELS=models.ini reckon models --check',
               "[aliases]": 'cat "$BLOCK" >>models.ini; RECKON_MODELS=models.ini reckon models --check'},
          tells={"sales.csv -o out": "Kiel sold most", "6 times 7": "It is 42", "answer.json": "42"}),
    Guide("anthropic.md", models=True, session=True, sdk="venv", after="grep -q 29 primes.csv"),
    Guide("api-reference.md", why_not=PASTE),
    Guide("benchmarks.md", why_not="measures for minutes; test/bench has its tests"),
    Guide("c-program.md", before='ln -s "$ROOT/include" "$ROOT/examples" .; mkdir -p build/src; '
          'ln -s "$ROOT/build/src/lib" build/src/lib; ln -s "$ROOT/build/libexec" build/libexec',
          use={"#include": C_PROGRAM}, tells={"#include": '"text/plain":"42"', "build/embed": "42"}),
    Guide("configuration.md", use={"[server]": CHECK_CONFIG}),
    Guide("contexts.md", session=True, skip={"reckon_context_options": PART}, tells={"n=3": "/mnt/data"}),
    Guide("dify.md", skip={"CODE_EXECUTION_ENDPOINT": "variables of Dify's own services; test_dify.py asks as they do"}),
    Guide("docker.md", session=True, before="mkdir prog; echo 'print(6 * 7)' > prog/main.py\nexport RECKON_API_KEY",
          skip={"import docker": "needs Docker"},
          use={part: '(cat "$BLOCK"; echo \'print(execute("prog"))\') | python3 -' for part in
               ("import subprocess", "import base64")},
          tells={"def execute(folder": r"\(0, b'42\\n', b''\)"}),
    Guide("documents.md", session=True, tells={"Sales 2026": '"draft":true'}),
    Guide("durability.md", why_not=PASTE),
    Guide("e2b.md", sdk="e2b-new", tells={"Sandbox.create": "2\nLinux"}),
    Guide("events.md", skip={"{": "lines of a stream; docs/record.schema.json and the tests of each door hold them"}),
    Guide("files.md", session=True, before=SALES + r"""mkdir project; echo 1 > project/a.txt
curl -H "$A" -d '{"code": "import os; os.makedirs(\"out\"); os.makedirs(\"data\"); open(\"out/report.html\", \"w\").close()"}' \
    $U/sessions/$S/executions >/dev/null""",
          use={"watch?path": 'curl() { timeout 2 curl -sS "$@" || test $? = 124; }; . "$BLOCK"'},
          tells={"watch?path": "event: start", "tar -cz": '"files":1.*"url":', "jq -r .id": '"id":"se_'},
          after="python3 -m zipfile -l out.zip | grep report.html"),
    Guide("first-steps.md"),
    Guide("gemini.md", models=True, session=True, sdk="venv", after="head -c 4 primes.png | grep -a PNG"),
    Guide("http-api.md", skip={'"session_lost"': "the answer to what cannot be provoked by a request"},
          use={"allow-host": CHECK_CONFIG}, after="test -s out.xlsx"),
    Guide("install.md", why_not="installs: tools/package-test and tools/image-test do, under systemd and in a container"),
    Guide("jupyter.md", session=True, sdk="venv", before=PAPER,
          put={"jupyter lab  ": "true", "jupyter console": "true"},  # test_jupyter_lab.py, test_jupyter_kernel.py
          skip={"--gateway-url": "a page in a browser; test_jupyter_server.py", "JupyterConnectionInfo": PART},
          tells={"papermill": "42|out.ipynb", "JupyterKernelClient": "42"}, after="grep -q 42 out.ipynb"),
    Guide("librechat.md", skip={"LIBRECHAT_CODE_BASEURL": "a variable of LibreChat's own; test_librechat.py asks as it does",
                                '"': "requests and answers of LibreChat; test_librechat.py"}),
    Guide("mcp.md", before="mkdir ~/project ~/results",
          skip={"claude mcp": "Claude Code is not there; test_mcp_stdio.py and test_mcp.py speak as it does"}),
    Guide("model-text.md", skip={"reckon output": "test_model_text.py"}),
    Guide("openai.md", models=True, session=True, sdk="venv", after="grep -q 29 primes.csv"),
    Guide("operations.md", session=True, skip={"scrape_configs": "a file of Prometheus",
                                               "entries 1 to 8192": "what 8,192 entries leave"},
          before="mkdir ~/backup",
          put={"4711 entries, 9e1c…": "… entries, …", "/backup/": "$HOME/backup/", "/var/lib/reckon-new": "$HOME/new"}),
    Guide("piston.md", sdk="venv", use={'"signal": null': PISTON}, tells={"PystonClient": "42"}),
    Guide("ports.md", session=True, use={"reckon forward": FORWARD}),
    Guide("processes.md", session=True, before=PROGRAMS, skip={"new WebSocket": PART},
          put={"reckon exec -t -s NAME -- htop": "script -qec 'reckon exec -t -s NAME -- tty' /dev/null",
               "reckon shell -s NAME": "echo 'exit 0' | script -qec 'reckon shell -s NAME' /dev/null",
               "pr_01…": "$(reckon ps -s NAME | grep -o 'pr_[0-9A-Z]*' | head -1)"},
          tells={"exec -s NAME": "made.*/dev/pts"}),
    Guide("python-kernel.md", skip={"tools/replay": "compares with an ipykernel; test_replay.py"}),
    Guide("questions.md", session=True, before=QUERY,
          use={"rows = await": 'reckon run --tools own.json -c "$(cat "$BLOCK")" -c rows',
               "make_arguments": """reckon run -l bash --tools own.json -c 'make_arguments() { echo "{}"; }' \\
    -c "$(cat "$BLOCK")" -c 'echo "$rows"'""",
               '"event":"tool_call"': "true", "tc_3": THREE_CALLS, '"command": ["./query"': 'cp "$BLOCK" tools.json'},
          tells={"rows = await": r"\[1\]", "tc_3": '"accepted":3', "--tools tools.json": r"\[1\]"}),
    Guide("repl.md", skip={"reckon repl": "typed at a terminal; test_repl.py and test_repl_session.py type"}),
    Guide("sandboxfusion.md", session=True, sdk="venv", skip={"reward:": "a file of verl; test_sandboxfusion.py runs verl"},
          tells={"run_code": "Success.*42"}),
    Guide("sessions.md", skip={"box.example.org": "another machine"}),
    Guide("snapshots.md", session=True, before=SALES, tells={"snapshots": "city,sales"}),
    Guide("templates.md", put={"1740 MB": "… MB"}, skip={"words.txt": "needs the package index", "pip download": "needs the package index",
                                "drop_tests": "a definition; test_templates.py", "verify words": "test_templates.py"}),
    Guide("tenants.md", before="reckon serve >/dev/null"),
    Guide("threat-model.md", why_not=PASTE),
    Guide("volumes.md", session=True, before="echo 1 > weights.bin", tells={"models": "weights[.]"}),
)
RUNS = [guide for guide in GUIDES if not guide.why_not and any(
    guide.of(guide.skip, block) is None for block in guide.blocks)]
MEANT = 27


def test_every_page_is_in_the_table():
    pages = {"README.md", "docs/README.md", *(path.name for path in (ROOT / "docs").glob("*.md"))}
    named = [guide.page for guide in GUIDES]
    assert sorted(named) == sorted(pages)
    assert len(RUNS) >= MEANT


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.page)
def test_every_block_is_run_or_skipped_with_a_reason(guide):
    blocks = guide.blocks
    for part in (*guide.skip, *guide.use, *guide.tells):
        assert [block for block in blocks if part in block.text], f"no block has {part!r}"
    for text in guide.put:
        assert text in guide.text, f"{text!r} is not there"
    for block in blocks:
        entries = [guide.of(table, block) for table in (guide.skip, guide.use)]
        known = block.language in RUN or entries != [None, None]
        assert guide.why_not or known, f"{guide.page}, {block.where}"
        assert None in entries, f"{guide.page}, {block.where} is run and is not"


def test_the_helpers_compare_outputs_and_find_blocks():
    assert matches("a … c\n", "a b c\n") and not matches("a.c\n", "abc\n")
    assert tells_answer('{"id": "x", …}', '{"id":"x","y":1}') and not tells_answer('{"id": "x"}', '{"id":"y"}')
    assert [found[1] for found in BLOCK.finditer("```sh\na\n```\n```\nb\n```\n")] == ["sh", ""]


@as_root
@pytest.mark.parametrize("guide", RUNS, ids=lambda guide: guide.page)
def test_the_blocks_of_a_page_run_as_printed(place, guide):
    with Desk(place, tempfile.mkdtemp(prefix="desk-", dir=place.base)) as desk:
        assert desk.read(guide) > 0
