"""Every estimator passes the public suite, and the suite finds what is broken."""

import inspect
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import recrawl
from recrawl import (
    LLN,
    MLE,
    SA,
    SAM,
    BiasReduced,
    Estimator,
    GammaFilter,
    LastModified,
    MomentMatching,
    Naive,
    Observations,
    Prior,
    check_estimator,
)
from recrawl.errors import ArgumentError, ConformanceError
from recrawl.estimation.counts import Counts
from recrawl.kernels.jit import Floats

PROMISES: list[tuple[Estimator[Any], dict[str, Any]]] = [
    (Naive(), {"consistent": False}),
    (LLN(), {}),
    (LLN("log"), {}),
    (LLN("sqrt"), {}),
    (LLN("k^0.75"), {"consistent": False}),
    (SA(), {}),
    (SA(0.6, averaged=True), {}),
    (SAM(), {}),
    (MLE(), {"state_grows": True}),
    (MLE(), {"state_grows": True, "visits": "regular"}),
    (MomentMatching(), {"state_grows": True}),
    (MomentMatching(), {"state_grows": True, "visits": "regular"}),
    (BiasReduced(), {"visits": "regular"}),
    (LastModified(), {"sees_batches": True}),
    (GammaFilter(), {"sees_batches": True}),
    (GammaFilter(), {"sees_batches": True, "visits": "regular"}),
    (GammaFilter(Prior(0.5, 2.0)), {}),
    (GammaFilter(Prior(0.5, 2.0), half_life=5_000.0), {}),
    (LastModified(Prior(0.5, 2.0)), {}),
]


@pytest.mark.parametrize(("estimator", "promises"), PROMISES, ids=lambda value: repr(value)[:40])
def test_every_estimator_keeps_its_promises(
    estimator: Estimator[Any], promises: dict[str, Any]
) -> None:
    check_estimator(estimator, **promises)


def test_no_estimator_is_left_out() -> None:
    public = {
        value
        for name in recrawl.__all__
        if inspect.isclass(value := getattr(recrawl, name))
        and value is not Estimator
        and all(hasattr(value, method) for method in ("start", "update", "rate"))
    }
    assert public == {type(estimator) for estimator, _ in PROMISES}


def test_broken_promises_are_found() -> None:
    with pytest.raises(ConformanceError, match="median estimate"):
        check_estimator(Naive())
    with pytest.raises(ConformanceError, match="state grows"):
        check_estimator(MLE())
    with pytest.raises(ConformanceError, match="median estimate"):
        check_estimator(LLN(), visits="regular")
    with pytest.raises(ConformanceError, match="folded in one batch"):
        check_estimator(GammaFilter())


@dataclass(frozen=True)
class Broken:
    """The LLN with one fault at a time."""

    fault: str
    state_version: ClassVar[int] = 1

    def start(self, pages: int) -> Counts:
        return Counts.none(pages)

    def update(self, state: Counts, observations: Observations) -> Counts:
        new = state.plus(observations)
        if self.fault == "writes to its state":
            state.elapsed[:] += 1.0
        if self.fault == "miscounts":
            return new._replace(visits=new.visits + 1)
        if self.fault == "mixes pages":
            return new._replace(elapsed=np.full(new.elapsed.size, new.elapsed.mean()))
        return new

    def rate(self, state: Counts) -> Floats:
        rate = LLN().rate(state)
        if self.fault == "infinite when all changed":
            return np.where((state.changes == state.visits) & (state.visits > 0), np.inf, rate)
        return -rate if self.fault == "negative" else rate

    def interval(self, state: Counts, level: float = 0.95) -> tuple[Floats, Floats]:
        low, high = LLN().interval(state, level)
        return (high, low) if self.fault == "inside out" else (low, high)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("writes to its state", "modifies the state"),
        ("miscounts", "miscounted"),
        ("mixes pages", "a page on its own"),
        ("infinite when all changed", "not finite"),
        ("negative", "negative"),
        ("inside out", "low end is above its high end"),
    ],
)
def test_each_fault_is_named(fault: str, message: str) -> None:
    with pytest.raises(ConformanceError, match=message):
        check_estimator(Broken(fault))


def test_a_thing_without_fault_passes() -> None:
    check_estimator(Broken("none"))


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: LLN(0.0), "alpha"),
        (lambda: LLN(-1.0), "alpha"),
        (lambda: LLN("k^"), "alpha"),
        (lambda: LLN(lambda k: 0 * k), "alpha"),
        (lambda: SA(0.0), "gamma"),
        (lambda: SA(1.5), "gamma"),
        (lambda: SA(start_value=-1.0), "start_value"),
        (lambda: SAM(beta=1.0), "beta"),
        (lambda: SAM(c=0.0), "c:"),
        (lambda: GammaFilter().start(-1), "pages"),
    ],
)
def test_bad_settings_are_named(make: Any, name: str) -> None:  # noqa: ANN401
    with pytest.raises(ArgumentError, match=name):
        make()


def test_a_step_outside_0_and_1_is_named() -> None:
    method = SA(step=lambda k: 1.0 + k)
    with pytest.raises(ArgumentError, match=r"step: is 2\.0 at k = 1"):
        method.update(method.start(1), Observations.of([1.0, 1.0], [1, 0], page=[0, 0]))
