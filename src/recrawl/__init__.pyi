from recrawl.allocation import Allocation as Allocation
from recrawl.allocation import allocate as allocate
from recrawl.allocation import budget_for as budget_for
from recrawl.allocation import check_allocator as check_allocator
from recrawl.allocation import freshness as freshness
from recrawl.allocation import freshness_curve as freshness_curve
from recrawl.allocation import proportional as proportional
from recrawl.allocation import uniform as uniform
from recrawl.clock import Clock as Clock
from recrawl.crawler.crawler import Crawler as Crawler
from recrawl.estimation import LLN as LLN
from recrawl.estimation import MLE as MLE
from recrawl.estimation import SA as SA
from recrawl.estimation import SAM as SAM
from recrawl.estimation import Belief as Belief
from recrawl.estimation import BiasReduced as BiasReduced
from recrawl.estimation import Estimates as Estimates
from recrawl.estimation import Estimator as Estimator
from recrawl.estimation import GammaFilter as GammaFilter
from recrawl.estimation import LastModified as LastModified
from recrawl.estimation import MomentMatching as MomentMatching
from recrawl.estimation import Naive as Naive
from recrawl.estimation import Observations as Observations
from recrawl.estimation import Prior as Prior
from recrawl.estimation import Tracker as Tracker
from recrawl.estimation import check_estimator as check_estimator
from recrawl.estimation import estimate as estimate
from recrawl.estimation import fit_host_priors as fit_host_priors
from recrawl.estimation import fit_prior as fit_prior
from recrawl.estimation import load_state as load_state
from recrawl.estimation import observe as observe
from recrawl.estimation import save_state as save_state
from recrawl.formats.crawl_log import read_log as read_log
from recrawl.planning.plan import Plan as Plan
from recrawl.planning.plan import plan as plan
from recrawl.records import CrawlLog as CrawlLog
from recrawl.scheduling.frontier import Frontier as Frontier
from recrawl.simulation.checks import check_policy as check_policy
from recrawl.simulation.policies import policy_named as policy_named
from recrawl.simulation.policy import Policy as Policy
from recrawl.simulation.replay import replay as replay
from recrawl.simulation.score import Score as Score
from recrawl.simulation.world import World as World

__all__: list[str]  # noqa: PYI035 - the lines above are the list
__version__: str
_MODULES: dict[str, str]
