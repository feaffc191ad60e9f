"""JupyterLab in a real browser, with local kernels (a kernelspec), kernels of a daemon (a gateway), and all on
a daemon.

JupyterLab is in build/sdks/jupyter. RECKON_SCREENSHOTS names a folder for screenshots.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time
import urllib.request

import nbformat
import pytest
from reckon_cli import ROOT
from reckon_serve import SECONDS, Server

CHROMIUM = shutil.which("chromium")
JUPYTER = ROOT / "build/sdks/jupyter/venv/bin"
CELLS = (
    "x = 20\nprint('x is', x + 1)",
    "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2]); plt.title('A plot')\nplt.show()",
    "import time\nprint('sleeping', flush=True)\ntime.sleep(600)",
    "print('after', x)",
    "print('hello', input('Name? '))",
)
pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)


@pytest.fixture
def browser():
    assert CHROMIUM is not None, "chromium is missing: tools/setup.sh test installs it"
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=[
            "--no-sandbox", "--disable-gpu",
            # Chromium would block access to this machine from pages that the test itself answers.
            "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets"])


def environment(reckon):
    env = {**os.environ, **reckon.env, "HOME": str(reckon.work)}
    for name in ("DATA", "RUNTIME", "CONFIG"):
        env[f"JUPYTER_{name}_DIR"] = str(reckon.work / name)
    env["JUPYTERLAB_SETTINGS_DIR"] = str(reckon.work / "settings")
    return env


@contextlib.contextmanager
def jupyter_lab(reckon, env, *options):
    """Starts JupyterLab and yields its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with open(reckon.work / "lab.log", "wb") as log:
        process = subprocess.Popen(
            [JUPYTER / "jupyter-lab", "--allow-root", "--no-browser", f"--port={port}",
             "--ServerApp.token=local", f"--ServerApp.root_dir={reckon.cwd}", "--ServerApp.port_retries=0",
             "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
             "--LabApp.extension_manager=readonly", *options], env=env, stdout=log, stderr=log)
    try:
        end = time.monotonic() + SECONDS
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api", timeout=SECONDS).close()
                break
            except OSError:
                assert time.monotonic() < end and process.poll() is None, (reckon.work / "lab.log").read_text()
                time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(SECONDS)


@pytest.fixture(params=["kernelspec", "gateway"])
def lab(request, reckon):
    """The address of a JupyterLab with a notebook; its kernels are Reckon's."""
    env = environment(reckon)
    name, options, server = "reckon-python", (), None
    if request.param == "gateway":
        name, server = "python3", Server(reckon)
        server.start()
        options = (f"--gateway-url=http://127.0.0.1:{server.port}/jupyter",
                   f"--GatewayClient.auth_token={server.key}")
    else:
        reckon.env["JUPYTER_DATA_DIR"] = env["JUPYTER_DATA_DIR"]
        reckon("jupyter", "install", "-t", "data").expect(0)
    nbformat.write(nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(code) for code in CELLS], metadata={
            "kernelspec": {"name": name, "display_name": "x", "language": "python"}}),
        reckon.cwd / "work.ipynb")
    try:
        with jupyter_lab(reckon, env, *options) as port:
            yield f"http://127.0.0.1:{port}/lab/tree/work.ipynb?token=local"
    finally:
        if server is not None:
            server.stop()


def picture(page, name):
    if folder := os.environ.get("RECKON_SCREENSHOTS"):
        page.screenshot(path=pathlib.Path(folder) / f"{name}.png")


def test_a_notebook_in_a_browser(lab, browser, request):
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    page.set_default_timeout(SECONDS * 1000)
    page.goto(lab)
    cells = page.locator(".jp-Notebook .jp-CodeCell")

    def ready():
        page.locator("#jp-main-statusbar", has_text="(Reckon) | Idle").wait_for()

    def run(number):
        cells.nth(number).locator(".cm-content").click()
        page.keyboard.press("Shift+Enter")

    def prompt(number, text):
        cells.nth(number).locator(".jp-InputPrompt", has_text=text).wait_for()

    def output(number, text):
        cells.nth(number).locator(".jp-OutputArea-output", has_text=text).first.wait_for()

    ready()
    run(0)
    output(0, "x is 21")
    prompt(0, "[1]:")
    run(1)
    image = cells.nth(1).locator(".jp-RenderedImage img")
    image.wait_for()
    assert image.evaluate("image => image.complete && image.naturalWidth") > 300
    # An interrupt ends the running cell and keeps the variables.
    run(2)
    output(2, "sleeping")
    prompt(2, "[*]:")
    page.locator(".jp-NotebookPanel-toolbar [data-command='notebook:interrupt-kernel'], "
                 ".jp-NotebookPanel-toolbar [data-jp-item-name=interrupt]").first.click()
    output(2, "KeyboardInterrupt")
    run(3)
    output(3, "after 20")
    run(4)
    box = cells.nth(4).locator(".jp-Stdin-input")
    box.fill("Ada")
    box.press("Enter")
    output(4, "hello Ada")
    picture(page, f"lab-{request.node.callspec.params['lab']}")
    # A restart deletes the variables.
    page.locator(".jp-NotebookPanel-toolbar [data-command='kernelmenu:restart'], "
                 ".jp-NotebookPanel-toolbar [data-jp-item-name=restart]").first.click()
    page.locator(".jp-Dialog button.jp-mod-warn", has_text="Restart").click()
    ready()
    run(3)
    output(3, "NameError")
    picture(page, f"lab-{request.node.callspec.params['lab']}-restarted")


def served_by(page, origin, lab):
    """Pages and settings come from the JupyterLab at `lab`; kernels, files and so on from /jupyter of `origin`."""
    def answer(route):
        url = route.request.url.replace(f"{origin}/jupyter/", f"{origin}/").replace(f"{origin}/", lab)
        answer = route.fetch(url=url, headers={**route.request.headers, "authorization": "token local"})
        text = answer.text() if "text/html" in answer.headers.get("content-type", "") else ""
        found = re.search(r'id="jupyter-config-data" type="application/json">\s*(\{.*?\})\s*</script>', text, re.S)
        if found is None:
            route.fulfill(response=answer)
            return
        config = {**json.loads(found[1]), "baseUrl": "/jupyter/", "token": ""}
        config.pop("wsUrl", None)
        route.fulfill(response=answer, body=text.replace(found[1], json.dumps(config)))

    page.route(re.compile(re.escape(origin) + "/(jupyter/lab|jupyter/lsp|static|lab)"), answer)


def test_everything_on_a_daemon_after_a_login(reckon, browser):
    """No request of JupyterLab, at its start and with a notebook, is an error."""
    server = Server(reckon)
    server.start()
    origin = f"http://127.0.0.1:{server.port}"
    wrong = []
    try:
        with jupyter_lab(reckon, environment(reckon)) as port:
            page = browser.new_page(viewport={"width": 1200, "height": 1000})
            page.set_default_timeout(SECONDS * 1000)
            page.on("console", lambda each: wrong.append(each.text) if each.type == "error" else None)
            page.on("pageerror", lambda each: wrong.append(str(each)))
            page.on("response", lambda each: wrong.append((each.status, each.url)) if each.status >= 400 else None)
            served_by(page, origin, f"http://127.0.0.1:{port}/")
            page.goto(f"{origin}/jupyter/")
            page.locator("input[name=password]").fill(server.key)
            page.locator("button").click()
            page.get_by_text("no pages").wait_for()
            page.goto(f"{origin}/jupyter/lab")
            page.locator(".jp-LauncherCard", has_text="Python 3 (Reckon)").first.click()
            page.locator("#jp-main-statusbar", has_text="(Reckon) | Idle").wait_for()
            page.locator(".jp-Notebook .cm-content").first.click()
            page.keyboard.type("6 * 7")
            page.keyboard.press("Shift+Enter")
            page.locator(".jp-OutputArea-output", has_text="42").first.wait_for()
            # Dismiss the question about news.
            page.locator(".Toastify__toast button", has_text="No").first.click()
            page.keyboard.press("Control+s")
            page.locator(".jp-Dialog input[type=text]").fill("mine.ipynb")
            page.locator(".jp-Dialog button.jp-mod-accept").click()
            page.locator(".jp-DirListing-item", has_text="mine.ipynb").wait_for()
            page.wait_for_timeout(3000)
            picture(page, "lab-daemon")
            page.goto(f"{origin}/jupyter/logout")
            page.get_by_text("logged out").wait_for()
            assert page.goto(f"{origin}/jupyter/tree").url.endswith("/login?next=%2Fjupyter%2Ftree")
    finally:
        server.stop()
    assert not wrong
