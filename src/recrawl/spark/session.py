"""On the driver: what is done with a session, and errors of executors as sentences."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from recrawl import errors

#: A table of Spark, of a classic session or of Spark Connect.
DataFrame = Any
#: Makes Arrow batches of those of a partition.
Function = Callable[[Iterator[Any]], Iterator[Any]]
_RAISED = re.compile(r"^recrawl\.errors\.(\w+): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Then:
    """One function after another, without Spark in between."""

    first: Function
    second: Function

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield what the second makes of what the first makes of batches."""
        return self.second(self.first(batches))


def partitions_of(frame: DataFrame) -> int:
    """Return how many partitions Spark deals rows to."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))


def mapped(frame: DataFrame, function: Function, schema: str) -> DataFrame:
    """Return what a function makes of the partitions of a table."""
    # Spark takes tables that are computed alike for the same one, and would answer with what it
    # keeps of an earlier plan though the files have changed since. So no two are alike.
    token = uuid4().hex

    def call(batches: Iterator[Any], _token: str = token) -> Iterator[Any]:
        return function(batches)

    return frame.mapInArrow(call, schema)


def collected(frame: DataFrame) -> list[Any]:
    """Return all rows of a small table; errors of ours are raised as they were."""
    with our_errors():
        rows: list[Any] = frame.collect()
    return rows


@contextmanager
def our_errors() -> Iterator[None]:
    """Raise errors of ours that ended a task on an executor."""
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
