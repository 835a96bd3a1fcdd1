"""Show the doctests of docstrings as code on the documentation site.

Google's docstrings want them below "Examples:", and Markdown takes ">>>" for three quotations.
"""

import re
from typing import Any

from griffe import Extension, Object

DOCTEST = re.compile(r"^( *)>>> .*(?:\n\1 *\S.*)*", re.MULTILINE)


def fenced(docstring: str) -> str:
    """Return a docstring with each of its doctests in a fence."""
    return DOCTEST.sub(lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", docstring)


class DoctestFences(Extension):
    """Put the doctests of every object into fences."""

    def on_object(self, *, obj: Object, **_: Any) -> None:  # noqa: ANN401 - as griffe has it
        """Change the docstring of an object that was just loaded."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
