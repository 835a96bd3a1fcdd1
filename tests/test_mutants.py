"""What `make mutants` goes by: which functions tests call, and which files they import."""

import ast
import contextlib
from pathlib import Path

import pytest

from tools import faults, selection, trial
from tools.faults import ROOT, Mutant
from tools.reaching import PROBE, with_probes
from tools.selection import Reached, imports, near_and_other

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


def test_cases_that_are_named_by_a_wrong_number_are_run_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "tools").symlink_to(ROOT / "tools")
    case = (
        "import pytest\n\n\n@pytest.mark.parametrize('n', [2])\ndef test_n(n):\n    assert n == 1\n"
    )
    (tmp_path / "test_it.py").write_text(case, "utf-8")
    found = trial.Tests(["test_it.py::test_n[1]"], cpu=60.0, wait=60.0).run(tmp_path)
    assert found == trial.Failure("test_it.py::test_n[2]", was_given_up=False)


def test_a_constant_is_tried_by_the_tests_that_import_it_too() -> None:
    path = Path("src/recrawl/notify/delivery.py")
    lines = (ROOT / path).read_text("utf-8").splitlines()
    looks, calls = "tests/crawler/test_webhooks.py::looks", "tests/crawler/test_loop.py::calls"
    called = 1 + next(number for number, line in enumerate(lines) if line.startswith("    def "))
    reached = {
        "tests/crawler/test_webhooks.py": Reached("", {looks: 1.0}, {looks: []}),
        "tests/crawler/test_loop.py": Reached("", {calls: 2.0}, {calls: [f"{path}:{called}"]}),
    }
    constant = 1 + next(number for number, line in enumerate(lines) if line.startswith("POLL"))
    for line, expected in ((constant, [looks, calls]), (called, [calls])):
        fault = Mutant(path, line, 0, 1, "", in_kernel=False)
        assert selection.tests_calling(fault, reached) == expected


WITHOUT_FAULTS = """
def plain(some, others):
    LOGGER.warning("%d of %d", len(some) + 1, 7)
    prefetch(some, others)
    for one, other in zip(some, others, strict=True):
        logger.setLevel(one)
        dialog(other)
"""


def test_faults_that_change_nothing_are_not_planted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "ROOT", tmp_path)
    (tmp_path / "some.py").write_text(WITHOUT_FAULTS)
    found = faults.mutants_of(Path("some.py"))
    assert [(mutant.line, mutant.instead) for mutant in found] == [(6, "pass"), (7, "pass")]


def test_none_is_planted_where_kernels_are_only_warmed_up() -> None:
    path, name = "src/recrawl/engine/frontier.py", "warm_up"
    assert {(path, name)} == faults.WARM_UPS
    tree = ast.parse((ROOT / path).read_bytes())
    (node,) = (one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == name)
    lines = {mutant.line for mutant in faults.mutants_of(Path(path))}
    assert lines
    assert lines.isdisjoint(range(node.lineno, (node.end_lineno or 0) + 1))
