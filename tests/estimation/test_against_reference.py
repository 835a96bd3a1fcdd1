"""Each estimator against its plain version in reference.py."""

import numpy as np
import pytest
from estimation import reference
from estimation.worlds import Log, mixed_log

from recrawl import (
    LLN,
    MLE,
    SA,
    SAM,
    BiasReduced,
    GammaFilter,
    LastModified,
    MomentMatching,
    Naive,
    Prior,
    estimate,
)

SEEDS = [1, 2, 3]


def found(
    log: Log, method: object, *, rated: bool = False, dated: bool = False
) -> dict[int, float]:
    estimates = estimate(
        log.page,
        log.elapsed,
        log.changed,
        crawl_rate=log.crawl_rate if rated else None,
        age=log.age if dated else None,
        method=method,  # type: ignore[arg-type]
    )
    return dict(zip(estimates.page.tolist(), estimates.rate.tolist(), strict=True))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rated", [False, True])
def test_naive(seed: int, rated: bool) -> None:
    log = mixed_log(seed)
    for page, rate in found(log, Naive(), rated=rated).items():
        expected = reference.naive(log.rows_of(page, rated=rated))
        assert rate == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rated", [False, True])
@pytest.mark.parametrize(
    ("alpha", "value"),
    [
        (1.0, lambda _: 1.0),
        (3.5, lambda _: 3.5),
        ("log", lambda k: np.log(k + 1)),
        ("sqrt", np.sqrt),
        ("k^0.75", lambda k: k**0.75),
        (lambda k: 2.0 + 1.0 / k, lambda k: 2.0 + 1.0 / k),
    ],
    ids=["1", "3.5", "log", "sqrt", "power", "callable"],
)
def test_lln(seed: int, rated: bool, alpha: object, value: object) -> None:
    log = mixed_log(seed)
    for page, rate in found(log, LLN(alpha), rated=rated).items():  # type: ignore[arg-type]
        rows = log.rows_of(page, rated=rated)
        expected = reference.lln(rows, value(len(rows)))  # type: ignore[operator]
        assert rate == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_bias_reduced(seed: int) -> None:
    log = mixed_log(seed)
    for page, rate in found(log, BiasReduced()).items():
        assert rate == pytest.approx(reference.bias_reduced(log.rows_of(page)), rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rated", [False, True])
@pytest.mark.parametrize("gamma", [0.5, 0.75, 1.0])
def test_sa(seed: int, rated: bool, gamma: float) -> None:
    log = mixed_log(seed)
    plain = found(log, SA(gamma, start_value=2.0), rated=rated)
    averaged = found(log, SA(gamma, start_value=2.0, averaged=True), rated=rated)
    for page, rate in plain.items():
        values = reference.sa(log.rows_of(page, rated=rated), gamma, start=2.0)
        assert rate == pytest.approx(values[-1], rel=1e-9)
        assert averaged[page] == pytest.approx(np.mean(values), rel=1e-9)


def test_sa_with_the_step_that_makes_it_the_lln() -> None:
    """η = 1/(1 + unchanged visits, this one included) gives y_k = p·Î/(k + 1 − Î)."""
    changed = [True, True, False, True, False, False, True]
    steps = 1 / (1 + np.cumsum(~np.array(changed)))
    by_sa = found_alone(SA(step=lambda k: steps[: k.size]), changed)
    assert by_sa == pytest.approx(found_alone(LLN(), changed), rel=1e-12)


def found_alone(method: object, changed: list[bool]) -> float:
    ones = np.ones(len(changed))
    page = np.zeros(len(changed), int)
    rates = estimate(page, ones, changed, crawl_rate=3.0, method=method)  # type: ignore[arg-type]
    return float(rates.rate[0])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rated", [False, True])
@pytest.mark.parametrize("settings", [(1.0, 0.8, 1.0), (0.9, 0.6, 0.5)])
def test_sam(seed: int, rated: bool, settings: tuple[float, float, float]) -> None:
    log = mixed_log(seed)
    for page, rate in found(log, SAM(*settings), rated=rated).items():
        expected = reference.sam(log.rows_of(page, rated=rated), *settings)
        assert rate == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_mle_and_moment_matching(seed: int) -> None:
    log = mixed_log(seed)
    mle, moments = found(log, MLE()), found(log, MomentMatching())
    for page, rate in mle.items():
        rows = log.rows_of(page)
        assert rate == pytest.approx(reference.mle(rows), rel=1e-9)
        assert moments[page] == pytest.approx(reference.moment_matching(rows), rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("prior", [None, (0.3, 4.0)])
@pytest.mark.parametrize("half_life", [None, 50.0])
@pytest.mark.parametrize("dated", [False, True])
def test_gamma_filter_and_last_modified(
    seed: int, prior: tuple[float, float] | None, half_life: float | None, dated: bool
) -> None:
    log = mixed_log(seed)
    kind = LastModified if dated else GammaFilter
    method = kind(None if prior is None else Prior(*prior), half_life)
    for page, rate in found(log, method, dated=True).items():
        a, b = reference.gamma_filter(log.rows_of(page), prior, half_life, dated=dated)
        assert rate == pytest.approx(a / b, rel=1e-9)
