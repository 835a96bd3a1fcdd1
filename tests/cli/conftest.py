"""What all tests of the program share."""

import threading

import pytest

from recrawl.cli.render import progress


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine anything may take long, and that is not what these tests are about."""
    monkeypatch.setattr(progress, "PATIENCE", threading.TIMEOUT_MAX)
