"""Popular frameworks, served from a box and seen in a real browser: Streamlit, Gradio, Vite,
http.server.

A box has no network: the packages go in as an archive, and the template `data` has what else they
need.
"""
import io
import tarfile
import tempfile

import pytest
from reckon_cli import Reckon
from reckon_serve import Server
from sdks import node_sdk, python_tree
from test_serve_ports import label, link
from test_serve_ports_web import browser  # noqa: F401
from waiting import eventually

pytestmark = pytest.mark.parametrize("as_user", ["root"], indirect=True)

SERVED = ("starlette==1.10.0", "uvicorn==0.54.0", "python-multipart==0.0.34", "websockets==17.4", "click==8.5.1")
STREAMLIT = ("streamlit==1.67.0", "pydeck==0.9.3", "watchdog==7.1.0", "itsdangerous==2.2.0", *SERVED)
GRADIO = ("gradio==6.31.0", "gradio_client==2.7.2", "hf_gradio==0.4.1", "groovy==0.1.2", "fastapi==0.165.0",
          "annotated_doc==0.0.7", "typer==0.29.2", "shellingham==1.5.4", "filelock==4.2.12", "fsspec==2026.9.0",
          "huggingface_hub==2.4.0", "httpx2==2.16.2", "httpcore2==2.16.2", "truststore==0.10.5", "safehttpx==0.1.7",
          "semantic_version==2.10.0", "tomlkit==0.14.0", "pydub==0.25.1", "opentelemetry_api==1.45.2",
          "typing_inspection==0.4.5", "brotli==1.2.1", *SERVED)
VITE = ("vite@7.3.8",)


@pytest.fixture(scope="module")
def server(place):
    with Server(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))) as running:
        yield running
        assert "level=error" not in running.log()


@pytest.fixture
def session(server):
    made = server.create(template="data", limits={"memory_bytes": 2 << 30, "disk_bytes": 1 << 30, "files": 50000})
    yield made
    server.ask("DELETE", f"/sessions/{made}")


def put_tree(server, session, tree, name):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(tree, name, filter=lambda entry: None if entry.name.endswith("/.bin") else entry)
    answer = server.ask("PUT", f"/sessions/{session}/archive", out.getvalue())
    assert answer.status == 200, answer


def put(server, session, path, text):
    assert server.ask("PUT", f"/sessions/{session}/files/{path}", text.encode()).status in (200, 201)


def serve(server, session, port, *argv, **more):
    """Start a program and wait until it listens; the failure shows its output."""
    made = server.ask("POST", f"/sessions/{session}/processes", {"argv": list(argv), **more})
    assert made.status == 201, made

    def listens():
        found = server.ask("GET", f"/sessions/{session}/processes/{made.json['id']}").json
        assert found["state"] == "running", output_of(server, session, made.json["id"])
        return port in [each["port"] for each in server.ask("GET", f"/sessions/{session}/ports").json["ports"]]
    eventually(listens)


def output_of(server, session, process):
    import base64
    with server.events("GET", f"/sessions/{session}/processes/{process}/events") as (events, _):
        return b"".join(base64.b64decode(data["data"]) for _, name, data in events if name == "stream")[-2000:]


def open_page(server, session, browser, port):  # noqa: F811
    page = browser.new_page()
    page.goto(f"http://localhost:{server.port}{link(server, session, port)['url']}")
    assert page.url.startswith(f"http://{label(session, port)}.localhost:{server.port}/")
    return page


def test_streamlit(server, session, browser, tmp_path):  # noqa: F811
    put_tree(server, session, python_tree(*STREAMLIT), "site-packages")
    put(server, session, "app.py", "import pandas, streamlit as st\nst.title('Sales')\n"
        "name = st.text_input('Name')\nst.write(f'Hello {name or \"nobody\"}')\n"
        "st.dataframe(pandas.DataFrame({'a': [1, 2]}))\n")
    serve(server, session, 8501, "python", "-m", "streamlit", "run", "app.py", "--server.headless", "true",
          "--browser.gatherUsageStats", "false", env={"PYTHONPATH": "/mnt/data/site-packages"})
    page = open_page(server, session, browser, 8501)
    page.get_by_text("Hello nobody").wait_for()
    page.get_by_label("Name").fill("Ada")
    page.get_by_label("Name").press("Enter")
    page.get_by_text("Hello Ada").wait_for()
    page.screenshot(path=tmp_path / "streamlit.png")
    assert page.get_by_role("heading", name="Sales").is_visible()


def test_gradio(server, session, browser, tmp_path):  # noqa: F811
    put_tree(server, session, python_tree(*GRADIO), "site-packages")
    put(server, session, "app.py", "import gradio\n"
        "gradio.Interface(lambda text: text.upper(), 'text', 'text', title='Shout').launch(\n"
        "    server_name='127.0.0.1', server_port=7860)\n")
    serve(server, session, 7860, "python", "app.py", env={
        "PYTHONPATH": "/mnt/data/site-packages", "GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1"})
    page = open_page(server, session, browser, 7860)
    page.get_by_label("text").first.fill("quiet")
    page.get_by_role("button", name="Submit").click()
    page.wait_for_function("[...document.querySelectorAll('textarea')].some(each => each.value == 'QUIET')")
    page.screenshot(path=tmp_path / "gradio.png")


def test_vite(server, session, browser, tmp_path):  # noqa: F811
    """The server of Vite changes a page in place, over a WebSocket."""
    put_tree(server, session, node_sdk(*VITE) / "node_modules", "node_modules")
    put(server, session, "index.html", "<!doctype html><h1></h1><script type=module src=/main.ts></script>")
    put(server, session, "main.ts", "import { name } from './name.ts';\n"
        "const said: string = `Hello ${name}`;\ndocument.querySelector('h1')!.textContent = said;\n")
    put(server, session, "name.ts", "export const name = 'nobody';\n")
    put(server, session, "package.json", '{"type": "module"}')
    serve(server, session, 5173, "node", "node_modules/vite/bin/vite.js", "--host", "127.0.0.1",
          env={"CHOKIDAR_USEPOLLING": "1"})  # a box has no inotify
    page = open_page(server, session, browser, 5173)
    page.get_by_text("Hello nobody").wait_for()
    put(server, session, "name.ts", "export const name = 'Ada';\n")
    page.get_by_text("Hello Ada").wait_for()
    page.screenshot(path=tmp_path / "vite.png")


def test_http_server(server, session, browser):  # noqa: F811
    put(server, session, "shown/ab.txt", "found")
    serve(server, session, 8000, "python3", "-m", "http.server", "8000", "--bind", "127.0.0.1",
          "--directory", "shown")
    page = open_page(server, session, browser, 8000)
    page.get_by_role("link", name="ab.txt").click()
    assert page.inner_text("body") == "found"
