"""Every policy passes `check_policy`, and the suite catches each broken promise."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recrawl.errors import ConformanceError
from recrawl.kernels.jit import Bools, Ints
from recrawl.simulation.checks import check_policy
from recrawl.simulation.policies import POLICIES, policy_named
from recrawl.simulation.policy import PageSet

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_keeps_the_promises(name: str) -> None:
    check_policy(policy_named(name))


@pytest.mark.parametrize("page", ["reference/command-line.md", "explanation/policies.md"])
def test_every_policy_is_documented(page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    assert [name for name in POLICIES if f"`{name}`" not in text] == []


class Oldest:
    """Visits the pages not visited for longest; subclasses break one promise each."""

    calls = 0

    def __init__(self, pages: PageSet, seed: int) -> None:
        self.pages = pages
        self.rng = np.random.default_rng(seed)
        self.last = np.zeros(pages.count)

    def take(self, now: float, limit: int) -> Ints:
        del now
        return np.argsort(self.last, kind="stable")[:limit]

    def report(self, page: Ints, now: float, changed: Bools) -> None:
        del changed
        self.last[page] = now


class Lazy(Oldest):
    def take(self, now: float, limit: int) -> Ints:
        return super().take(now, limit)[:0]


class Doubling(Oldest):
    def take(self, now: float, limit: int) -> Ints:
        return np.repeat(super().take(now, limit)[:1], 2 if limit > 1 else 1)


class Beyond(Oldest):
    def take(self, now: float, limit: int) -> Ints:
        return super().take(now, limit) + 1


class Masking(Oldest):
    def take(self, now: float, limit: int) -> Any:  # noqa: ANN401
        return np.isin(np.arange(self.pages.count), super().take(now, limit))


class Greedy(Oldest):
    def take(self, now: float, limit: int) -> Ints:
        return super().take(now, limit + 1)


class Random(Oldest):
    def take(self, now: float, limit: int) -> Ints:
        del now
        return np.random.default_rng().permutation(self.pages.count)[:limit]


class Sharing(Oldest):
    def take(self, now: float, limit: int) -> Ints:
        del now
        Oldest.calls += limit
        return (Oldest.calls + np.arange(min(limit, self.pages.count))) % self.pages.count


class Scribbling(Oldest):
    def report(self, page: Ints, now: float, changed: Bools) -> None:
        super().report(page, now, changed)
        changed[:] = False


class Ageing(Oldest):
    def report(self, page: Ints, now: float, changed: Bools) -> None:
        super().report(page, now, changed)
        self.pages.importance[page] += 1.0


class Peeking(Oldest):
    def take(self, now: float, limit: int) -> Ints:
        del now
        return np.argsort(-self.pages.true_rate, kind="stable")[:limit]


class Hearing(Oldest):
    def signal(self, page: Ints, now: float, kind: str) -> None:
        del now, kind
        self.last[page] = 0.0

    def chance(self, page: Ints, now: float) -> Any:  # noqa: ANN401
        return np.exp(self.last[page] - now)


class Erasing(Hearing):
    def signal(self, page: Ints, now: float, kind: str) -> None:
        super().signal(page, now, kind)
        page[:] = 0


class Certain(Hearing):
    def chance(self, page: Ints, now: float) -> Any:  # noqa: ANN401
        return 1.5 * super().chance(page, now) + 0.5


class Summary(Hearing):
    def chance(self, page: Ints, now: float) -> Any:  # noqa: ANN401
        return super().chance(page, now).sum()


class Informed(Oldest):
    def take(self, now: float, limit: int) -> Ints:
        del now
        signals = self.pages.true_signals
        order = self.last if signals is None else -signals.recall
        return np.argsort(order, kind="stable")[:limit]


@dataclass(frozen=True)
class Rule:
    run: Any = Oldest
    name: Any = "rule"
    keeps_budget: Any = True
    knows_rates: Any = False

    def start(self, pages: PageSet, budget: float, *, tick: float, seed: int) -> Oldest:
        del budget, tick
        return self.run(pages, seed)  # type: ignore[no-any-return]


@dataclass
class Thawed:
    name: str = "rule"
    keeps_budget: bool = True
    knows_rates: bool = False
    start = Rule.start
    run = Oldest


def test_a_policy_that_keeps_the_promises_passes() -> None:
    check_policy(Rule())
    check_policy(Rule(Peeking, knows_rates=True))
    check_policy(Rule(Greedy, keeps_budget=False))
    check_policy(Rule(Hearing))


@pytest.mark.parametrize(
    ("policy", "promise"),
    [
        (Rule(name=" "), "its name is empty"),
        (Rule(keeps_budget=1), "keeps_budget is not a bool"),
        (Rule(knows_rates=None), "knows_rates is not a bool"),
        (Thawed(), "rule: its settings can be changed; make it a frozen dataclass"),
        (Rule(Lazy), "it visits none of 1 pages in 45 days"),
        (Rule(Doubling), "take returns a page twice"),
        (Rule(Beyond), "take returns a page beyond 1"),
        (Rule(Masking), "take does not return an array of page numbers"),
        (Rule(Greedy), "where the limit is"),
        (Rule(Random), "two runs with the same seed and the same findings differ"),
        (Rule(Sharing), "two runs with the same seed and the same findings differ"),
        (Rule(Scribbling), "report changes its arguments"),
        (Rule(Ageing), "it changes its pages"),
        (Rule(Erasing), "signal changes its arguments"),
        (Rule(Certain), "chance returns something other than probabilities"),
        (Rule(Summary), "chance does not return one number per page"),
        (Rule(Informed), "it uses the true change rates"),
        (Rule(Peeking), "it uses the true change rates; set knows_rates=True"),
    ],
)
def test_broken_promises_are_caught(policy: Any, promise: str) -> None:  # noqa: ANN401
    with pytest.raises(ConformanceError, match=promise):
        check_policy(policy)
