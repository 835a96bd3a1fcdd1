"""Estimators of change rates from observations, one per file."""

from recrawl.estimation.belief import Belief, Prior, staleness, survival
from recrawl.estimation.bias_reduced import BiasReduced
from recrawl.estimation.checks import check_estimator
from recrawl.estimation.columns import Estimates, estimate
from recrawl.estimation.estimator import Estimator
from recrawl.estimation.fleet import fit_host_priors, fit_prior
from recrawl.estimation.gamma_filter import GammaFilter
from recrawl.estimation.last_modified import LastModified
from recrawl.estimation.lln import LLN
from recrawl.estimation.mle import MLE
from recrawl.estimation.moment_matching import MomentMatching
from recrawl.estimation.naive import Naive
from recrawl.estimation.observations import Observations, observe
from recrawl.estimation.sa import SA
from recrawl.estimation.sam import SAM
from recrawl.estimation.saving import load_state, save_state
from recrawl.estimation.tracker import Tracker

__all__ = [
    "LLN",
    "MLE",
    "SA",
    "SAM",
    "Belief",
    "BiasReduced",
    "Estimates",
    "Estimator",
    "GammaFilter",
    "LastModified",
    "MomentMatching",
    "Naive",
    "Observations",
    "Prior",
    "Tracker",
    "check_estimator",
    "estimate",
    "fit_host_priors",
    "fit_prior",
    "load_state",
    "observe",
    "save_state",
    "staleness",
    "survival",
]
