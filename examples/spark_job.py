"""A nightly Spark job: from yesterday's beliefs and today's rows to tomorrow's plan."""

from pathlib import Path
from typing import Any

from recrawl import spark as recrawl_spark

LOG = str(Path(__file__).parent / "visits.csv")
MIDNIGHT = "2026-03-03"


def main(session: Any) -> None:  # noqa: ANN401 - a classic or Spark Connect session
    """Plan with a session: ``SparkSession.builder.getOrCreate()``."""
    log = session.read.csv(LOG, header=True)

    yesterday = recrawl_spark.beliefs(log.where(log["time"] < MIDNIGHT), prior="alone")
    today = recrawl_spark.beliefs(log.where(log["time"] >= MIDNIGHT), previous=yesterday)
    # In a real job, write today's beliefs to Parquet and read yesterday's from the night before.
    plan = recrawl_spark.plan(today, budget="4/day")

    print("page    changes per day   visits per day   next visit")
    for row in plan.orderBy("page").collect():
        print(
            f"{row['page']:6}  {row['change_rate']:15.2f}   {row['crawl_rate']:14.2f}   "
            f"{row['next_visit']:%Y-%m-%d %H:%M}"
        )


if __name__ == "__main__":
    from pyspark.sql import SparkSession

    main(SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate())
