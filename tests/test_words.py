"""One meaning per word, and the field's words: names that were replaced do not come back.

Every offence is listed as file:line. Old names of settings may stand in CHANGELOG.md, and on a line
that has the new name beside the old one.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CODE = sorted(
    path for name in ("src", "examples", "tools") for path in ROOT.glob(f"{name}/**/*.py")
)
PROSE = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    + [path for suffix in ("sql", "css") for path in ROOT.glob(f"src/**/*.{suffix}")]
)
#: Metaphors, and verbs that do not name a thing. As part of an identifier or a file's name they say
#: less than the field's words: queue, lease, block, element, index, state, client, settings.
NOT_IN_NAMES = {
    *("room", "rooms", "shelf", "shelves", "desk", "desks", "book", "books", "lane", "lanes"),
    *("standing", "growing", "knob", "knobs", "moment", "moments", "place", "places", "wiring"),
    *("asking", "told", "said", "tell", "tells"),
}
#: Names of others, and words of mathematics.
FINE = {"MomentMatching", "moment_matching", "in_place", "most_visited"}
#: In a sentence the others can be right: "at the same place", "a moment later".
NOT_IN_PROSE = re.compile(r"\b(shelf|shelves|desks?|lanes?|knobs?|wiring)\b", re.IGNORECASE)
OLD_LIMIT = re.compile(r"\bmost_(?!visited)(?=[a-z])|--most-|\bMOST_(?=[A-Z])")
NEW_LIMIT = re.compile(r"\bmax[_-]", re.IGNORECASE)
NOT_AS_PYTHON_HAS_IT = re.compile(r"(Gives?|Say whether) ")  # Return
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def parts(name: str) -> set[str]:
    """Return the words of an identifier.

    >>> sorted(parts("HostLanes_for_HTTPRoom"))
    ['for', 'host', 'http', 'lanes', 'room']
    """
    return {part.lower() for part in PART.findall(name)}


def names(path: Path) -> Iterator[tuple[int, str]]:
    """Return every identifier of a file and its line; the file's own name is on line 1."""
    yield 1, path.stem
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(io.StringIO(file.read()).readline):
            if token.type == tokenize.NAME:
                yield token.start[0], token.string


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Return the docstrings of functions and their lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Return the lines of a file, numbered."""
    yield from enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)


def refuse(found: Iterator[tuple[Path, int, str]]) -> None:
    """Fail with the list of offences, if there are any."""
    offences = {f"{path.relative_to(ROOT)}:{line}: {what}": None for path, line, what in found}
    if offences:
        pytest.fail("\n".join([f"{len(offences)} offences", *offences]), pytrace=False)


def test_names_are_words_of_the_field() -> None:
    found = (
        (path, line, name)
        for path in CODE
        for line, name in names(path)
        if name not in FINE and (parts(name) & NOT_IN_NAMES or OLD_LIMIT.match(name))
    )
    refuse(found)


def test_prose_has_no_metaphors_for_things() -> None:
    found = (
        (path, line, word[0])
        for path in [*CODE, *PROSE]
        for line, text in lines(path)
        for word in NOT_IN_PROSE.finditer(text)
    )
    refuse(found)


def test_limits_are_called_max() -> None:
    found = (
        (path, line, text.strip())
        for path in [*CODE, *PROSE]
        for line, text in lines(path)
        if OLD_LIMIT.search(text) and not NEW_LIMIT.search(text)
    )
    refuse(found)


def test_docstrings_say_return() -> None:
    found = (
        (path, line, text.splitlines()[0])
        for path in CODE
        for line, text in docstrings(path)
        if NOT_AS_PYTHON_HAS_IT.match(text)
    )
    refuse(found)


@pytest.mark.parametrize(
    "name", ["max_bytes", "bookkeeping", "replace", "marketplace", "HostQueue"]
)
def test_parts_of_words_are_not_words(name: str) -> None:
    assert not parts(name) & NOT_IN_NAMES
