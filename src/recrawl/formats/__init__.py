"""Crawl logs in, tables out: as CSV, JSON and Parquet, read and written whole or not at all."""
