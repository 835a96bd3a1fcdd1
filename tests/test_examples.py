"""Every program in examples/ runs, and prints what stands in the file beside it."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
PROGRAMS = sorted(FOLDER.glob("*.py"))
#: tests/test_spark.py runs it, in a session that other tests share.
ON_SPARK = FOLDER / "spark_job.py"
ALONE = [program for program in PROGRAMS if program != ON_SPARK]


def printed(program: Path) -> str:
    if "import duckdb" in program.read_text(encoding="utf-8"):
        pytest.importorskip("duckdb")
    if "the extra ``serve``" in program.read_text(encoding="utf-8"):
        pytest.importorskip("fastapi")
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", ALONE, ids=lambda program: program.stem)
def test_an_example_prints_what_it_should(program: Path) -> None:
    expected = program.with_suffix(".out").read_text(encoding="utf-8")
    assert printed(program) == expected, "python tests/test_examples.py renews the .out files"


def test_the_notebook_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Run the cells one after another, as a kernel would, and keep what each shows."""
    monkeypatch.chdir(FOLDER)
    cells = json.loads((FOLDER / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    shown = []
    for cell in cells:
        if cell["cell_type"] == "code":
            *lines, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(lines, []), "cell", "exec"), names)  # noqa: S102
            if isinstance(last, ast.Expr):
                shown.append(eval(compile(ast.Expression(last.value), "cell", "eval"), names))  # noqa: S307
            else:
                exec(compile(ast.Module([last], []), "cell", "exec"), names)  # noqa: S102
    assert [type(one).__name__ for one in shown] == ["Estimates", "Plan", "Table"]
    assert "<svg" in shown[0]._repr_html_()
    assert "uniform: " in capsys.readouterr().out


def test_every_example_is_listed() -> None:
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    files = [*PROGRAMS, *FOLDER.glob("*.ipynb")]
    assert [program.name for program in files if f"]({program.name})" not in listed] == []


if __name__ == "__main__":
    for changed in ALONE:
        changed.with_suffix(".out").write_text(printed(changed), encoding="utf-8")
