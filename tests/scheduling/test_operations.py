"""Whatever is done to a frontier, in whatever order, it keeps its promises."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scheduling.operations import KINDS, Session, Step, settings_of_frontiers, steps

from recrawl.scheduling.frontier import Frontier


@settings(max_examples=300)
@given(settings_of_frontiers(), steps)
def test_promises_are_kept(made: dict[str, Any], story: list[Step]) -> None:
    session = Session(made)
    for step in story:
        session.do(step)
        session.check_lists()
    session.ask(session.now + 1.0)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(settings_of_frontiers(), steps, steps)
def test_saved_and_loaded_it_goes_on_as_if_nothing_had_been(
    tmp_path: Path, made: dict[str, Any], before: list[Step], after: list[Step]
) -> None:
    sessions = Session(made), Session(made)
    for session in sessions:
        for step in before:
            session.do(step)
        session.frontier.save(tmp_path / "frontier")
    sessions[1].frontier = Frontier.load(tmp_path / "frontier")
    for step in [*after, ("take", 3, 0.3), ("ask", 0, 0.0), ("take", 3, 1.0)]:
        taken = [session.do(step) for session in sessions]
        assert taken[0] == taken[1]
        sessions[1].check_lists()
    now, page = sessions[0].now, sorted(sessions[0].host)
    one, two = (session.frontier for session in sessions)
    assert one.expected_freshness(now) == two.expected_freshness(now)
    assert one.due(page).tolist() == two.due(page).tolist()


@settings(max_examples=30)
@given(settings_of_frontiers(), steps)
def test_asking_changes_nothing(made: dict[str, Any], story: list[Step]) -> None:
    asked, left_alone = Session(made), Session(made)
    for step in story:
        asked.ask(asked.now)
        assert asked.do(step) == left_alone.do(step)


@settings(max_examples=30)
@given(settings_of_frontiers(), steps, st.sampled_from([-1e4, 2e4, 1e6]))
def test_the_origin_of_time_hardly_matters(
    made: dict[str, Any], story: list[Step], origin: float
) -> None:
    session = Session(made, origin)
    for step in story:
        session.do(step)
        session.check_lists()
    session.ask(session.now)


@pytest.mark.parametrize("seed", range(3))
def test_long_stories_are_told_to_the_end(seed: int) -> None:
    rng = np.random.default_rng(seed)
    session = Session(
        {"budget": 40.0, "host_delay": 0.01, "host_budget": 20.0, "catch_up": 0.25, "slack": 1.0}
    )
    for _ in range(3_000):
        session.do((str(rng.choice(KINDS)), int(rng.integers(2**16)), float(rng.exponential(0.05))))
    session.check_lists()
    session.ask(session.now)
