"""What visits teach, and which dates of servers are believed."""

import asyncio
import logging
import math
from dataclasses import dataclass, replace

import pytest
from crawler.fakes import MemoryStore, VirtualExecutor, settings_of

from recrawl.clock import Clock
from recrawl.crawler.build import load
from recrawl.engine.frontier import CrawlFrontier
from recrawl.engine.record import JUST_NOW, Recorder, credible_age
from recrawl.engine.retries import MISSING_PAUSE, pause_after
from recrawl.http.memory_budget import SMALL, MemoryBudget
from recrawl.records import Outcome, Page, Response, State, Visit
from recrawl.store.rows import Spent
from recrawl.store.thread import StoreThread

URL = "https://a.example/"
DAY = 86_400_000_000
NOW = 10 * DAY
PAGE = Page(0, URL, "a.example")
LONG = SMALL + 1


def changed(modified: int | None, previous: int | None = 2 * DAY) -> Visit:
    response = Response(URL, 200, NOW)
    return Visit(PAGE, Outcome.CHANGED, response, previous=previous, last_modified=modified)


def test_a_date_of_just_now_is_not_believed() -> None:
    """Pages made on the fly are always "modified just now", which says nothing."""
    just_now = round(JUST_NOW * 1e6)
    assert math.isnan(credible_age(changed(NOW - just_now + 1)))
    assert math.isnan(credible_age(changed(NOW)))
    assert math.isnan(credible_age(changed(NOW + DAY)))
    assert credible_age(changed(NOW - just_now)) == just_now / DAY


@pytest.mark.parametrize(("speed", "is_believed"), [(1.0, True), (3_600.0, False)])
def test_what_was_just_now_follows_the_clock_of_the_crawl(speed: float, is_believed: bool) -> None:
    """By a clock that runs fast, the two seconds that dates are rounded to are hours."""

    def time_of_belief(modified: int | None) -> float:
        recording = Recording.of(MemoryStore(URL), speed)
        recording.learn(first())
        later = Response(URL, 200, NOW + DAY)
        found = first(outcome=Outcome.CHANGED, previous=NOW, response=later, last_modified=modified)
        (learned,) = recording.learn(found)
        assert learned.belief is not None
        return learned.belief[1]

    an_hour_ago = NOW + DAY - DAY // 24
    assert (time_of_belief(an_hour_ago) != time_of_belief(None)) is is_believed


def test_a_date_that_contradicts_what_was_found_is_not_believed() -> None:
    assert credible_age(changed(7 * DAY)) == 3.0
    assert math.isnan(credible_age(changed(1 * DAY)))
    unchanged = replace(changed(1 * DAY), outcome=Outcome.UNCHANGED)
    assert credible_age(unchanged) == 9.0
    assert math.isnan(credible_age(replace(unchanged, last_modified=7 * DAY)))


def test_without_a_date_or_a_visit_before_there_is_no_age() -> None:
    assert math.isnan(credible_age(changed(None)))
    assert math.isnan(credible_age(changed(7 * DAY, previous=None)))


def recorder_of(store: MemoryStore, memory: MemoryBudget | None = None) -> Recorder:
    return Recording.of(store, memory=memory or MemoryBudget()).recorder


@dataclass
class Recording:
    """A frontier, and what records the visits to its pages."""

    frontier: CrawlFrontier
    recorder: Recorder

    @classmethod
    def of(
        cls,
        store: MemoryStore,
        speed: float = 1.0,
        memory: MemoryBudget | None = None,
        **settings: str,
    ) -> "Recording":
        frontier = load(store, settings_of(**settings), NOW)
        thread = StoreThread(store, VirtualExecutor({}))
        passing = Clock(speed).passing
        recorder = Recorder(frontier, thread, memory or MemoryBudget(), passing=passing)
        return cls(frontier, recorder)

    def learn(self, *visits: Visit) -> list[Visit]:
        """Learn from visits to pages that are out."""
        self.frontier.hold(visit.page.number for visit in visits)
        return self.recorder.learn(visits)


def first(**changed: object) -> Visit:
    visit = Visit(replace(PAGE, last_visit=NOW, visits=1), Outcome.FIRST, Response(URL, 200, NOW))
    return replace(visit, **changed)  # type: ignore[arg-type]


def test_visits_are_returned_with_the_belief_they_lead_to() -> None:
    recording = Recording.of(MemoryStore(URL))
    (learned,) = recording.learn(first())
    assert learned.belief is not None
    before = learned.belief[0] / learned.belief[1]
    later = first(
        outcome=Outcome.UNCHANGED, previous=NOW, response=Response(URL, 200, NOW + 5 * DAY)
    )
    (learned,) = recording.learn(later)
    assert learned.belief is not None
    assert learned.belief[0] / learned.belief[1] < min(0.01 * before, 0.5)


def test_a_credible_date_teaches_more_than_the_outcome() -> None:
    def rate(modified: int | None) -> float:
        recording = Recording.of(MemoryStore(URL))
        recording.learn(first())
        response = Response(URL, 200, NOW + 5 * DAY)
        visit = first(
            outcome=Outcome.CHANGED, previous=NOW, response=response, last_modified=modified
        )
        (learned,) = recording.learn(visit)
        assert learned.belief is not None
        return learned.belief[0] / learned.belief[1]

    assert rate(NOW + 1 * DAY) < rate(NOW + 4 * DAY)
    assert rate(NOW + 5 * DAY - 1) == rate(None)


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.GONE])
def test_failures_teach_nothing(outcome: Outcome) -> None:
    recording = Recording.of(MemoryStore(URL))
    (before,) = recording.learn(first())
    (after,) = recording.learn(first(outcome=outcome))
    assert before.belief == after.belief


def test_a_page_that_is_gone_leaves_the_frontier() -> None:
    recording = Recording.of(MemoryStore(URL, f"{URL}b"))
    recording.learn(first(page=replace(PAGE, state=State.MISSING), outcome=Outcome.GONE))
    assert 0 in recording.frontier
    recording.learn(first(page=replace(PAGE, state=State.GONE), outcome=Outcome.GONE))
    assert 0 not in recording.frontier
    assert 1 in recording.frontier


@pytest.mark.parametrize(("state", "is_next"), [(State.MISSING, True), (State.ALIVE, False)])
def test_a_missing_page_is_asked_for_again_after_its_pause_however_little_it_is_worth(
    state: State, is_next: bool
) -> None:
    urls = [f"{URL}{number}" for number in range(9)]
    store = MemoryStore(*urls)
    store.set_importance(urls[0], 1e-9)
    recording = Recording.of(store)
    pages = [replace(PAGE, number=number, url=url) for number, url in enumerate(urls)]
    recording.learn(*(first(page=page) for page in pages))
    at = NOW + DAY
    missing = replace(pages[0], state=state, missing_since=at)
    recording.learn(first(page=missing, outcome=Outcome.GONE, response=Response(URL, 404, at)))
    pause = pause_after(first(page=missing, outcome=Outcome.GONE), DAY)
    due = float(recording.frontier.frontier.due([0])[0]) * DAY
    assert (at <= due <= at + 2 * max(pause, MISSING_PAUSE)) == is_next


@pytest.mark.parametrize(("requests", "taken"), [(0, 4), (1, 3), (3, 1)])
def test_what_a_visit_cost_more_or_less_than_one_request_is_settled(
    requests: int, taken: int
) -> None:
    store = MemoryStore(*(f"{URL}{number}" for number in range(9)))
    recording = Recording.of(store, first_fill="budget")
    recording.frontier.frontier.spend(-2)
    recording.learn(first(response=Response(URL, 200, NOW, requests=requests)))
    assert len(recording.frontier.take(NOW, 9)) == taken


def test_bodies_that_wait_are_accounted_for_until_they_are_released() -> None:
    memory = MemoryBudget()
    recorder = recorder_of(MemoryStore(URL), memory)
    for size in (LONG, 1, LONG):
        recorder.add(first(response=Response(URL, 200, NOW, body=bytes(size))))
    recorder.add(first())
    assert (len(recorder), memory.held) == (4, 2 * LONG)
    batch = recorder.take_batch()
    assert (len(batch), len(recorder), memory.held) == (4, 0, 2 * LONG)
    recorder.release(batch)
    assert memory.held == 0


def test_a_date_of_the_last_visit_itself_is_none_of_a_change() -> None:
    assert math.isnan(credible_age(changed(2 * DAY)))
    assert credible_age(replace(changed(2 * DAY), outcome=Outcome.UNCHANGED)) == 8.0


def test_a_page_modified_while_it_was_fetched_slowly_is_made_on_the_fly() -> None:
    """Two seconds that dates are rounded to, and the three that the response took."""

    def time_of_belief(ago: float | None) -> float:
        recording = Recording.of(MemoryStore(URL))
        recording.learn(first())
        at = NOW + DAY
        modified = None if ago is None else at - round(ago * 1e6)
        response = Response(URL, 200, at, seconds=3.0)
        visit = first(
            outcome=Outcome.CHANGED, previous=NOW, response=response, last_modified=modified
        )
        (learned,) = recording.learn(visit)
        assert learned.belief is not None
        return learned.belief[1]

    assert time_of_belief(4.9) == time_of_belief(None)
    assert time_of_belief(5.1) != time_of_belief(None)


def test_no_page_is_taken_while_a_thousand_visits_are_unwritten() -> None:
    recorder = recorder_of(MemoryStore(URL))
    backlog = []
    for visits in (1_000, 1):
        for _ in range(visits):
            recorder.add(first())
        backlog.append(recorder.has_backlog)
    recorder.take_batch()
    assert [*backlog, recorder.has_backlog] == [False, True, False]


def test_no_page_is_fetched_while_twenty_megabytes_are_unwritten() -> None:
    recorder = recorder_of(MemoryStore(URL))
    is_full, bodies = list[bool](), (bytes(19_999_999), b"x")
    visits = [first(response=Response(URL, 200, NOW, body=body)) for body in bodies]
    for visit in visits:
        recorder.add(visit)
        is_full.append(recorder.is_full)
    recorder.release(visits[:1])
    assert [*is_full, recorder.is_full] == [False, True, False]


@pytest.mark.parametrize(("is_same", "held"), [(True, LONG), (False, LONG + 3)])
def test_a_body_that_is_the_content_is_held_once(is_same: bool, held: int) -> None:
    memory, body = MemoryBudget(), bytes(LONG)
    content = body if is_same else bytes(3)
    visit = first(response=Response(URL, 200, NOW, body=body), content=content)
    recorder_of(MemoryStore(URL), memory).add(visit)
    assert memory.held == held


def test_what_was_postponed_is_learned_from_but_not_written() -> None:
    store = MemoryStore(URL)
    recording = Recording.of(store)
    postponed = Response(URL, 0, NOW, error="not yet", postponed=True, requests=0)
    visits = [first(), first(outcome=Outcome.FAILED, response=postponed)]

    async def write() -> list[list[Visit]]:
        spent = Spent(NOW, 1, 2, 3)
        written = []
        for visit in visits:
            recording.frontier.hold([0])
            written.append(await recording.recorder.write([visit], spent))
        return [*written, await recording.recorder.write([], spent)]

    assert [[visit.outcome for visit in some] for some in asyncio.run(write())] == [
        [Outcome.FIRST],
        [],
        [],
    ]
    assert store.outcomes(URL) == [Outcome.FIRST]
    assert len(store.spent) == 3


# One page's trouble is not the crawl's


def test_a_visit_that_was_not_under_way_is_logged_and_not_recorded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A page visited twice at the same time, a page that was not taken, and one nobody knows."""
    store = MemoryStore(*(f"{URL}{number}" for number in range(3)))
    recording = Recording.of(store)
    pages = [replace(PAGE, number=number, url=f"{URL}{number}") for number in (0, 0, 1, 2, 99)]
    recording.frontier.hold([0, 1])
    visits = [first(page=page, response=Response(URL, 200, NOW, requests=2)) for page in pages]

    async def write() -> list[Visit]:
        return await recording.recorder.write(visits, Spent(NOW, lost=5))

    with caplog.at_level(logging.ERROR, "recrawl.crawler"):
        written = asyncio.run(write())
    assert [visit.page.number for visit in written] == [0, 1]
    assert [visit.page.number for visit in store.log] == [0, 1]
    logged = [record.getMessage().partition(",")[0] for record in caplog.records]
    assert logged == ["a visit to page 0", "a visit to page 2", "a visit to page 99"]
    assert f"page 99, {URL}99, is not recorded" in caplog.text
    # The requests were made all the same, and the pages can be taken again.
    assert store.spent == [Spent(NOW, lost=5 + 3 * 2)]
    assert not recording.frontier.out


def test_requests_for_a_page_that_was_removed_meanwhile_count(
    caplog: pytest.LogCaptureFixture,
) -> None:
    recording = Recording.of(store := MemoryStore(URL, f"{URL}b"))
    recording.frontier.hold([0])
    recording.frontier.remove([0])
    assert asyncio.run(recording.recorder.write([first()], Spent(NOW))) == []
    assert (store.log, store.spent, caplog.text) == ([], [Spent(NOW, lost=1)], "")
    assert not recording.frontier.out
