"""tools/gallery: a page with every kind of result, on which content of a box is inert."""

import html.parser
import os
import subprocess
import sys

import pytest
from reckon_cli import ROOT, templates_dir

pytestmark = pytest.mark.skipif(not (templates_dir() / "data").exists(),
                                reason="the template data is not built")


class Page(html.parser.HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, text):
        super().__init__()
        self.elements = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


def test_every_cell_is_shown_and_its_content_is_sandboxed(tmp_path):
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    env = {**os.environ, "RECKON_STATE": str(tmp_path / "state"), "XDG_RUNTIME_DIR": str(runtime),
           "RECKON_TEMPLATES": str(templates_dir())}
    done = subprocess.run([sys.executable, ROOT / "tools" / "gallery", "--out", tmp_path], env=env,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    page = Page((tmp_path / "gallery.html").read_text(encoding="utf-8"))
    text = (tmp_path / "gallery.txt").read_text(encoding="utf-8")
    assert page.all("meta")[1]["content"].startswith("default-src 'none'")
    assert not page.all("script") and not any(attributes.get("id") for _, attributes in page.elements)
    frames = page.all("iframe")
    assert len(frames) > 15
    for frame in frames:
        assert frame["sandbox"] == "" and "src" not in frame
        assert frame["srcdoc"].startswith('<meta http-equiv="Content-Security-Policy"')
    assert any("out of the frame?" in frame["srcdoc"] for frame in frames)
    assert all(image["src"].startswith("data:image/") for image in page.all("img"))
    assert len(page.all("section")) == text.count("\n== ") + 1
    for word in ("10000 of 200000 points", "superchart “Four”", "[audio/wav, ", "vnd.plotly.v1+json",
                 "1000 rows (200 told)", "(display_failed: _repr_html_: ZeroDivisionError"):
        assert word in text, word
