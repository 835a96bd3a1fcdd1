"""``recrawl plan --engine spark``: read files, plan in a Spark session, write files."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from recrawl.errors import ArgumentError, OutputError, RecrawlError
from recrawl.spark.planner import Wanted, make_plan
from recrawl.spark.session import DataFrame, our_errors

#: Input formats by file extension; a folder without one holds Parquet.
FORMATS = {"csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "parquet": "parquet"}
COMPRESSED = ("gz", "zst", "bz2")


def run(
    log: Sequence[str],
    output: str,
    kind: str,
    wanted: Wanted,
    *,
    master: str | None = None,
    importance: str | None = None,
) -> tuple[int, dict[str, float]]:
    """Plan on Spark; return the number of pages, and the totals of the plan.

    Args:
        log: Files, folders or patterns, as Spark reads them.
        output: The folder to write.
        kind: csv, json or parquet.
        wanted: The parameters of the plan.
        master: The Spark master; None for Spark's own configuration.
        importance: A file with the columns page and importance.

    Raises:
        RecrawlError: An argument, a file or Spark cannot be used.
    """
    with opened(master) as session, our_errors(), _sentences():
        weights = None if importance is None else read(session, [importance])
        planned = make_plan(read(session, log), wanted, weights)
        write(planned.frame, output, kind)
        return planned.pages, planned.totals()


@contextmanager
def opened(master: str | None) -> Iterator[Any]:
    """Open a Spark session, and stop it in the end.

    Raises:
        ArgumentError: Spark is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise ArgumentError(
            "engine: Spark is not installed, the extra 'spark'; in a checkout of recrawl: "
            "pip install '.[spark]'"
        ) from None
    # Executors on this machine use the Python that has recrawl.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("recrawl plan").config("spark.log.level", "ERROR")
    session = (builder if master is None else builder.master(master)).getOrCreate()
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _sentences() -> Iterator[None]:
    """Turn Spark's errors about files into one sentence."""
    from pyspark.errors import AnalysisException

    try:
        yield
    except AnalysisException as error:
        first = str(error).strip().splitlines()[0]
        raise RecrawlError(f"Spark: {first}") from None


def read(session: Any, paths: Sequence[str]) -> DataFrame:  # noqa: ANN401 - pyspark is not always there
    """Read tables, in the format of the first one's extension."""
    names = paths[0].rstrip("/").rpartition("/")[2].lower().split(".")
    ending = next((part for part in reversed(names[1:]) if part not in COMPRESSED), "parquet")
    if ending not in FORMATS or "-" in paths:
        raise ArgumentError(
            f"engine: Spark cannot read {paths[0]!r}; give files that end in "
            f".{', .'.join(FORMATS)}, or folders of Parquet"
        )
    # Cells are read as text, and parsed as in files that are read without Spark.
    options = {"header": "true", "sep": "\t" if ending == "tsv" else ","}
    return session.read.format(FORMATS[ending]).options(**options).load(list(paths))


def write(frame: DataFrame, output: str, kind: str) -> None:
    """Write a plan to a folder, which must not exist."""
    from pyspark.errors import AnalysisException

    try:
        frame.write.format(kind).options(header="true").save(output)
    except AnalysisException as error:
        if "PATH_ALREADY_EXISTS" not in str(error):
            raise
        raise OutputError(f"{output}: it is already there; give another folder") from None
