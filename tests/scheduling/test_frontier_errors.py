"""What cannot be used is refused, naming the argument, and leaves the frontier as it was."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scheduling.plain import tables_of

from recrawl.errors import ArgumentError
from recrawl.estimation.belief import Prior
from recrawl.scheduling.frontier import Frontier

NO_PAGES: list[Any] = [0.0, [0.0, 1.0], [-1], [2**31], [0, 0], [[0, 1]], ["a"], [True], [None]]
NO_TIMES = [math.nan, math.inf, -math.inf]
NO_COUNTS = [-1, 2.5, math.nan, math.inf]


def begun() -> Frontier:
    frontier = Frontier(10.0)
    frontier.add(range(5), now=0.0, host=[0, 0, 1, 1, 2], last_visit=0.0)
    return frontier


def refused(argument: str, use: Callable[[Frontier], object]) -> None:
    """Expect one sentence that begins with the argument, and nothing else to have happened."""
    frontier = begun()
    before = [part.tobytes() for part in tables_of(frontier)]
    with pytest.raises(ArgumentError, match=f"^{argument}: ") as caught:
        use(frontier)
    assert "\n" not in str(caught.value)
    assert [part.tobytes() for part in tables_of(frontier)] == before
    assert frontier.take(1.0, 10).tolist() == begun().take(1.0, 10).tolist()


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("argument", ["budget", "half_life", "host_budget", "catch_up"])
def test_settings_are_above_0(argument: str, bad: float) -> None:
    settings: dict[str, Any] = {"budget": 10.0} | {argument: bad}
    with pytest.raises(ArgumentError, match=f"^{argument}: "):
        Frontier(**settings)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_a_delay_is_not_negative(bad: float) -> None:
    with pytest.raises(ArgumentError, match=r"^host_delay: "):
        Frontier(10.0, host_delay=bad)
    refused("delay", lambda frontier: frontier.limit_host(0, delay=bad))


TAKES_PAGES: list[Callable[[Frontier, Any], object]] = [
    lambda frontier, page: frontier.remove(page),
    lambda frontier, page: frontier.set_importance(page, 1.0),
    lambda frontier, page: frontier.report(page, 1.0, changed=False),
    lambda frontier, page: frontier.evidence(page, 1.0, 0.5),
    lambda frontier, page: frontier.chance_fresh(page, 1.0),
    lambda frontier, page: frontier.due(page),
    lambda frontier, page: frontier.belief(page),
]


@pytest.mark.parametrize("use", [*TAKES_PAGES, lambda frontier, page: frontier.add(page, now=0.0)])
@pytest.mark.parametrize("bad", NO_PAGES)
def test_pages_are_numbers_none_twice(use: Callable[[Frontier, Any], object], bad: Any) -> None:  # noqa: ANN401
    refused("page", lambda frontier: use(frontier, bad))


@pytest.mark.parametrize("use", TAKES_PAGES)
@pytest.mark.parametrize("bad", [[5], [0, 999], 7])
def test_pages_are_known(use: Callable[[Frontier, Any], object], bad: Any) -> None:  # noqa: ANN401
    refused("page", lambda frontier: use(frontier, bad))


@pytest.mark.parametrize("use", TAKES_PAGES)
def test_pages_that_were_removed_are_not_known(use: Callable[[Frontier, Any], object]) -> None:
    frontier = begun()
    frontier.remove([3])
    with pytest.raises(ArgumentError, match=r"^page: 3 is not in the frontier; add it first"):
        use(frontier, [2, 3])
    with pytest.raises(ArgumentError, match=r"^page: 0 is not in the frontier"):
        use(Frontier(1.0), [0])


def test_a_page_is_added_once() -> None:
    refused("page", lambda frontier: frontier.add([7, 3], now=0.0))


TAKES_TIME: list[Callable[[Frontier, float], object]] = [
    lambda frontier, now: frontier.add([9], now=now),
    lambda frontier, now: frontier.take(now, 3),
    lambda frontier, now: frontier.report([0], now, changed=False),
    lambda frontier, now: frontier.signal([0], now),
    lambda frontier, now: frontier.evidence([0], now, 0.5),
    lambda frontier, now: frontier.expected_freshness(now),
]


@pytest.mark.parametrize("use", TAKES_TIME)
@pytest.mark.parametrize("bad", NO_TIMES)
def test_the_present_is_a_time(use: Callable[[Frontier, float], object], bad: float) -> None:
    refused("now", lambda frontier: use(frontier, bad))


@pytest.mark.parametrize("bad", NO_COUNTS)
def test_a_limit_is_a_whole_number(bad: Any) -> None:  # noqa: ANN401
    refused("limit", lambda frontier: frontier.take(0.0, bad))


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, [1.0], [1.0, math.nan], [1, 2, 3], "a"])
def test_importance_is_not_negative_and_one_a_page(bad: Any) -> None:  # noqa: ANN401
    if bad != [1.0]:
        refused("importance", lambda frontier: frontier.add([8, 9], now=0.0, importance=bad))
        refused("importance", lambda frontier: frontier.set_importance([0, 1], bad))
    else:
        begun().set_importance([0, 1], bad)


@pytest.mark.parametrize("bad", [[-1, 0], [0.0, 1.0], [0, 1, 2], [[0, 1]], 2**31])
@pytest.mark.parametrize("argument", ["host", "section"])
def test_hosts_and_sections_are_numbers_one_a_page(argument: str, bad: Any) -> None:  # noqa: ANN401
    columns = {argument: bad}
    refused(argument, lambda frontier: frontier.add([8, 9], now=0.0, **columns))


@pytest.mark.parametrize(("host", "section"), [([0, 1], [7, 7]), ([2, 2], [2, 1])])
def test_a_section_is_on_one_host(host: list[int], section: list[int]) -> None:
    refused("section", lambda frontier: frontier.add([8, 9], now=0.0, host=host, section=section))


@pytest.mark.parametrize("bad", [math.nan, math.inf, [0.0, 0.1], [0.0, 0.0, 0.0], "a"])
def test_a_last_visit_is_before_now(bad: Any) -> None:  # noqa: ANN401
    refused("last_visit", lambda frontier: frontier.add([8, 9], now=0.0, last_visit=bad))


@pytest.mark.parametrize("bad", [0.5, math.nan, 2, [True, False, True], "yes", None])
@pytest.mark.parametrize("argument", ["changed", "failed"])
def test_outcomes_are_true_or_false_one_a_page(argument: str, bad: Any) -> None:  # noqa: ANN401
    columns: dict[str, Any] = {"changed": False} | {argument: bad}
    refused(argument, lambda frontier: frontier.report([0, 1], 0.0, **columns))


@pytest.mark.parametrize("bad", [[1.0, 2.0, 3.0], "old"])
def test_ages_are_one_a_page(bad: Any) -> None:  # noqa: ANN401
    refused("age", lambda frontier: frontier.report([0, 1], 0.0, changed=False, age=bad))


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, [0.5, 0.5, 0.5], "a"])
def test_what_evidence_leaves_is_a_share(bad: Any) -> None:  # noqa: ANN401
    refused("keep", lambda frontier: frontier.evidence([0, 1], 0.0, bad))


def test_signals_are_of_known_kinds_and_about_known_pages() -> None:
    refused("kind", lambda frontier: frontier.signal([0], 0.0, "rumour"))
    refused("page", lambda frontier: frontier.signal([0, 99], 0.0))
    refused("page", lambda frontier: frontier.signal([0.5], 0.0))


@pytest.mark.parametrize("bad", [-1, 3, [0, 5], 0.0, [[0]], "a"])
def test_hosts_have_pages(bad: Any) -> None:  # noqa: ANN401
    refused("host", lambda frontier: frontier.defer(bad, 1.0))
    refused("host", lambda frontier: frontier.limit_host(bad, delay=1.0))


@pytest.mark.parametrize("bad", [math.nan, math.inf, [1.0, 2.0, 3.0], "a"])
def test_hosts_are_deferred_until_a_time(bad: Any) -> None:  # noqa: ANN401
    refused("until", lambda frontier: frontier.defer([0, 1], bad))
    refused("until", lambda frontier: frontier.postpone([0, 1], bad))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_a_hosts_budget_is_above_0(bad: float) -> None:
    refused("budget", lambda frontier: frontier.limit_host(0, budget=bad))


def test_of_two_limits_none_is_set_when_one_is_wrong() -> None:
    refused("budget", lambda frontier: frontier.limit_host(0, delay=5.0, budget=-1.0))


def test_a_prior_for_other_pages_is_refused_and_nothing_is_added() -> None:
    frontiers = [Frontier(10.0, prior=Prior(np.array([1.0, 2.0]), 3.0)) for _ in range(2)]
    for frontier in frontiers:
        frontier.add([0, 1], now=0.0, last_visit=0.0)
    with pytest.raises(ArgumentError, match=r"^prior: has 2 elements for 3 pages"):
        frontiers[0].add([2, 3, 4], now=0.0)
    for frontier in frontiers:
        frontier.add([5, 6], now=0.0, last_visit=0.0)
    assert frontiers[0].take(1.0, 9).tolist() == frontiers[1].take(1.0, 9).tolist()
    assert frontiers[0].due([0, 5]).tolist() == frontiers[1].due([0, 5]).tolist()


def test_nothing_is_something_that_can_be_done() -> None:
    frontier = begun()
    frontier.add([], now=0.0)
    frontier.remove([])
    frontier.report([], 0.1, [])
    frontier.signal(np.empty(0, np.int64), 0.1)
    frontier.evidence([], 0.1, [])
    frontier.set_importance([], [])
    frontier.defer([], [])
    frontier.postpone([], [])
    assert frontier.due([]).size == 0
    assert frontier.take(0.1, 0).size == 0


@pytest.mark.parametrize("argument", ["budget", "half_life", "host_budget", "catch_up"])
@pytest.mark.parametrize("bad", [1e-57, 1e25])
def test_settings_beyond_single_precision_are_refused(argument: str, bad: float) -> None:
    """A budget of 1e-57 visits per day once gave an expected freshness of NaN."""
    settings: dict[str, Any] = {"budget": 10.0} | {argument: bad}
    with pytest.raises(ArgumentError, match=rf"^{argument}: .*1e-24 to 1e\+24"):
        Frontier(**settings)


@pytest.mark.parametrize("bad", [Prior(1e25, 1.0), Prior(1.0, 1e-37), Prior([1.0, 1.0], [1, 1e37])])
@pytest.mark.parametrize("argument", ["prior", "belief"])
def test_beliefs_beyond_single_precision_are_refused(argument: str, bad: Prior) -> None:
    columns: dict[str, Any] = {argument: bad}
    refused(argument, lambda frontier: frontier.add([8, 9], now=0.0, **columns))


@pytest.mark.parametrize("budget", [1e-24, 1e-12, 1e12])
def test_the_ends_of_what_is_accepted_give_numbers(budget: float) -> None:
    frontier = Frontier(budget, half_life=1e-24)
    frontier.add(range(5), now=5.0, host=[0, 0, 1, 1, 2])
    frontier.add([7], now=5.0, last_visit=-1.0, belief=Prior(1e24, 1e-36))
    frontier.settle(100.0)
    for now in (101.0, 102.0, 103.0):
        frontier.report([7, 3], now, changed=now > 101.0)
        frontier.take(now, 3)
        assert 0.0 <= frontier.expected_freshness(now) <= 1.0
    assert np.isfinite(frontier.price)


@pytest.mark.parametrize("argument", ["page", "host", "section"])
def test_a_table_that_does_not_fit_into_memory_is_refused(
    argument: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = np.zeros

    def zeros(size: int, dtype: Any = np.float64) -> Any:  # noqa: ANN401
        if size > 1_000_000:
            raise MemoryError
        return plain(size, dtype)

    columns: dict[str, Any] = {"page": 9, "host": 0, "section": 0} | {argument: 1_767_225_600}
    if argument == "host":
        columns["section"] = 3
    monkeypatch.setattr(np, "zeros", zeros)
    refused(argument, lambda frontier: frontier.add(**columns, now=0.0))
