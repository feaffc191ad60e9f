#!/usr/bin/python3
"""reckon-model-serve - a local model for `reckon ask`: llama.cpp's server in this process.

usage: reckon-model-serve FILE.gguf CONTEXT, by the Python of the environment that `reckon model
install` made. The first line of stdin is the key that requests must have. Prints its address in one
line once it is ready, and ends at the end of stdin, that is, with the process that started it.
"""
import os
import sys
import threading

import xllamacpp


def end_with_parent():
    while sys.stdin.buffer.read(4096):
        pass
    os._exit(0)  # sys.exit() would wait for the server's threads


def main():
    path, context = sys.argv[1], int(sys.argv[2])
    key = sys.stdin.buffer.readline().decode().strip()
    threading.Thread(target=end_with_parent, daemon=True).start()
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = context
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.verbosity = -1
    params.sampling.temp = 0.0  # so that the same question gets the same answer
    # Its threads busy-wait for each other: one more thread than free processors slows all of them.
    free = round((os.cpu_count() or 1) - os.getloadavg()[0])
    threads = max(1, min(free, len(os.sched_getaffinity(0))))
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
