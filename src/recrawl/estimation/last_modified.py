"""The estimator for servers that date a page's last change."""

from dataclasses import dataclass
from typing import ClassVar, final

from recrawl.estimation.belief import BeliefEstimator


@final
@dataclass(frozen=True, eq=False)
class LastModified(BeliefEstimator):
    """A Gamma belief, updated exactly where the server dates the last change.

    With ``age`` = visit − last modification (a date in the future counts as 0) the page was quiet
    for u = min(age, τ) days before the visit, and if age < τ a change is known before that:

        b ← b + u,   a ← a + 1 if age < τ

    which is the exact posterior. What happened before the last change is unknown and not used. A
    visit without a date (no age, or NaN) updates the belief as in `GammaFilter`.

    Args:
        prior: As in `GammaFilter`.
        half_life: As in `GammaFilter`.

    **When it is wrong**: when the dates are. Many servers date every response with the present or
    with the last deployment; leave out dates that contradict the content.

    No data: the prior's mean. All unchanged: falls as a / (b + Σ τ). All changed: with ages near 0
    it grows as the changes divided by the time known to be quiet, finite thanks to the prior.

    The interval is a credible interval with equal tails. Measured at 95 % it covers 93 to 95 % from
    30 visits on.

    >>> from recrawl import Tracker
    >>> page = Tracker(LastModified())
    >>> for changed, age in [(True, 0.25), (True, 0.5), (False, 1.5), (True, 0.25)]:
    ...     page.observe(changed, elapsed=1.0, age=age)
    >>> round(page.rate, 4)
    1.4
    """

    dated: ClassVar[bool] = True
