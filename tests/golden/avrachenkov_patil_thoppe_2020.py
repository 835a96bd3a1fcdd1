"""The second experiment.

K. Avrachenkov, K. Patil and G. Thoppe, "Change Rate Estimation and Optimal Freshness in Web Page
Crawling", VALUETOOLS 2020, section "Expt. 2: Optimal Crawling rates and Freshness": 100 pages whose
change rates are uniform on [0, 1], and a budget of 80.
"""

PAGES = 100
BUDGET = 80.0
#: The paper shows the optimum as a curve only. These means were found by solving 50 draws and more
#: with scipy's brentq, page by page; a single draw's standard deviation is some .015.
POISSON_OPTIMUM = 0.659
REGULAR_UNIFORM = 0.758
REGULAR_OPTIMUM = 0.773
WITHIN = 0.01
