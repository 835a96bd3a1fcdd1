"""A plugin for pytest that notes which functions of the package each test calls.

What a fixture of many tests calls is noted for the fixture, and which tests use it.
"""

import os
import time
from collections.abc import Generator
from typing import Any

import pytest

from tools.reaching import WHO, note, note_for, start


def pytest_configure() -> None:
    """Begin to note."""
    start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Note what a test calls, which fixtures it uses, and how long it takes."""
    note_for(item.nodeid)
    known = getattr(item, "_fixtureinfo", None)
    for definitions in known.name2fixturedefs.values() if known else ():
        if definitions[-1].scope != "function":
            note("uses", item.nodeid, _name(definitions[-1]))
    cpu, wall = _cpu(), time.perf_counter()
    outcome = yield
    note("takes", item.nodeid, f"{_cpu() - cpu:.3f} {time.perf_counter() - wall:.3f}")
    note_for(None)
    return outcome


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: Any) -> Generator[None, Any, Any]:  # noqa: ANN401
    """Note what a fixture calls, for itself if many tests use it."""
    before = os.environ.get(WHO)
    is_shared = fixturedef.scope != "function"
    if is_shared:
        note_for(_name(fixturedef))
    try:
        return (yield)
    finally:
        if is_shared:
            note_for(before)


def _name(fixture: Any) -> str:  # noqa: ANN401
    return f"{fixture.baseid}::{fixture.argname}"


def _cpu() -> float:
    """Return the CPU seconds of this process and of those that it started and that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
