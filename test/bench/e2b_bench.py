#!/usr/bin/env python3
"""Compares a cell over E2B's interpreter with one over the native API, alternately, on one daemon.

    RECKON_API_KEY=rk_… test/bench/e2b_bench.py http://127.0.0.1:7263 [CELLS]
"""
import http.client
import json
import os
import statistics
import sys
import time
import urllib.parse

CODE = {"code": "1 + 1"}


def ask(connection, method, path, body, headers):
    begin = time.perf_counter()
    connection.request(method, path, json.dumps(body), {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status in (200, 201, 204), (answer.status, text)
    return time.perf_counter() - begin, text


def main(url, cells):
    key = os.environ["RECKON_API_KEY"]
    where = urllib.parse.urlsplit(url)
    native, e2b = (http.client.HTTPConnection(where.hostname, where.port) for _ in range(2))
    made = json.loads(ask(e2b, "POST", "/v2/sandboxes", {"templateID": "base"}, {"X-API-Key": key})[1])
    sandbox = made["sandboxID"]
    session = f"/reckon/v1/sessions/se_{sandbox.upper()}"
    bearer = {"Authorization": f"Bearer {key}"}
    token = {"X-Access-Token": made["envdAccessToken"], "E2b-Sandbox-Id": sandbox, "E2b-Sandbox-Port": "49999"}
    times = {"native": [], "e2b": []}
    for _ in range(cells):
        times["native"].append(ask(native, "POST", f"{session}/executions", CODE, bearer)[0])
        times["e2b"].append(ask(e2b, "POST", "/execute", CODE, token)[0])
    ask(e2b, "DELETE", f"/sandboxes/{sandbox}", None, {"X-API-Key": key})
    medians = {name: statistics.median(each) * 1000 for name, each in times.items()}
    print(json.dumps({"cells": cells, **{f"{name}_ms": round(ms, 3) for name, ms in medians.items()},
                      "ratio": round(medians["e2b"] / medians["native"], 2)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300)
