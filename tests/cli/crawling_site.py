"""The program run in a folder of its own, as a new user would."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from recrawl.cli.app import app


def run(*arguments: str, given: str | None = None) -> Result:
    """Run the program and see that it succeeds."""
    result = CliRunner().invoke(app, arguments, input=given)
    assert result.exit_code == 0, result.output
    return result


def move_to(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder without settings from outside."""
    monkeypatch.chdir(folder)
    for name in [name for name in os.environ if name.startswith("RECRAWL_")]:
        monkeypatch.delenv(name)
