"""A conformance suite for policies, to run on your own."""

import math
from collections.abc import Iterator
from dataclasses import fields, replace

import numpy as np

from recrawl.errors import ConformanceError
from recrawl.kernels.jit import Bools, Floats, Ints, read_only
from recrawl.simulation.policy import PageSet, Policy, Predicts, Run, TrueSignals, UsesSignals
from recrawl.simulation.signals import KIND

PAGES = 12
#: Days that a policy runs, days per tick, and visits per day.
DAYS, TICK, BUDGET = 45.0, 0.25, 6.0
#: The share of pages that are signalled at each tick.
SIGNALLED = 0.05


def check_policy(policy: Policy, *, seed: int = 0) -> None:
    """Raise `ConformanceError` at the first promise that a policy breaks.

    Args:
        policy: The policy to check.
        seed: Of the random pages and changes, and given to the policy.

    >>> from recrawl.simulation.policies import policy_named
    >>> check_policy(policy_named("uniform"))
    """
    _check_settings(policy)
    for count in (1, PAGES):
        for chance in (0.0, 0.3, 1.0):
            _check_visits(policy, _pages(count, seed), chance, seed)
    _check_repeatable(policy, seed)
    if not policy.knows_rates:
        _check_true_rates_unused(policy, seed)


def _promise(kept: object, policy: Policy, promise: str) -> None:
    if not kept:
        raise ConformanceError(f"{policy.name}: {promise}")


def _check_settings(policy: Policy) -> None:
    name = policy.name
    _promise(name.strip(), policy, "its name is empty")
    for flag in ("keeps_budget", "knows_rates"):
        _promise(isinstance(getattr(policy, flag), bool), policy, f"{flag} is not a bool")
    try:
        policy.name = name  # type: ignore[misc]
    except AttributeError:
        return
    _promise(False, policy, "its settings can be changed; make it a frozen dataclass")  # noqa: FBT003


def _pages(count: int, seed: int) -> PageSet:
    """Draw pages; of several, one has no importance and one never changes."""
    rng = np.random.default_rng([seed, count])
    importance, rate = rng.pareto(1.5, count) + 0.1, rng.gamma(0.7, 1.0, count) + 0.01
    if count > 1:
        importance[0] = rate[-1] = 0.0
    host = np.arange(count) // 4
    signals = TrueSignals(rng.uniform(0.1, 1.0, count), rng.random(count))
    return PageSet(importance, host, np.arange(count) // 2, rate, DAYS, signals)


def _runs(policy: Policy, pages: PageSet, chance: float, seed: int) -> Iterator[list[int]]:
    """Run a policy; yield what it takes at each tick, after reporting what the visits found.

    A page has changed with the same chance at every visit, drawn for all pages at every tick, so
    that what one page is found to do does not depend on which others are taken.
    """
    columns = _columns(pages)
    before = [column.copy() for column in columns]
    rng = np.random.default_rng([seed, 1])
    run = policy.start(pages, BUDGET, tick=TICK, seed=seed)
    spent = 0
    for number in range(1, math.floor(DAYS / TICK) + 1):
        now = number * TICK
        limit = max(math.floor(BUDGET * now) - spent, 0)
        _signal(policy, run, rng.random(pages.count) < SIGNALLED, now)
        page = _taken(policy, run.take(now, limit), pages.count, limit)
        changed = (rng.random(pages.count) < chance)[page]
        _check_chances(policy, run, page, now)
        reported = changed.copy()
        run.report(read_only(page), now, reported)
        _promise(np.array_equal(reported, changed), policy, "report changes its arguments")
        spent += page.size
        yield page.tolist()
    for old, new in zip(before, columns, strict=True):
        _promise(np.array_equal(old, new, equal_nan=True), policy, "it changes its pages")


def _signal(policy: Policy, run: Run, signalled: Bools, now: float) -> None:
    """Signal some pages, the first of them twice, to a policy that uses signals."""
    if isinstance(run, UsesSignals):
        page = np.flatnonzero(signalled)
        news = np.concatenate([page[:1], page])
        run.signal(news, now, KIND)
        kept = np.array_equal(news, np.concatenate([page[:1], page]))
        _promise(kept, policy, "signal changes its arguments")


def _check_chances(policy: Policy, run: Run, page: Ints, now: float) -> None:
    if isinstance(run, Predicts):
        chance = np.asarray(run.chance(page.copy(), now))
        _promise(chance.shape == page.shape, policy, "chance does not return one number per page")
        valid = ((chance >= 0.0) & (chance <= 1.0)).all()
        _promise(valid, policy, "chance returns something other than probabilities")


def _columns(pages: PageSet) -> list[Floats]:
    named = [field.name for field in fields(pages) if field.name not in ("days", "true_signals")]
    signals = () if pages.true_signals is None else pages.true_signals
    return [*(getattr(pages, name) for name in named), *signals]


def _taken(policy: Policy, taken: Ints, count: int, limit: int) -> Ints:
    """Return the pages taken at a tick, if they can be visited."""
    page = np.asarray(taken)
    whole = page.ndim == 1 and (page.dtype.kind in "iu" or not page.size)
    _promise(whole, policy, "take does not return an array of page numbers")
    _promise(((page >= 0) & (page < count)).all(), policy, f"take returns a page beyond {count}")
    _promise(np.unique(page).size == page.size, policy, "take returns a page twice")
    obeys = page.size <= limit or not policy.keeps_budget
    _promise(obeys, policy, f"take returns {page.size} pages where the limit is {limit}")
    return page.astype(np.int64)


def _check_visits(policy: Policy, pages: PageSet, chance: float, seed: int) -> None:
    visits = sum(map(len, _runs(policy, pages, chance, seed)))
    _promise(visits, policy, f"it visits none of {pages.count} pages in {DAYS:g} days")


def _check_repeatable(policy: Policy, seed: int) -> None:
    """Check that runs depend on nothing but their arguments, not even on each other."""
    pages = _pages(PAGES, seed)
    alone = list(_runs(policy, pages, 0.3, seed))
    # Advanced in turn, so that state shared by two runs shows.
    pairs = list(zip(_runs(policy, pages, 0.3, seed), _runs(policy, pages, 0.9, seed), strict=True))
    _promise(
        [one for one, _ in pairs] == alone,
        policy,
        "two runs with the same seed and the same findings differ",
    )


def _check_true_rates_unused(policy: Policy, seed: int) -> None:
    known = _pages(PAGES, seed)
    unknown = replace(known, true_rate=np.full(PAGES, np.nan), true_signals=None)
    _promise(
        list(_runs(policy, known, 0.3, seed)) == list(_runs(policy, unknown, 0.3, seed)),
        policy,
        "it uses the true change rates; set knows_rates=True if it needs them",
    )
