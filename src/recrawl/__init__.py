"""Keeps a copy of the web fresh on a budget.

The public names are listed in ``__init__.pyi``, where type checkers and editors find them. Each is
loaded on first use, so that importing recrawl costs nothing.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

#: The module of each public name: every line of the stub is "from MODULE import NAME as NAME".
_MODULES = {
    words[-1]: words[1]
    for words in map(str.split, Path(__file__).with_suffix(".pyi").read_text("utf-8").splitlines())
    if words[:1] == ["from"]
}

__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:  # noqa: ANN401
    if name == "__version__":
        return import_module("importlib.metadata").version("recrawl")
    if name not in _MODULES:
        raise AttributeError(f"module 'recrawl' has no attribute '{name}'")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
