"""The example of five pages.

J. Cho and H. Garcia-Molina, "Effective page refresh policies for web crawlers", ACM Transactions on
Database Systems 28(4), 2003: the table of the example whose five pages change 1, 2, 3, 4 and 5
times a day, with five visits a day at regular times. First in their "Synchronizing a
database to improve freshness", SIGMOD 2000.
"""

CHANGE_RATE = [1.0, 2.0, 3.0, 4.0, 5.0]
BUDGET = 5.0
#: Visits a day, as printed.
CRAWL_RATE = [1.15, 1.36, 1.35, 1.14, 0.00]
#: Not in the table: (1/5) Σ (p/Δ)(1 − e^(−Δ/p)) of the optimum, solved with scipy's brentq.
FRESHNESS = 0.3739
