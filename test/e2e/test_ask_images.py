"""Images that the model gets: files of the user, and those that its code makes."""
import base64
import json
import struct
import zlib

import pytest
from cells import PICTURE
from model_server import ModelServer, Reply

pytestmark = [pytest.mark.one_user, pytest.mark.usefixtures("no_daemon_stays")]

FAST = ("-t", "python")


def png(width=2, height=2, noise=0):
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    rows = b"".join(b"\0" + b"\x40\x80\xc0" * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + (chunk(b"noIs", b"n" * noise) if noise else b"")
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


@pytest.fixture
def pictures(tmp_path):
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.fixture
def ask(reckon):
    def run(model, *args, status=0, command="ask", **options):
        env = {"OPENAI_BASE_URL": model.url + "/v1", "OPENAI_API_KEY": "k",
               "ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "k",
               "GEMINI_BASE_URL": model.url, "GEMINI_API_KEY": "k"}
        return reckon(command, "--verify", "off", *FAST, *args, env=env, **options).expect(status)
    return run


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "gemini"])
def test_an_image_file_is_sent(ask, pictures, provider):
    file = pictures / "chart.png"
    file.write_bytes(png())
    with ModelServer(Reply(text="A square.")) as model:
        ask(model, "--model", f"{provider}/m", "--vision", "on", "What is it?", file)
    sent = json.dumps(model.requests[0].body)
    assert base64.b64encode(png()).decode() in sent and "chart.png (" in sent


def test_a_model_without_vision_gets_no_image(ask, pictures):
    file = pictures / "chart.png"
    file.write_bytes(png())
    with ModelServer(Reply(text="A file.")) as model:
        ask(model, "--model", "openai/m", "What is it?", file)
        done = ask(model, "--model", "openai/m", "What is it?", "--image", file, status=2)
    assert base64.b64encode(png()).decode() not in json.dumps(model.requests[0].body)
    assert "is sent no images" in done.err and "--vision on" in done.err
    assert len(model.requests) == 1


def test_image_rejects_other_files(ask, pictures):
    file = pictures / "chart.png"
    file.write_text("no picture")
    with ModelServer(Reply(text="?")) as model:
        done = ask(model, "--model", "openai/m", "--vision", "on", "What?", "--image", file, status=2)
    assert "is no PNG, JPEG, WebP or GIF" in done.err and not model.requests


def test_images_are_limited_in_number_and_size(ask, pictures):
    files = []
    for i in range(10):
        files.append(pictures / f"p{i}.png")
        files[-1].write_bytes(png(width=2 + i))
    large = pictures / "large.png"
    large.write_bytes(png(noise=6 * 1024 * 1024))
    with ModelServer(Reply(text="Many.")) as model:
        done = ask(model, "--model", "openai/m", "--vision", "on", "What?", large, *files)
    sent = json.dumps(model.requests[0].body)
    assert sent.count("data:image/png;base64,") == 8
    assert "not shown large.png: it has more than 5 MiB" in done.err
    assert "not shown p8.png: a question has 8 images at most" in done.err
    assert "large.png (" in sent and "p9.png (" in sent


def test_each_request_of_a_chat_has_the_image_once(ask, pictures):
    file = pictures / "chart.png"
    file.write_bytes(png())
    with ModelServer(Reply(text="A square."), Reply(text="Blue.")) as model:
        ask(model, "--model", "openai/m", "--vision", "on", file, command="chat",
            stdin="What is it?\nWhich colour?\n")
    for request in model.requests:
        assert json.dumps(request.body).count("data:image/png;base64,") == 1


def test_images_of_cells_are_sent_if_the_models_file_says_so(ask, pictures, reckon):
    models = pictures / "models.ini"
    models.write_text("[provider mine]\nprotocol = chat\nbase-url = URL\n"
                      "[model mine/sees]\nimages = yes\n")
    with ModelServer(Reply(calls=[PICTURE]), Reply(text="x"), Reply(calls=[PICTURE]),
                     Reply(text="x")) as model:
        models.write_text(models.read_text().replace("URL", model.url + "/v1"))
        models.chmod(0o644)
        for name in ("sees", "blind"):
            reckon("ask", "--model", f"mine/{name}", *FAST, "Draw.",
                   env={"RECKON_MODELS": str(models)}).expect(0)
    assert "data:image/png;base64," in json.dumps(model.requests[1].body)
    assert "data:image/png;base64," not in json.dumps(model.requests[3].body)


# ---- images of earlier questions ------------------------------------------------------------------

def chat(ask, model, file, *lines):
    return ask(model, "--model", "openai/m", "--vision", "on", file, command="chat",
               stdin="".join(f"{line}\n" for line in lines))


def seen(request):
    """How often the picture is in a request, and whether it says that the picture is shown again."""
    sent = json.dumps(request.body)
    return (sent.count(base64.b64encode(png()).decode()),
            "Images of before are shown again: chart.png." in sent)


@pytest.fixture
def chart(pictures):
    file = pictures / "chart.png"
    file.write_bytes(png())
    return file


def test_another_model_gets_the_images_of_the_one_before(ask, chart):
    script = [Reply(text="A square."), Reply(text="Blue."), Reply(text="Yes.")]
    with ModelServer(*script) as model:
        chat(ask, model, chart, "What is it?", "/model anthropic/c", "Which colour?", "Sure?")
    assert [request.protocol for request in model.requests] == ["chat", "messages", "messages"]
    assert [seen(request) for request in model.requests] == [(1, False), (1, True), (1, True)]


def test_a_model_that_is_sent_no_images_is_named(reckon, chart, pictures):
    models = pictures / "models.ini"
    with ModelServer(Reply(text="A square."), Reply(text="?")) as model:
        models.write_text(f"[provider mine]\nprotocol = chat\nbase-url = {model.url}/v1\n"
                          "[model mine/sees]\nimages = yes\n")
        models.chmod(0o644)
        done = reckon("chat", "--verify", "off", "--model", "mine/sees", *FAST, chart,
                      stdin="What is it?\n/model mine/blind\nWhich colour?\n",
                      env={"RECKON_MODELS": str(models)}).expect(0)
    assert [seen(request)[0] for request in model.requests] == [1, 0]
    assert "chart.png" in json.dumps(model.requests[1].body)
    assert "mine/blind is sent no images: of those among the files it is told the names" in done.err


def test_undo_of_a_question_keeps_earlier_images(ask, chart):
    script = [Reply(text="A square."), Reply(text="Wrong."), Reply(text="Blue.")]
    with ModelServer(*script) as model:
        chat(ask, model, chart, "What is it?", "Is it red?", "/undo", "Which colour?")
    assert [seen(request) for request in model.requests] == [(1, False), (1, False), (1, True)]
    assert "Is it red?" not in json.dumps(model.requests[2].body)


def test_undo_of_the_first_question_keeps_its_files(ask, chart):
    """The next question becomes the first one and comes with the files."""
    with ModelServer(Reply(text="Wrong."), Reply(text="A square."), Reply(text="Blue.")) as model:
        chat(ask, model, chart, "What?", "/undo", "What is it?", "/model openai/n", "Which colour?")
    assert [seen(request) for request in model.requests] == [(1, False), (1, False), (1, True)]
    for request in model.requests[1:]:
        assert json.dumps(request.body).count("chart.png") - seen(request)[1] == 1
        assert "What?" not in json.dumps(request.body)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_resumed_run_sends_its_images_again(ask, chart, is_there):
    script = [Reply(text="A square."), Reply(text="Blue."), Reply(text="Yes.")]
    with ModelServer(*script) as model:
        see = ("--model", "openai/m", "--vision", "on")
        ask(model, *see, "What is it?", chart)
        if not is_there:
            chart.unlink()
        done = ask(model, *see, "--resume", "Which colour?")
    assert seen(model.requests[1]) == ((1, True) if is_there else (0, False))
    gone = "reckon: the model is not shown chart.png: it is not in the session any more"
    assert (gone in done.err) != is_there
