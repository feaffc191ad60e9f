"""The command line shows remedies of the daemon as commands, not as HTTP requests."""
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = pathlib.Path(os.environ.get("RECKON_BUILD", ROOT / "build")) / "test/support/reckon-words"
FOLDERS = ("src/host", "src/api", "src/httpd", "src/dialects/native", "src/dialects/ports")
LITERAL = r'"(?:[^"\\\n]|\\.)*"'
REQUEST = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE) [./]")

# Remedies of requests that no command makes, so no command shows them.
NOT_SHOWN = {
    "list them: GET /reckon/v1/sessions/ID/contexts": "no command names a context",
    "list them: GET /reckon/v1/sessions/ID/links": "no command names a link by its id",
    "list them: GET /reckon/v1/files": "no command names a file of a tenant",
    "list them: GET /reckon/v1/documents/COLLECTION": "no command names a document",
    "POST /reckon/v1/agent answers with the id of the one that it begins":
        "`reckon ask` runs the model itself",
    "see GET /reckon/v1/openapi.json": "a command knows its paths and fields",
}
NO_REMEDY = {  # texts that look like a request but are not a remedy
    "GET /reckon/v1/ready HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n": "a request",
    "1: as GET /reckon/v1/ready.": "the help of a metric",
}


def texts():
    """The string literals in sources that contain a request; adjacent literals are joined."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            source = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
            for match in re.finditer(rf"{LITERAL}(?:\s*{LITERAL})*", source):
                text = "".join(each[1:-1] for each in re.findall(LITERAL, match[0]))
                if REQUEST.search(text) and text not in NO_REMEDY:
                    found[text] = str(path.relative_to(ROOT))
    return found


def test_each_request_in_a_remedy_is_shown_as_a_command():
    found = texts()
    assert len(found) > 15, found  # the pattern still matches
    assert set(NOT_SHOWN) <= set(found), "one is gone"
    done = subprocess.run([PROGRAM], input="".join(f"{text}\n" for text in found), text=True,
                          stdout=subprocess.PIPE, check=True)
    shown = dict(zip(found, done.stdout.splitlines(), strict=True))
    for text, words in shown.items():
        for protocol in ("/reckon/v1", "HTTP", "GET ", "POST ", "PUT ", "PATCH ", "DELETE "):
            assert protocol not in words, (found[text], text, words)
        if text in NOT_SHOWN:
            assert words == "", (text, words)
        else:
            assert "reckon " in words, f"{found[text]}: src/client/words.c lacks a row for: {text}"


def test_paths_in_remedies_have_one_form():
    for text, path in texts().items():
        for request in re.findall(r"\b(?:GET|POST|PUT|PATCH|DELETE) ([./]\S*)", text):
            assert re.match(r"/reckon/v1/[a-zA-Z/.]+$", request.rstrip(".,;:)")), (path, text)
