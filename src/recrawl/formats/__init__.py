"""Read crawl logs and write tables, as CSV, JSON and Parquet."""
