"""What every refusal looks like: one sentence, exit code 2, no output and no trace."""

from pathlib import Path

from typer.testing import CliRunner

from recrawl.cli.app import app


def refused(*arguments: str, given: str | bytes | None = None) -> str:
    """Run the program, check that it fails as it should, and give its sentence."""
    result = CliRunner().invoke(app, arguments, input=given)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("recrawl: ")
    assert result.stderr.endswith("\n")
    assert result.stderr.count("\n") == 1, result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr.removeprefix("recrawl: ").rstrip("\n")


def left_alone(folder: Path, *arguments: str) -> str:
    """Give the sentence of a refusal that leaves a folder as it was."""
    before = {path: path.read_bytes() for path in folder.iterdir()}
    sentence = refused(*arguments)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    return sentence
