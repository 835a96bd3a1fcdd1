"""A plugin for pytest that notes which test runs and which fails, and limits the CPU time."""

import os
import resource
from pathlib import Path

import pytest

NOTES, MAX_CPU = "RECRAWL_TRIAL", "RECRAWL_TRIAL_CPU"


def pytest_configure() -> None:
    """Limit the CPU seconds of this process, and of each that it starts."""
    seconds = int(os.environ[MAX_CPU])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def pytest_runtest_logstart(nodeid: str) -> None:
    """Note which test runs."""
    _note("runs", nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note which test failed."""
    if report.failed:
        _note("failed", report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note which file cannot be imported."""
    if report.failed:
        _note("failed", report.nodeid)


def _note(kind: str, what: str) -> None:
    with Path(os.environ[NOTES]).open("a") as notes:
        notes.write(f"{kind}\t{what}\n")
