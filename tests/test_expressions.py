"""Every regular expression takes linear time: each is fed a megabyte of its own worst characters.

Servers, pages, logs and stores are written by strangers, so an expression that takes quadratic time
can stop a crawl for hours.
"""

import ast
import importlib
import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import pytest

import recrawl
from recrawl.parsing.process import ParseProcess, pickled

#: Characters of each text, and the seconds of CPU time that one may take: a linear expression takes
#: some hundredths, a quadratic one hours.
SIZE, SECONDS = 1_000_000, 5.0
MEMORY = 1_000_000_000
#: The functions of `re` that search a text from each of its characters; the others try one place.
SEARCHING = {"search", "findall", "finditer", "sub", "subn", "split"}
ANCHORED = {"match", "fullmatch"}
#: Characters tried for a set of characters, and one that keeps a match from succeeding.
TRIED = "a0 A_-.,:;/'\"<>=&%#+\t\nfe1\u00e9\x03\x04\x05\x06\U000f0000\U0010fffd"
SPOILER = "\0"

REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)

Expression = re.Pattern[Any]


def modules() -> Iterator[Any]:
    """Yield all modules of the package that can be imported here."""
    for found in pkgutil.walk_packages(recrawl.__path__, "recrawl."):
        # Compiled kernels have no expressions, and no source.
        spec = find_spec(found.name)
        is_source = spec is not None and str(spec.origin).endswith(".py")
        if is_source and not found.name.endswith("__main__"):
            try:
                yield importlib.import_module(found.name)
            except ImportError as error:
                # An extra is not installed.
                assert not str(error.name).startswith("recrawl")  # noqa: PT017


def compiled_in(value: object) -> Iterator[tuple[Expression, str]]:
    """Yield the expressions in a value of a module, and the method that it is; "" for any."""
    bound = getattr(value, "__self__", None)
    if isinstance(value, re.Pattern):
        yield value, ""
    elif isinstance(bound, re.Pattern):
        yield bound, value.__name__  # type: ignore[attr-defined]
    elif isinstance(value, dict):
        for one in (*value.keys(), *value.values()):
            yield from compiled_in(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from compiled_in(one)


def calls_in(module: Any) -> Iterator[tuple[Expression, str]]:  # noqa: ANN401
    """Yield the expressions that a module calls methods of, or passes to functions of `re`."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or node.attr not in SEARCHING | ANCHORED:
            continue
        if isinstance(node.value, ast.Name):
            value = vars(module).get(node.value.id)
            if isinstance(value, re.Pattern):
                yield value, node.attr
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = node.func.value
        if isinstance(name, ast.Name) and vars(module).get(name.id) is re and node.args:
            # One that is not a constant of its module cannot be found: this fails.
            is_compiled = node.func.attr == "compile"
            source = ast.unparse(node if is_compiled else node.args[0])
            yield re.compile(eval(source, vars(module))), "" if is_compiled else node.func.attr  # noqa: S307


def expressions() -> dict[str, tuple[Expression, bool]]:
    """Return every expression, by module and pattern, and whether it is searched for."""
    methods, where = defaultdict[Expression, set[str]](set), dict[Expression, str]()
    for module in modules():
        values = [pair for value in vars(module).values() for pair in compiled_in(value)]
        for found, method in (*values, *calls_in(module)):
            methods[found].add(method)
            where.setdefault(found, module.__name__)
    return {
        f"{name} {found.pattern!r}": (
            found,
            not max(methods[found]) > "" or bool(methods[found] & SEARCHING),
        )
        for found, name in where.items()
    }


EXPRESSIONS = expressions()


def test_all_expressions_are_found() -> None:
    assert len(EXPRESSIONS) > 80
    assert any("_COMMENT" in name or "<!--" in name for name in EXPRESSIONS)


def accepts(items: Any, character: str) -> bool:  # noqa: ANN401
    """Whether a set of characters, as the parser has it, contains one."""
    is_negated, is_in = False, False
    for op, value in items:
        if op is codes.NEGATE:
            is_negated = True
        elif op is codes.LITERAL:
            is_in |= ord(character) == value
        elif op is codes.NOT_LITERAL:
            is_in |= ord(character) != value
        elif op is codes.RANGE:
            is_in |= value[0] <= ord(character) <= value[1]
        elif op is codes.CATEGORY:
            name = str(value).rpartition("_")[2][0].lower()
            name = name.upper() if "NOT" in str(value) else name
            is_in |= re.fullmatch(rf"\{name}", character) is not None
    return is_in is not is_negated


def sample(tree: Any, tried: str) -> str:  # noqa: ANN401
    """Return a text that a part of an expression accepts, about; the first of some characters."""
    text = ""
    for op, value in tree:
        if op in (codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY):
            items = value if op is codes.IN else [(op, value)]
            wanted = tried + (chr(value) if op is codes.LITERAL else "")
            wanted += "".join(chr(one[0]) for kind, one in items if kind is codes.RANGE)
            wanted += "".join(chr(one) for kind, one in items if kind is codes.LITERAL)
            fits = (one for one in wanted if op is codes.ANY or accepts(items, one))
            text += next(fits, "")
        elif op in REPEATS:
            text += sample(value[2], tried) * max(value[0], 1)
        elif op is codes.SUBPATTERN:
            text += sample(value[3], tried)
        elif op is codes.BRANCH:
            text += sample(value[1][0], tried)
        elif op is codes.ATOMIC_GROUP:
            text += sample(value, tried)
    return text


def repeated(tree: Any, tried: str, before: str = "") -> Iterator[tuple[str, str]]:  # noqa: ANN401
    """Yield what an expression may repeat, and what comes before that."""
    for op, value in tree:
        if op in REPEATS:
            yield before, sample(value[2], tried)
            yield from repeated(value[2], tried, before)
        elif op is codes.SUBPATTERN:
            yield from repeated(value[3], tried, before)
        elif op is codes.BRANCH:
            for branch in value[1]:
                yield before, sample(branch, tried)
                yield from repeated(branch, tried, before)
        elif op is codes.ATOMIC_GROUP:
            yield from repeated(value, tried, before)
        before += sample([(op, value)], tried)


def worst_texts(expression: Expression) -> set[str]:
    """Return long texts that the expression almost matches, in many ways."""
    tree = _parser.parse(expression.pattern, expression.flags & ~re.DEBUG)
    units = set[tuple[str, str]]()
    for tried in (TRIED, TRIED[::-1], "/ <-.", "00"):
        whole = sample(tree, tried)
        units |= {("", whole), ("", whole[:-1]), (whole, whole[-1:])}
        for before, body in repeated(tree, tried):
            units |= {("", body), (before, body), ("", before), ("", before + body)}
    return {
        (before + unit * (SIZE // len(unit)))[:SIZE] + SPOILER for before, unit in units if unit
    }


@pytest.fixture(scope="module")
def process() -> Iterator[list[ParseProcess]]:
    """Return a process that dies of what takes too long, in a list: another may take its place."""
    processes = [ParseProcess(MEMORY)]
    yield processes
    processes[0].forget()


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_takes_linear_time(name: str, process: list[ParseProcess]) -> None:
    expression, is_searched = EXPRESSIONS[name]
    for text in sorted(worst_texts(expression)):
        given = text.encode() if isinstance(expression.pattern, bytes) else text
        if is_searched:
            calls = [pickled(re.sub, (expression, given[:0], given), {})]
        else:
            names = {"expression": expression, "text": given}
            calls = [pickled(eval, ("bool(expression.fullmatch(text))", names), {})]
        answers = list(process[0].ask(calls, SECONDS))
        if not answers:
            process[0].forget()
            process[0] = ParseProcess(MEMORY)
        assert answers, f"{text[:50]!r} ... {text[-5:]!r}"
        assert answers[0][0], answers
