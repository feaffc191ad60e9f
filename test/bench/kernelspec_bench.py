#!/usr/bin/python3
"""Compares a kernel of `reckon jupyter install` with ipykernel, alternately, through jupyter_client.

usage: test/bench/kernelspec_bench.py [--runs N] [--json]       (as root, after tools/setup.sh test)

  start        start_kernel, channels, wait_for_ready, and the reply to a first cell
  warm cell    `x += 1`, from execute to its reply and idle
  restart      restart_kernel to the reply of the first cell after it

Both kernels use the jupyter_client of build/venv; ipykernel is that of build/sdks/jupyter, without a
sandbox. Reckon's warden already runs, as on a machine that used Reckon within the last quarter of an
hour. Compare the ratios; the times are this machine's.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import jupyter_client

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
IPYTHON = ROOT / "build/sdks/jupyter/venv/bin/python"
SECONDS = 120
CELLS = 50  # of each kernel, alternately


def install(data):
    """Installs both kernelspecs in `data`."""
    subprocess.run([ROOT / "build/bin/reckon", "jupyter", "install", "-t", "python"], check=True,
                   stdout=subprocess.DEVNULL)
    folder = data / "kernels/theirs"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text(json.dumps({
        "argv": [str(IPYTHON), "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "x", "language": "python"}))


class Kernel:
    def __init__(self, name):
        self.manager = jupyter_client.KernelManager(kernel_name=name)
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=SECONDS)
        self.run("x = 0")

    def run(self, code):
        reply = self.client.execute_interactive(code, timeout=SECONDS, output_hook=lambda message: None)
        assert reply["content"]["status"] == "ok", reply

    def restart(self):
        self.manager.restart_kernel()
        self.client.wait_for_ready(timeout=SECONDS)
        self.run("x = 0")

    def end(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def timed(fn, *words):
    began = time.perf_counter()
    value = fn(*words)
    return value, (time.perf_counter() - began) * 1000


def measure(runs):
    rows = {f"{row}, {whose}": [] for row in ("start", "warm cell", "restart") for whose in ("ours", "theirs")}
    names = {"ours": "reckon-python", "theirs": "theirs"}
    Kernel(names["ours"]).end()  # starts the warden and its zygote
    Kernel(names["theirs"]).end()  # loads its files into the page cache
    for _ in range(runs):
        kernels = {}
        for whose, name in names.items():
            kernels[whose], ms = timed(Kernel, name)
            rows[f"start, {whose}"].append(ms)
        for _ in range(CELLS):
            for whose, kernel in kernels.items():
                rows[f"warm cell, {whose}"].append(timed(kernel.run, "x += 1")[1])
        for whose, kernel in kernels.items():
            rows[f"restart, {whose}"].append(timed(kernel.restart)[1])
            kernel.end()
    return {name: statistics.median(times) for name, times in rows.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp(prefix="reckon-bench-"))
    os.environ |= {"JUPYTER_DATA_DIR": str(work), "JUPYTER_RUNTIME_DIR": str(work / "runtime")}
    try:
        install(work)
        found = measure(options.runs)
    finally:
        shutil.rmtree(work)
    for row in ("start", "warm cell", "restart"):
        found[f"{row}, theirs / ours"] = found[f"{row}, theirs"] / found[f"{row}, ours"]
    if options.json:
        json.dump({"load": os.getloadavg(), **found}, sys.stdout)
        return
    for name, value in found.items():
        print(f"{name:28} {value:10.2f}")
    print("load", *(f"{each:.1f}" for each in os.getloadavg()))


if __name__ == "__main__":
    main()
