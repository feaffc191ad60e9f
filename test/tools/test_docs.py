"""Documents agree with the repository: links, files, tests, numbers of the sources, layers."""
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIP = {"build", "build-asan", "build-clang", "build-fuzz", "build-mutants", "build-walls", ".git"}
README_LINES = 100
COLUMNS = 100

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
TEST = re.compile(r"\b(test/[\w./-]+\.(?:py|c))::(\w+)")
PLACE = re.compile(r"`((?:src|include|test|tools|share|docs|examples|libexec)/[\w./-]+)[`:]")


def documents():
    return sorted(path for path in ROOT.rglob("*.md")
                  if not SKIP & set(path.relative_to(ROOT).parts))


def without_blocks(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)


def anchors(path):
    """The anchors of a document's headings."""
    for heading in re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M):
        yield re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def wrong_links(path):
    for target in LINK.findall(without_blocks(path.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        there = path.parent / name if name else path
        if not there.exists():
            yield f"{path.name}: {target} leads nowhere"
        elif anchor and anchor not in set(anchors(there)):
            yield f"{path.name}: {target} names no heading"


def wrong_tests(text, root):
    """Each path::name for which no file defines a test."""
    for path, name in TEST.findall(text):
        file = root / path
        found = file.read_text(encoding="utf-8") if file.exists() else ""
        pattern = rf"^def {name}\(" if path.endswith(".py") else rf"^UNIT_TEST(_WITH)?\({name}[,)]"
        if not re.search(pattern, found, re.M):
            yield f"{path}::{name}"


def test_there_are_documents():
    names = {path.name for path in documents()}
    assert {"README.md", "ARCHITECTURE.md", "SECURITY.md", "threat-model.md"} <= names


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_documents_links_and_places_exist(path):
    text = path.read_text(encoding="utf-8")
    assert not list(wrong_links(path))
    assert not [place for place in PLACE.findall(text) if not (ROOT / place).exists()]


@pytest.mark.parametrize("path", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_are_not_too_long(path):
    long = [line for line in without_blocks(path.read_text(encoding="utf-8")).splitlines()
            if len(line) > COLUMNS and not line.startswith("|") and "](" not in line]
    assert not long


@pytest.mark.parametrize("name", ["SECURITY.md", "docs/threat-model.md"])
def test_every_test_of_a_promise_exists(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert len(TEST.findall(text)) > 20
    assert not list(wrong_tests(text, ROOT))


def test_a_test_that_does_not_exist_is_found(tmp_path):
    (tmp_path / "test").mkdir()
    (tmp_path / "test/a.py").write_text("def test_here():\n    pass\n# test_gone\n")
    (tmp_path / "test/a.c").write_text("UNIT_TEST(is_here)\n")
    text = "test/a.py::test_here test/a.py::test_gone test/a.c::is_here test/a.c::is test/b.c::x"
    assert list(wrong_tests(text, tmp_path)) == ["test/a.py::test_gone", "test/a.c::is",
                                                 "test/b.c::x"]


def test_every_promise_has_a_test():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?!promise|-)(.*) \| (.*) \|$", text, re.M)
    assert len(rows) > 10
    assert not [promise for promise, tests in rows if not TEST.search(tests)]


def test_the_readme_is_short_and_its_commands_are_shell():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= README_LINES
    assert blocks(text, "sh") and blocks(text, "console")
    for block in blocks(text, "sh"):
        subprocess.run(["bash", "-n"], input=block, text=True, check=True)


def test_the_readme_keeps_its_order():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.M) == ["Use", "What it does better", "Install", "Guides", "Status"]
    better, guides = (re.search(rf"^## {title}\n(.*?)^## ", text, re.M | re.S)[1]
                      for title in ("What it does better", "Guides"))
    assert "`reckon bench`" in better and re.search(r"\d ms", better)
    assert len(re.findall(r"^- \[.*\]\(docs/", guides, re.M)) == 3 and "(docs/README.md)" in guides


def test_the_index_leads_to_every_page():
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    there = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert not there - {target.partition("#")[0] for target in LINK.findall(index)}


def test_the_table_of_folders_matches_check_layers():
    allowed = {}
    exec(compile((ROOT / "tools/check_layers.py").read_text(encoding="utf-8"), "layers", "exec"),
         {"__name__": "layers"}, allowed)
    rows = re.findall(r"^\| `src/([\w/*]+)` \|.*\| ([^|]*) \|$",
                      (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"), re.M)
    documented = {folder: set(re.findall(r"[\w.]+", may)) for folder, may in rows}
    assert documented == {folder: may | ({"reckon.h"} if folder in allowed["PUBLIC"] else set())
                    for folder, may in allowed["MAY_INCLUDE"].items()}
    assert {folder.split("/")[0] for folder in documented} == {path.name for path in (ROOT / "src").iterdir() if path.is_dir()}


def test_the_api_reference_is_up_to_date():
    made = subprocess.run([sys.executable, ROOT / "src/api/reference.py", "/dev/stdout"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    stored = (ROOT / "docs/api-reference.md").read_text(encoding="utf-8")
    assert made == stored, "python3 src/api/reference.py docs/api-reference.md"


def test_the_numbers_of_filtered_calls_are_up_to_date():
    lists = (ROOT / "src/box/filter/list.h").read_text(encoding="utf-8")
    allowed, denied = (len(re.findall(r'"\w+"', part)) for part in lists.split("filter_denied"))
    checked = (ROOT / "src/box/filter/filter.c").read_text(encoding="utf-8").split("checked[] = {")[1]
    checks = len(re.findall(r'\{ "\w+"', checked.split("\n};")[0]))
    page = (ROOT / "docs/internals/filter.md").read_text(encoding="utf-8")
    for verdict, number in ("allow", allowed), ("check", checks), ("report", denied):
        assert f"| {verdict} | {number} names" in re.sub(r" +", " ", page)


def test_decisions_are_numbered_and_name_what_was_rejected():
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for number, page in enumerate(pages, 1):
        text = page.read_text(encoding="utf-8")
        assert text.startswith(f"# {number}. ")
        assert "\n## Why\n" in text and re.search(r"\n## Rejected\n\n- \*\*", text)
