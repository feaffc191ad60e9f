"""Headers of OpenAI's API with the limit of requests: they show the tenant's quota."""

import openai
import pytest
from model_server import ModelServer, Reply
from test_serve_openai import MODEL, Speaking
from test_serve_openai_hostile import SCOPES

pytestmark = pytest.mark.one_user


def limits(response):
    return {name.removeprefix("x-ratelimit-"): value for name, value in response.headers.items()
            if name.startswith("x-ratelimit-")}


def test_rate_limits_in_the_headers(reckon):
    with ModelServer(lambda _: Reply(text="Hi.")) as model, Speaking(reckon, model) as server:
        # Without a quota the headers are missing.
        assert limits(server.client().responses.with_raw_response.create(model=MODEL, input="?")) == {}
        _, key = server.newcomer("t", SCOPES, requests_per_s=40)
        client = server.client(api_key=key)
        raw = client.responses.with_raw_response.create(model=MODEL, input="?")
        seen = limits(raw)
        assert set(seen) == {"limit-requests", "remaining-requests", "reset-requests"}
        assert seen["limit-requests"] == "40" and seen["reset-requests"].endswith("ms")
        # The numbers are those of a token bucket: each missing request comes back after 25 ms.
        for _ in range(9):
            client.models.list()
        left = limits(client.responses.with_raw_response.create(model=MODEL, input="?"))
        missing = 40 - int(left["remaining-requests"])
        assert 0 < missing <= 20 and (missing - 1) * 25 <= int(left["reset-requests"][:-2]) <= missing * 25
        assert raw.parse().output_text == "Hi."
        # Streams, other responses and errors have the headers, too.
        with client.chat.completions.with_streaming_response.create(
                model=MODEL, messages=[{"role": "user", "content": "?"}], stream=True) as stream:
            assert limits(stream)["limit-requests"] == "40"
        with pytest.raises(openai.BadRequestError) as refused:
            client.responses.create(model=MODEL, input=[{"role": "king", "content": "?"}])
        assert limits(refused.value.response)["limit-requests"] == "40"
        with pytest.raises(openai.RateLimitError) as reached:
            for _ in range(400):
                client.models.list()
        error = reached.value
        assert error.code == "rate_limit_exceeded" and int(error.response.headers["retry-after"]) >= 1
        assert limits(error.response) == {"limit-requests": "40", "remaining-requests": "0", "reset-requests": "1000ms"}
