"""Estimate change rates from the columns of a DuckDB query, and join them to other tables."""

from pathlib import Path

import duckdb

import recrawl

LOG = Path(__file__).with_name("visits.csv")

query = f"""
    select page, time, changed,
           (epoch(time::timestamp) - lag(epoch(time::timestamp)) over each_page) / 86400 as elapsed
    from read_csv('{LOG}')
    window each_page as (partition by page order by time)
    order by page, time
"""  # noqa: S608 - the file is ours
visits = duckdb.sql(query)
found = recrawl.estimate(visits.select("page"), visits.select("elapsed"), visits.select("changed"))
print(found)

rates = found.to_arrow()  # DuckDB reads it by its name
for row in duckdb.sql("select page, round(rate, 2) from rates order by rate desc").fetchall():
    print(*row)
