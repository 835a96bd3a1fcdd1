"""On the driver: helpers for a Spark session, which also raise recrawl's errors from executors."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from recrawl import errors

#: A Spark table, of a classic session or of Spark Connect.
DataFrame = Any
#: Maps the Arrow batches of a partition to others.
Function = Callable[[Iterator[Any]], Iterator[Any]]
_RAISED = re.compile(r"^recrawl\.errors\.(\w+): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Then:
    """The composition of two functions, without Spark in between."""

    first: Function
    second: Function

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Apply the first function to batches, then the second."""
        return self.second(self.first(batches))


def partitions_of(frame: DataFrame) -> int:
    """Return how many partitions Spark distributes rows to."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))


def mapped(frame: DataFrame, function: Function, schema: str) -> DataFrame:
    """Apply a function to the partitions of a table."""
    # Spark considers tables with the same computation equal, and would use the cached result of an
    # earlier plan although the files have changed since. A unique token keeps them apart.
    token = uuid4().hex

    def call(batches: Iterator[Any], _token: str = token) -> Iterator[Any]:
        return function(batches)

    return frame.mapInArrow(call, schema)


def collected(frame: DataFrame) -> list[Any]:
    """Return all rows of a small table; recrawl's own errors are raised as they were."""
    with our_errors():
        rows: list[Any] = frame.collect()
    return rows


@contextmanager
def our_errors() -> Iterator[None]:
    """Re-raise recrawl's own errors that ended a task on an executor."""
    from pyspark.errors import PySparkException

    try:
        yield
    except PySparkException as error:
        found = _RAISED.search(str(error))
        if found is None:
            raise
        raise _rebuilt(*found.groups()) from None


def _rebuilt(name: str, message: str) -> errors.RecrawlError:
    """Return an error with the message that it had on the executor."""
    kind = getattr(errors, name, errors.RecrawlError)
    source, _, problem = message.strip().partition(": ")
    rebuilt: errors.RecrawlError = (
        kind(source, problem) if issubclass(kind, errors.InputError) else kind(message.strip())
    )
    return rebuilt
