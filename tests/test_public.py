"""The public names are a promise."""

import inspect
import pickle
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import recrawl
from recrawl.errors import CrawlLogError, InputError


def test_every_public_name_is_there() -> None:
    for name in recrawl.__all__:
        assert getattr(recrawl, name) is not None


def test_the_stub_lists_nothing_but_names_that_are_there() -> None:
    lines = Path(inspect.getfile(recrawl)).with_suffix(".pyi").read_text("utf-8").split("\n\n")[0]
    assert lines.splitlines() == [
        f"from {recrawl._MODULES[name]} import {name} as {name}"  # noqa: SLF001
        for name in recrawl.__all__
    ]


def test_the_version_is_the_distributions() -> None:
    assert recrawl.__version__ == version("recrawl")


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(recrawl, "no_such_name")


def test_an_error_about_a_file_passes_from_one_process_to_another() -> None:
    for error in (
        InputError("a.csv", "it is empty"),
        CrawlLogError("a.csv", "is no time", row=3, column="at"),
    ):
        passed = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        assert (type(passed), str(passed)) == (type(error), str(error))
        assert vars(passed) == vars(error)


def test_importing_recrawl_loads_nothing_heavy() -> None:
    code = "import sys, recrawl; sys.exit(any(m in sys.modules for m in ('numpy', 'numba')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
