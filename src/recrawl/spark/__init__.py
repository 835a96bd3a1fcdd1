"""Plans on Apache Spark: the same numbers as on one machine, for any number of rows.

    rows ──dealt by page──▶ blocks of observations (kept) ──▶ sample ──▶ prior
                                        │                                  │
                                        ▼                                  ▼
                        blocks of pages (kept; dealt by host if hosts have a budget)
                                        │
                       sample and a few passes ──▶ price ──▶ plan

Executors run the functions that one machine runs, on whole partitions as Arrow batches; the driver
learns the prior and searches for the price. Needs the extra ``recrawl[spark]``; executors need
recrawl, too.
"""

from recrawl.spark.learning import beliefs
from recrawl.spark.planner import plan

__all__ = ["beliefs", "plan"]
