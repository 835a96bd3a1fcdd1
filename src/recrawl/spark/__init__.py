"""Plans on Apache Spark: the same numbers as on one machine, for any number of rows.

    rows ───by page───────▶ blocks of observations (cached) ──▶ sample ──▶ prior
                                        │                                    │
                                        ▼                                    ▼
                        blocks of pages (cached; by host if hosts have a budget)
                                        │
                       sample and a few passes ──▶ price ──▶ plan

Executors run the functions that one machine runs, on whole partitions as Arrow batches; the driver
learns the prior and searches for the price. This needs the extra ``recrawl[spark]``; executors need
recrawl too.
"""

from recrawl.spark.learning import beliefs
from recrawl.spark.planner import plan

__all__ = ["beliefs", "plan"]
