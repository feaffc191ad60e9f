"""Kernels for tests: reckon-kernel-direct, found in the build directory."""

import os
import pathlib

import wire

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DIRECT = pathlib.Path(os.environ.get("RECKON_BUILD", ROOT / "build")) / "libexec" / "reckon-kernel-direct"
TREE = os.environ.get("RECKON_TEST_TEMPLATE_TREE")  # a virtual environment with pandas and friends

# Wheels from PyPI start thread pools unless they are told not to, and a zygote must not have any.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}


def kernel(*arguments, **popen):
    return wire.Kernel([DIRECT, *arguments], **popen)


def data_kernel():
    return kernel("--template", TREE, "python", "numpy", "pandas", "matplotlib.pyplot",
                  env={**os.environ, **ONE_THREAD})
