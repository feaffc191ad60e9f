"""Ports with real software: Flask, WebSockets, and a browser, also with a page that attacks."""
import importlib.util
import io
import pathlib
import re
import shutil
import socket
import tarfile
import tempfile

import pytest
from reckon_cli import Reckon
from reckon_serve import SECONDS, Server
from test_serve_ports import cookie_of, label, link

CHROMIUM = shutil.which("chromium")
FLASK = ("flask", "werkzeug", "jinja2", "click", "itsdangerous", "blinker", "markupsafe")


@pytest.fixture(scope="module")
def server(place):
    with Server(Reckon(place, tempfile.mkdtemp(prefix="work-", dir=place.base))) as running:
        yield running
        assert "level=error" not in running.log()


def put_packages(server, session, *names):
    """A box has no network: packages of the tests go in as an archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name in names:
            home = pathlib.Path(importlib.util.find_spec(name).submodule_search_locations[0])
            archive.add(home, f"site/{name}", filter=lambda entry: None if "__pycache__" in entry.name
                        else entry)
        for each in home.parent.glob("*.dist-info"):  # versions are looked up
            if each.name.lower().startswith(names):
                archive.add(each, f"site/{each.name}")
    assert server.ask("PUT", f"/sessions/{session}/archive", out.getvalue()).status == 200
    record = server.execute(session, "import sys; sys.path.insert(0, '/mnt/data/site')")
    assert record["status"] == "ok"


APP = r'''
import threading, flask, werkzeug.serving
app = flask.Flask("shop"); app.secret_key = "x"
@app.route("/")
def home():
    return f"<title>shop</title><h1>Hello {flask.session.get('name', 'nobody')}</h1>" \
           "<form method=post action=/login><input name=name id=name><button>go</button></form>"
@app.post("/login")
def login():
    flask.session["name"] = flask.request.form["name"]
    return flask.redirect(flask.url_for("home"))
httpd = werkzeug.serving.make_server("127.0.0.1", 8000, app, threaded=True)
threading.Thread(target=httpd.serve_forever, daemon=True).start()
'''

SOCKETS = r'''
import threading, websockets.sync.server
def echo(connection):
    connection.send(f"hello {connection.request.path} {connection.request.headers.get('Origin')}")
    for message in connection: connection.send(message)
ws = websockets.sync.server.serve(echo, "127.0.0.1", 8001, max_size=None)
threading.Thread(target=ws.serve_forever, daemon=True).start()
'''


def test_flask(server, session):
    put_packages(server, session, *FLASK)
    assert server.execute(session, APP)["status"] == "ok"
    connection, cookie = server.connect(), cookie_of(server, session)
    host = f"{label(session)}.localhost:{server.port}"
    connection.request("POST", "/login", "name=Ada", {
        "Host": host, "Cookie": cookie, "Origin": f"http://{host}",
        "Content-Type": "application/x-www-form-urlencoded"})
    response = connection.getresponse()
    response.read()
    assert (response.status, response.headers["Location"]) == (302, "/")
    own = response.headers["Set-Cookie"].split(";")[0]
    connection.request("GET", "/", headers={"Host": host, "Cookie": f"{cookie}; {own}"})
    assert b"<h1>Hello Ada</h1>" in connection.getresponse().read()


def test_web_sockets(server, session):
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect
    put_packages(server, session, "websockets")
    assert server.execute(session, SOCKETS)["status"] == "ok"
    path = f"ws://127.0.0.1:{server.port}/reckon/v1/sessions/{session}/ports/8001/a/b?c=1"
    key = {"Authorization": f"Bearer {server.key}"}
    with connect(path, additional_headers=key, max_size=None) as one:
        assert one.recv() == "hello /a/b?c=1 None"
        for message in ("short", "ü" * 100000, bytes(range(256)) * 20000, ""):
            one.send(message)
            assert one.recv() == message
        assert one.ping().wait(SECONDS)
    with pytest.raises(InvalidStatus) as refused:
        connect(path)
    assert refused.value.response.status_code == 401
    # By host name and with the cookie, as a page connects.
    host = f"{label(session, 8001)}.localhost:{server.port}"
    for origin in (f"http://{host}", "http://evil.example"):
        sock = socket.create_connection(("127.0.0.1", server.port), SECONDS)
        headers = {"Cookie": cookie_of(server, session, 8001)}
        if "evil" in origin:
            with pytest.raises(InvalidStatus) as refused:
                connect(f"ws://{host}/", sock=sock, origin=origin, additional_headers=headers)
            assert refused.value.response.status_code == 403
            continue
        with connect(f"ws://{host}/", sock=sock, origin=origin, additional_headers=headers) as one:
            assert one.recv() == f"hello / {origin}"
            one.send("x")
            assert one.recv() == "x"


# ---- a browser ----------------------------------------------------------------------------------

ATTACK = r'''
import http.server, json, threading
PAGE = """<!doctype html><title>waiting</title><h1 style="color: seagreen">A page of a box</h1>
<ul id=log></ul><script>
const api = API, results = {};
async function attempt(name, what) {
  try { results[name] = await what(); } catch (error) { results[name] = error.name; }
  log.insertAdjacentHTML('beforeend', `<li>${name}: ${results[name]}`);
}
const get = (url, options) => async () => { const r = await fetch(url, options); return r.type + r.status + ' ' + (await r.text()).slice(0, 20); };
(async () => {
  await attempt('own', get('/reckon/v1/sessions'));
  await attempt('read', get(api + '/reckon/v1/sessions', {credentials: 'include'}));
  await attempt('guess', get(api + '/reckon/v1/sessions', {headers: {Authorization: 'Bearer rk_x'}}));
  await attempt('delete', get(api + '/reckon/v1/sessions/SESSION', {method: 'DELETE', credentials: 'include'}));
  await attempt('blind', get(api + '/reckon/v1/sessions', {method: 'POST', body: '{}', mode: 'no-cors', credentials: 'include'}));
  await attempt('cookies', async () => document.cookie);
  await attempt('set', async () => { document.cookie = 'reckon_port=mine; domain=localhost'; return document.cookie; });
  await attempt('other', get(location.origin.replace('8000-', '8001-') + '/', {method: 'POST', mode: 'no-cors', credentials: 'include'}));
  await attempt('socket', () => new Promise(done => { const s = new WebSocket(api.replace('http', 'ws') + '/reckon/v1/sessions/SESSION/ports/8000'); s.onerror = () => done('failed'); s.onopen = () => done('open'); }));
  await attempt('frame', () => new Promise(done => { const f = document.createElement('iframe'); f.src = api + '/reckon/v1/sessions'; f.onload = () => { try { done(f.contentDocument.body.innerText); } catch (error) { done(error.name); } }; document.body.append(f); }));
  document.title = 'done'; window.results = results;
})();
</script>"""
seen = []
class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): pass
    def do_GET(self):
        seen.append((self.path, dict(self.headers)))
        body = PAGE.encode() if self.path == "/" else b"of the box"
        self.send_response(200); self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    do_POST = do_GET
for port in (8000, 8001):
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
'''


@pytest.fixture
def browser():
    assert CHROMIUM is not None, "chromium is missing: tools/setup.sh test installs it"
    from playwright.sync_api import sync_playwright
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM,
                                         args=["--no-sandbox", "--disable-gpu"])


def test_a_page_of_a_box_cannot_use_the_api(server, session, browser, tmp_path):
    api = f"http://localhost:{server.port}"
    assert server.execute(session, ATTACK.replace("API", repr(api)).replace(
        "SESSION", session))["status"] == "ok"
    page = browser.new_page()
    # Data that an application of the API's origin may store in the browser.
    page.goto(f"{api}/reckon/v1/health")
    page.evaluate("document.cookie = 'console=secret'; localStorage.key = 'rk_secret'")
    page.goto(f"{api}{link(server, session)['url']}")
    page.wait_for_function("document.title == 'done'")
    assert page.url == f"http://{label(session)}.localhost:{server.port}/"
    page.screenshot(path=tmp_path / "page.png")
    results = page.evaluate("results")
    assert results == {
        "own": "basic200 of the box",  # the same path at this host is the program's
        "read": "TypeError", "guess": "TypeError", "delete": "TypeError",
        "blind": "opaque0 ", "cookies": "", "set": "", "other": "opaque0 ",
        "socket": "failed", "frame": "TypeError"}  # the content of the frame is not accessible
    assert page.evaluate("localStorage.length") == 0
    # The page changed nothing: the session is the only live one, and the other port got no request.
    assert [each["id"] for each in server.ask("GET", "/sessions?limit=500").json["sessions"]
            if each["status"] == "live"] == [session]
    seen = server.execute(session, "print([(p, h.get('Host', '')[:5]) for p, h in seen]); "
                          "print(any('secret' in str(h) or 'lk_' in str(h) for _, h in seen))")
    lines = seen["stdout"].splitlines()
    assert "8001-" not in lines[0] and lines[1] == "False"


def test_pages_on_the_api_origin_run_no_scripts(server, session, browser):
    api = f"http://localhost:{server.port}"
    assert server.execute(session, ATTACK.replace("API", repr(api)))["status"] == "ok"
    page = browser.new_page()
    page.set_extra_http_headers({"X-Reckon-Key": server.key})
    page.goto(f"{api}/reckon/v1/sessions/{session}/ports/8000/")
    assert page.inner_text("h1") == "A page of a box"
    assert page.title() == "waiting"  # no script ran
    assert page.evaluate("origin") == "null"


def test_flask_in_a_browser(server, session, browser):
    put_packages(server, session, *FLASK)
    assert server.execute(session, APP)["status"] == "ok"
    page = browser.new_page()
    page.goto(f"http://localhost:{server.port}{link(server, session)['url']}")
    page.fill("#name", "Ada")
    page.click("button")
    assert page.inner_text("h1") == "Hello Ada"
    assert re.fullmatch(r"http://8000-[0-9a-z]{26}\.localhost:\d+/", page.url)
