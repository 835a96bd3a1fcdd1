"""The numbers behind charts and differences, against plain versions of them."""

import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the service needs recrawl[serve]")
pytest.importorskip("jinja2", reason="the service needs recrawl[serve]")

from crawler.believing import belief, rates
from hypothesis import given
from hypothesis import strategies as st
from service.dashboard_site import EVIL, NEWS, browsing
from service.served import served, settings_in
from virtual_time import run

from recrawl.content.html.text_diff import diff_lines
from recrawl.inspect.explain import explain
from recrawl.records import MICROSECONDS_A_DAY, NO_TIME, Outcome, Page, State
from recrawl.service import planning
from recrawl.service.dashboard import page as page_module
from recrawl.service.dashboard.charts import rate_bars, timeline
from recrawl.service.dashboard.hosts import host_freshness
from recrawl.service.pages.index import MIN_AGE, PageIndex
from recrawl.store.listing import PageColumns
from recrawl.store.rows import LoggedVisit, NewPage
from recrawl.store.sqlite import SqliteStore

NOW = 1_800_000_000_000_000


def columns(*, pages: int = 60, seed: int = 1) -> PageColumns:
    """Return pages of three hosts; some have no copy, some are gone."""
    rng = np.random.default_rng(seed)
    shape, time = rng.uniform(0.5, 5.0, pages), rng.uniform(0.1, 30.0, pages)
    last = NOW - np.round(rng.exponential(2.0, pages) * MICROSECONDS_A_DAY).astype(np.int64)
    new = rng.random(pages) < 0.2
    counts = np.zeros(pages, np.int64)
    return PageColumns(
        number=np.arange(pages),
        host=rng.integers(0, 3, pages),
        state=rng.choice([State.ALIVE, State.MISSING, State.GONE], pages, p=[0.7, 0.2, 0.1]),
        last_visit=np.where(new, NO_TIME, last),
        failures=counts,
        visits=counts,
        changes=counts,
        retry_at=np.full(pages, NO_TIME),
        importance=rng.uniform(0.0, 3.0, pages),
        shape=np.where(new, np.nan, shape),
        time=np.where(new, np.nan, time),
        hosts={0: "a.example", 1: "b.example", 2: "c.example", 3: "d.example"},
        rates=rates(*zip(shape.tolist(), time.tolist(), strict=True))
        if pages
        else rates((1.0, 1.0)).of(np.empty(0, np.int64)),
    )


@given(st.floats(1e-3, 1e5), st.floats(0.5, 50.0))
def test_straight_lines_between_points_are_near_the_chance_that_a_copy_is_stale(
    rate: float, shape: float
) -> None:
    gap = 600_000_000
    visits = [
        LoggedVisit(at, Outcome.CHANGED, None, 200, None, None, 0, 0, 1, False, None, None, None)  # noqa: FBT003
        for at in (NOW, NOW - gap)
    ]
    known = belief(shape, shape / rate)
    page = Page(1, NEWS, "a.example", last_visit=NOW)
    drawn = timeline(explain(page, known, None, NOW), known.rates, visits)
    after = np.linspace(0.0, gap / MICROSECONDS_A_DAY, 500)
    exact = 100 - 100 * known.rates.of(np.zeros(500, np.int64)).fresh(after)
    seconds = (NOW - gap) / 1e6 + after[:-1] * 86_400.0
    # A chord over [t, 1.59·t] is off by (0.59·t)²/8·|f''(t)|: of 1 − e^(−t), at most 2.4 %.
    assert np.abs(np.interp(seconds, drawn["x"], drawn["stale"]) - exact[:-1])[1:].max() < 3.0


def test_the_freshness_of_hosts_is_that_of_their_pages() -> None:
    known = columns()
    names = ["a.example", "c.example", "d.example"]
    found = host_freshness(known, names, NOW)
    assert set(found) == {"a.example", "c.example"}
    for number, name in known.hosts.items():
        total = fresh = 0.0
        for row in np.flatnonzero(known.host == number).tolist():
            if known.state[row] == State.GONE:
                continue
            total += known.importance[row]
            if known.last_visit[row] != NO_TIME:
                days = (NOW - int(known.last_visit[row])) / MICROSECONDS_A_DAY
                (survival,) = known.rates.of(np.array([row])).fresh(np.array([days]))
                fresh += known.importance[row] * survival
        if name in found:
            assert found[name] == pytest.approx(fresh / total)


def test_every_page_is_in_one_bar() -> None:
    known = columns(pages=500)
    bars = rate_bars(known)
    assert bars is not None
    counted = [number for number in bars["pages"] if number is not None]
    is_drawn = ~np.isnan(known.shape) & (known.state != State.GONE)
    drawn = known.rate[is_drawn]
    assert sum(counted) == drawn.size
    assert len(bars["x"]) == len(counted) + 1 == len(bars["names"]) + 1
    for low, high, number in zip(bars["x"], bars["x"][1:], counted, strict=False):
        # The ends are rounded to six digits, which no rate is that close to.
        assert np.count_nonzero((drawn >= low) & (drawn < high)) == number
    assert rate_bars(None) is None
    assert rate_bars(columns(pages=0)) is None


LINES = st.lists(st.sampled_from(["a", "b", "c", "a word", "a longer line", ""]), max_size=12)


@given(before=LINES, after=LINES)
def test_a_difference_leads_from_one_text_to_the_other(before: list[str], after: list[str]) -> None:
    lines = diff_lines(before, after)
    if before == after:
        assert lines == []
        return
    olds = [line.text for line in lines if line.kind in ("same", "old")]
    news = [line.text for line in lines if line.kind in ("same", "new")]
    if not any(line.kind == "skip" for line in lines):
        # What is not shown, before and after, is the same in both.
        start = next(
            (at for at in range(len(before) + 1) if before[at : at + len(olds)] == olds), None
        )
        assert start is not None
        assert any(after[at : at + len(news)] == news for at in range(len(after) + 1))
    assert {line.kind for line in lines} & {"old", "new"}


def test_copies_that_are_too_long_are_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        async with browsing(tmp_path) as browser:
            assert "Hello there." in await browser.show(f"/page?url={NEWS}")
            for limit in ("MAX_BYTES", "MAX_COMPARED"):
                with monkeypatch.context() as patch:
                    patch.setattr(page_module, limit, 1)
                    page = await browser.show(f"/page?url={NEWS}")
                    assert "too long to compare" in page
                    assert EVIL not in page

    run(main())


def test_a_sample_of_pages_stands_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        urls = [f"https://h{number}.example/" for number in range(200)]
        async with served(settings_in(tmp_path, budget="100/day"), urls) as on:
            budgets = [10.0, 100.0, 1_000.0]
            whole = await on.service.plan(budgets)
            monkeypatch.setattr(planning, "MAX_PLANNED", 40)
            # Nothing is known of any page, so that all are alike.
            assert await on.service.plan(budgets) == pytest.approx(whole, rel=1e-6)

    run(main())


def test_columns_are_read_again_when_they_are_old_and_that_is_cheap(tmp_path: Path) -> None:
    now = [100.0]
    with SqliteStore.open(tmp_path / "recrawl.db", create=True) as store:
        index = PageIndex(str(tmp_path / "recrawl.db"), now=lambda: now[0])
        assert index.age == math.inf
        assert index.columns(store).number.size == 0
        store.add([NewPage("https://a.example/", "a.example")], at=0)
        now[0] += MIN_AGE / 2
        assert index.columns(store).number.size == 0
        assert index.age == MIN_AGE / 2
        now[0] += MIN_AGE
        assert index.columns(store).number.size == 1
        assert index.age == 0.0
