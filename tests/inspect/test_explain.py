"""Why a page is visited when it is."""

import math
from dataclasses import replace

import numpy as np
import pytest
from crawler.believing import belief as believed
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from recrawl.inspect.explain import Explanation, Price, explain, percent_sign
from recrawl.records import MICROSECONDS_A_DAY, Page, State
from recrawl.scheduling.value import due_after
from recrawl.store.rows import Belief

DAY = round(MICROSECONDS_A_DAY)
NOW = 100 * DAY
PRICE = Price(0.5, is_now=True)
USUAL = believed(6.0, 30.0)


def page(
    *,
    age: float | None = 3.0,
    importance: float = 1.0,
    state: State = State.ALIVE,
    visits: int = 9,
    failures: int = 0,
) -> Page:
    last = None if age is None else NOW - round(age * DAY)
    return Page(
        0,
        "https://a.example/",
        "a.example",
        importance=importance,
        state=state,
        last_visit=last,
        visits=visits,
        failures=failures,
    )


def explained(
    belief: Belief = USUAL,
    price: Price | None = PRICE,
) -> Explanation:
    return explain(page(), belief, price, NOW)


@given(
    shape=st.floats(0.5, 20.0),
    time=st.floats(0.1, 100.0),
    age=st.floats(0.01, 100.0),
    importance=st.floats(0.1, 10.0),
)
def test_the_numbers_follow_from_the_belief(
    shape: float, time: float, age: float, importance: float
) -> None:
    """Checked against the distribution itself, by quadrature and by SciPy."""
    found = explain(page(age=age, importance=importance), believed(shape, time), None, NOW)
    exact = stats.gamma(shape, scale=1 / time)
    assert found.elapsed == pytest.approx(age, abs=1e-10)
    shown = np.array([found.low, found.change_rate, found.high], np.float64)
    # Rates are an octave apart.
    assert np.abs(np.log2(shown[1:] / exact.ppf([0.5, 0.975]))).max() < 0.6
    assert shown[0] < shown[1] < shown[2]

    def fresh(days: float) -> float:
        return float((time / (time + days)) ** shape)

    assert found.stale == pytest.approx(1 - fresh(age), abs=0.05)
    value = integrate.quad(fresh, 0, age)[0] - age * fresh(age)
    assert found.value == pytest.approx(importance * value, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("importance", [0.5, 1.0, 4.0])
def test_at_the_time_given_a_visit_is_worth_its_price(importance: float) -> None:
    first = explain(page(importance=importance), believed(1.0, 5.0), PRICE, NOW)
    assert first.due is not None
    assert first.visit_after is not None
    assert first.crawl_rate == pytest.approx(1 / first.visit_after)
    then = explain(page(importance=importance), believed(1.0, 5.0), PRICE, first.due)
    assert then.value == pytest.approx(PRICE.value, rel=1e-5)


def test_many_pages_are_explained_as_one_is() -> None:
    columns = np.array([1.0, 2.0, 0.0]), np.array([1.0, 6.0, 1.0]), np.array([5.0, 30.0, 5.0])
    days = due_after(*columns, 0.5)
    assert days[2] == math.inf
    for row in (0, 1):
        alone = explain(
            page(importance=columns[0][row]), believed(columns[1][row], columns[2][row]), PRICE, NOW
        )
        assert days[row] == pytest.approx(alone.visit_after)


def test_words_say_when_it_will_be_worth_it() -> None:
    why = explained(price=Price(2.4, is_now=True)).why()
    assert why.startswith("The copy is 3 days old. The page changes every 5.1 days (95 % sure: ")
    assert "the price of a visit is 2.4 days of freshness; it will be worth that in " in why


def test_words_say_that_it_is_due() -> None:
    assert (
        explained(price=Price(0.1, is_now=True))
        .why()
        .endswith("is 2.4 h of freshness: it is due now.")
    )
    paused = explained(price=Price(0.1, is_now=False)).why()
    assert paused.endswith(
        "in the last run was 2.4 h of freshness: it is due as soon as `recrawl run` starts."
    )


def test_a_page_that_waits_for_its_retry_is_not_called_due() -> None:
    failing, price = page(failures=1), Price(0.1, is_now=True)
    waiting = explain(failing, believed(6.0, 30.0), price, NOW, retry_at=NOW + DAY)
    assert waiting.why().endswith("is 2.4 h of freshness: it is already worth that.")
    assert (
        explain(failing, believed(6.0, 30.0), price, NOW, retry_at=NOW)
        .why()
        .endswith("it is due now.")
    )


def test_words_for_a_page_that_is_known_too_well() -> None:
    sure = explained(belief=believed(9.0, 8.0), price=Price(5.0, is_now=True))
    assert sure.due is None
    assert sure.crawl_rate == 0.0
    assert sure.why().endswith("before some of what was learned is forgotten.")


def test_a_page_that_changes_too_often_is_not_told_to_change_seldom() -> None:
    """However long it waits, a copy stays fresh for 8/(9 − 1) days on average: less than 5."""
    why = explained(belief=believed(9.0, 8.0), price=Price(5.0, is_now=True)).why()
    assert "It changes too often for that" in why
    assert "seldom" not in why


def test_a_belief_that_is_only_the_prior_is_called_a_guess() -> None:
    once = explain(page(visits=1), believed(1.0, 5.0), PRICE, NOW)
    assert once.is_guess
    assert "the guess is that it changes" in once.why()
    assert not explained().is_guess


def test_an_interval_too_wide_to_say_anything_is_called_not_known_yet() -> None:
    vague = explained(belief=believed(0.3, 0.01))
    assert vague.is_vague
    assert "How often the page changes is not known yet; " in vague.why()
    assert "sure: between" not in vague.why()
    # A thousandfold and no more can be said.
    assert explained(belief=believed(0.65, 0.01)).is_vague
    assert not explained(belief=believed(0.75, 0.01)).is_vague


def test_words_for_pages_that_are_refused_or_away() -> None:
    no = replace(page(state=State.REFUSED), reason="disallowed by robots.txt", retry_at=NOW + DAY)
    refused = explain(no, believed(1.0, 5.0), PRICE, NOW)
    assert refused.why().startswith("It is refused: disallowed by robots.txt. ")
    assert (refused.due, refused.crawl_rate) == (NOW + DAY, 0.0)
    assert "when robots.txt changes, or later, next in 1 day" in refused.why()
    overdue = explain(replace(no, retry_at=NOW - DAY), believed(1.0, 5.0), PRICE, NOW)
    assert "or later, next as soon as possible." in overdue.why()
    # Its reason is not known any more when it is time to check it.
    checked = explain(replace(page(age=None), retry_at=NOW + DAY), None, PRICE, NOW)
    assert checked.why().startswith("It was refused at the last visit, and is being checked again.")
    away = explain(
        replace(page(failures=3), missing_since=NOW - DAY), believed(1.0, 5.0), PRICE, NOW
    )
    assert away.why().startswith("It was not found, like most pages around it")


def test_words_without_a_price_or_importance() -> None:
    assert explained(price=None).why().endswith("is not known yet; `recrawl run` determines it.")
    nothing = explain(page(importance=0.0), believed(1.0, 5.0), PRICE, NOW)
    assert nothing.why().endswith("Its importance is 0, so no visit is worth anything.")


def test_words_for_pages_that_are_not_well() -> None:
    assert explain(page(age=None), None, PRICE, NOW).why() == (
        "There is no copy yet; it is made as soon as host and budget allow."
    )
    gone = explain(page(state=State.GONE), believed(1.0, 5.0), PRICE, NOW)
    assert gone.why().endswith("`recrawl add https://a.example/` has it visited again.")
    assert (gone.due, gone.crawl_rate) == (None, 0.0)
    for failures, start in ((1, "The last visit failed"), (4, "The last 4 visits failed")):
        failing = explain(page(failures=failures), believed(1.0, 5.0), PRICE, NOW)
        assert failing.why().startswith(start)
    missing = explain(page(state=State.MISSING), believed(1.0, 5.0), PRICE, NOW)
    found_out = explain(page(state=State.MISSING, failures=1), None, PRICE, NOW, retry_at=NOW + DAY)
    assert "further visits, the next of them in 1 day at the earliest, will" in found_out.why()
    assert missing.why().startswith("It was not found at the last visit")
    once = explain(page(visits=1), believed(1.0, 5.0), PRICE, NOW)
    assert "It was visited only once; going by pages like it" in once.why()


def test_the_limits_of_the_settings_move_the_next_visit_and_are_named() -> None:
    belief = believed(6.0, 30.0)
    usual = explain(page(), belief, PRICE, NOW)
    assert usual.visit_after is not None
    assert usual.due == NOW - 3 * DAY + round(usual.visit_after * DAY)
    later = explain(page(), belief, PRICE, NOW, (50.0, math.inf))
    assert later.due == NOW + 47 * DAY
    assert (
        "Because of min_interval, it is not visited within 50 days of the last visit."
        in later.why()
    )
    held_back = explain(page(), belief, Price(1e-6, is_now=True), NOW, (50.0, math.inf))
    assert "it is already worth that. Because of min_interval" in held_back.why()
    assert "due now" in explain(page(), belief, Price(1e-6, is_now=True), NOW).why()
    sooner = explain(page(), believed(1.0, 4000.0), PRICE, NOW, (0.0, 4.0))
    assert sooner.due == NOW + DAY
    assert sooner.crawl_rate == pytest.approx(0.25)
    assert "it is visited no later than 4 days after the last visit." in sooner.why()
    unimportant = explain(page(importance=0.0), belief, PRICE, NOW, (0.0, 4.0))
    assert unimportant.due is None
    assert "_interval" not in usual.why() + unimportant.why()


@pytest.mark.parametrize(("days", "price"), [(1, 0.5), (90, 0.5), (1, 1e-6), (1, 1.5)])
def test_a_page_that_failed_is_visited_when_it_is_worth_it_but_not_before_its_retry(
    days: int, price: float
) -> None:
    retry_at, belief, asked = NOW + days * DAY, believed(1.0, 5.0), Price(price, is_now=True)
    worth = explain(page(), belief, asked, NOW).due
    assert worth is not None
    failing = explain(page(failures=2), belief, asked, NOW, retry_at=retry_at)
    assert failing.due == max(worth, retry_at)
    assert explain(page(age=None, failures=2), None, asked, NOW, retry_at=retry_at).due == retry_at
    missing = page(state=State.MISSING, failures=1)
    assert explain(missing, belief, asked, NOW, retry_at=retry_at).due == retry_at
    assert explain(missing, belief, asked, NOW).due == worth
    resting = replace(page(state=State.GONE, failures=3), retry_at=NOW)
    assert explain(resting, belief, asked, NOW, retry_at=retry_at).due == NOW


def test_a_page_waits_for_its_host() -> None:
    due = explain(
        page(), believed(6.0, 30.0), Price(1e-6, is_now=True), NOW, closed_until=NOW + 2 * DAY
    )
    assert due.due == NOW + 2 * DAY
    assert due.why().endswith("it is due now. Its host is left alone for another 2 days.")
    dear = Price(2.4, is_now=True)
    later = explain(page(), believed(6.0, 30.0), dear, NOW, closed_until=NOW + 1)
    assert later.due == explain(page(), believed(6.0, 30.0), dear, NOW).due
    new = explain(page(age=None), None, PRICE, NOW, closed_until=NOW + DAY)
    assert new.why().endswith("budget allow. Its host is left alone for another 1 day.")
    over = explain(page(), believed(6.0, 30.0), PRICE, NOW, closed_until=NOW - DAY)
    assert "left alone" not in over.why()


def test_a_minimum_interval_that_has_passed_is_not_named() -> None:
    asked = Price(1e-6, is_now=True)
    passed = explain(page(age=3.0), believed(6.0, 30.0), asked, NOW, (1.0, math.inf))
    assert passed.due == NOW - 2 * DAY
    assert "min_interval" not in passed.why()


def test_a_minimum_interval_that_ends_just_now_holds_nothing_back() -> None:
    asked = Price(1e-6, is_now=True)
    passed = explain(page(age=3.0), believed(6.0, 30.0), asked, NOW, (3.0, math.inf))
    assert passed.due == NOW
    assert passed.why().endswith("it is due now.")


def test_a_page_visited_just_now() -> None:
    asked = Price(1e-6, is_now=True)
    fresh = explain(page(age=0.0), believed(6.0, 30.0), asked, NOW, (0.5, math.inf))
    assert (fresh.elapsed, fresh.stale, fresh.value) == (0.0, 0.0, 0.0)
    assert fresh.due == NOW + DAY // 2
    assert fresh.why().endswith("it is not visited within 12 h of the last visit.")
    # Days are too long for what is this cheap.
    assert fresh.visit_after is not None
    assert 0.0 < fresh.visit_after < 0.5
    assert "; it will be worth that in " in fresh.why()
    unlimited = explain(page(age=0.0), believed(6.0, 30.0), asked, NOW)
    assert unlimited.due == NOW + round(fresh.visit_after * DAY)
    assert unlimited.crawl_rate == pytest.approx(1.0 / fresh.visit_after)


def test_a_visit_that_is_worth_its_price_at_once_is_made_all_the_time() -> None:
    free = explain(page(), believed(6.0, 30.0), Price(0.0, is_now=True), NOW)
    assert (free.visit_after, free.crawl_rate) == (0.0, math.inf)


def test_words_for_what_is_over_just_now() -> None:
    opens = explain(page(), believed(6.0, 30.0), PRICE, NOW, closed_until=NOW)
    assert "left alone" not in opens.why()
    retried = explain(page(failures=1), believed(6.0, 30.0), PRICE, NOW, retry_at=NOW)
    assert retried.why().startswith("The last visit failed; it is retried soon.")


def test_words_for_a_page_that_is_gone_say_when_it_is_checked() -> None:
    gone = replace(page(state=State.GONE), retry_at=NOW + 2 * DAY)
    why = explain(gone, believed(1.0, 5.0), PRICE, NOW).why()
    assert why.startswith("It was not found several times in a row and is no longer visited")
    assert "except for a check now and then, next in 2 days." in why


def test_two_visits_are_more_than_a_guess() -> None:
    assert not explain(page(visits=2), believed(1.0, 5.0), PRICE, NOW).is_guess


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        *((0.0, "0 %"), (0.0049, "under 1 %"), (0.005, "under 1 %"), (0.006, "1 %"), (0.02, "2 %")),
        *((0.994, "99 %"), (0.995, "over 99 %"), (1.0, "100 %")),
    ],
)
def test_a_chance_that_is_not_nothing_or_certain_is_not_called_so(share: float, shown: str) -> None:
    assert percent_sign(share) == shown
