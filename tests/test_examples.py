"""Every program in examples/ runs, and prints what stands in the file beside it."""

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
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", ALONE, ids=lambda program: program.stem)
def test_an_example_prints_what_it_should(program: Path) -> None:
    expected = program.with_suffix(".out").read_text(encoding="utf-8")
    assert printed(program) == expected, "python tests/test_examples.py renews the .out files"


def test_every_example_is_listed() -> None:
    listed = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [program.name for program in PROGRAMS if f"]({program.name})" not in listed] == []


if __name__ == "__main__":
    for changed in ALONE:
        changed.with_suffix(".out").write_text(printed(changed), encoding="utf-8")
