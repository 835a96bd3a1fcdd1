"""What `make mutants` goes by: which functions tests call, and which files they import."""

import ast
import contextlib
from pathlib import Path

from tools.faults import Mutant
from tools.reaching import PROBE, with_probes
from tools.selection import imports, near_and_other

SOURCE = b'''
def plain():
    """Say something."""
    return 1


class Some:
    @property
    def decorated(self):
        async def inner():
            return 2
        return inner
'''


def test_every_function_says_first_that_it_was_reached_and_keeps_its_docstring() -> None:
    reached: list[str] = []
    names: dict[str, object] = {PROBE: reached.append}
    exec(compile(with_probes(SOURCE, "some.py"), "some.py", "exec"), names)  # noqa: S102
    plain, some = names["plain"], names["Some"]
    assert callable(plain)
    assert callable(some)
    assert (plain.__doc__, plain()) == ("Say something.", 1)
    inner = some().decorated
    assert reached == ["some.py:2", "some.py:8"]
    with contextlib.suppress(StopIteration):
        inner().send(None)
    assert reached == ["some.py:2", "some.py:8", "some.py:10"]


def test_probes_change_no_line_numbers() -> None:
    before, after = ast.parse(SOURCE), with_probes(SOURCE, "some.py")
    returns = [
        [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Return)]
        for tree in (before, after)
    ]
    assert returns[0] == returns[1]


def test_imports_are_followed_through_public_names() -> None:
    found = imports(Path("tests/estimation/test_checks.py"))
    assert Path("src/recrawl/estimation/mle.py") in found
    mutant = Mutant(Path("src/recrawl/estimation/mle.py"), 1, 0, 1, "", in_kernel=True)
    near, others = near_and_other(mutant)
    assert "tests/estimation/test_against_reference.py" in near
    assert "tests/estimation/test_octaves.py" in others
