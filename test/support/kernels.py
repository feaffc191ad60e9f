"""Starts kernels for tests: reckon-kernel-direct of the build directory."""

import configparser
import os
import pathlib

import reckon_cli
import wire

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DIRECT = pathlib.Path(os.environ.get("RECKON_BUILD", ROOT / "build")) / "libexec" / "reckon-kernel-direct"


def _tree():
    """A virtual environment with pandas: RECKON_TEST_TEMPLATE_TREE, or that of the template data."""
    built = reckon_cli.templates_dir() / "data" / "tree"
    return os.environ.get("RECKON_TEST_TEMPLATE_TREE") or (str(built) if built.exists() else None)


TREE = _tree()


def _one_thread():
    """
    The template's environment variables that stop packages from starting threads, because a zygote
    must have one thread. Variables with paths are valid only in a box and left out.
    """
    settings = configparser.ConfigParser(interpolation=None, strict=False)
    settings.optionxform = str
    settings.read(pathlib.Path(TREE).parent / "template.ini" if TREE else [])
    found = dict(settings["env"]) if settings.has_section("env") else {
        "OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
    return {name: value for name, value in found.items() if "/" not in value}


def kernel(*arguments, **popen):
    return wire.Kernel([DIRECT, *arguments], **popen)


def data_kernel():
    return kernel("--template", TREE, "python", "numpy", "pandas", "matplotlib.pyplot",
                  env={**os.environ, **_one_thread()})
