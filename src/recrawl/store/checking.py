"""Check the integrity of a store: SQLite's own checks, and recrawl's."""

import math
import struct
from collections.abc import Callable, Iterator

from recrawl.errors import StoreError
from recrawl.records import SIGNALS, ChangeKind, Outcome, State
from recrawl.store.changes import FeedKind, FeedState
from recrawl.store.database import Database
from recrawl.store.encoding import InflateError, read_headers, read_keys, write_keys
from recrawl.store.reading import inflated

BODIES_PER_BATCH, ROWS_PER_BATCH = 200, 1_000
#: The octave of the lowest of 16 rates, and a likelihood for each of them, in half precision.
OCTAVES = struct.Struct("<h16e")
#: Checks of tables, column by column, with the greatest value of each enumeration in them.
VALUES: dict[str, tuple[int, ...]] = {
    "wrong_pages": (max(State), max(FeedState)),
    "wrong_visits": (max(Outcome), len(SIGNALS) - 1, max(ChangeKind)),
    "wrong_bodies": (),
    "wrong_copies": (),
    "wrong_versions": (),
    "wrong_changes": (max(FeedKind),),
    "wrong_tokens": (),
}


def check(database: Database) -> list[str]:
    """Find damage; see `SqliteStore.check`."""
    try:
        structure = [text for (text,) in database.rows("integrity") if text != "ok"]
    except StoreError as error:
        # SQLite could not even finish reading.
        return [str(error)]
    if structure:
        # In a corrupt file, further findings would be meaningless.
        return [f"the file is damaged: {text}" for text in structure]
    schema = database.schema_differences()
    if schema:
        # What is asked of other tables would fail, or mean something else.
        return schema
    return [
        *_values(database),
        *_references(database),
        *_bodies(database),
        *_packed(database),
        *_counters(database),
    ]


def _values(database: Database) -> Iterator[str]:
    for name, greatest in VALUES.items():
        for row, column in database.rows(name, *greatest):
            table = name.removeprefix("wrong_")
            yield f"row {row} of {table} has an impossible value in {column}"
    for table, row, column in database.rows("wrong_others"):
        yield f"row {row} of {table} has an impossible value, maybe in {column}"


def _packed(database: Database) -> Iterator[str]:
    """Find bytes that cannot be decoded."""
    page, until = -1, 0
    while rows := database.rows("headers_after", page, until, ROWS_PER_BATCH):
        page, until = rows[-1][:2]
        for number, _, headers in rows:
            if not _is_read(read_headers, headers):
                yield f"the headers of a copy of page {number} are damaged"
    last = -1
    while rows := database.rows("packed_after", last, ROWS_PER_BATCH):
        last = rows[-1][0]
        for number, octaves, ignored in rows:
            if octaves is not None and not _are_octaves(octaves):
                yield f"what was learned about page {number} is damaged"
            if write_keys(read_keys(ignored)) != ignored:
                yield f"the noise of page {number} is damaged"


def _are_octaves(packed: bytes) -> bool:
    """Whether bytes are likelihoods of change rates.

    >>> _are_octaves(OCTAVES.pack(-9, *[1.0] * 16)), _are_octaves(OCTAVES.pack(0, *[math.nan] * 16))
    (True, False)
    """
    if len(packed) != OCTAVES.size:
        return False
    _, *likelihoods = OCTAVES.unpack(packed)
    return all(0.0 < one < math.inf for one in likelihoods)


def _is_read(function: Callable[[bytes], object], written: bytes) -> bool:
    try:
        function(written)
    except (InflateError, ValueError, TypeError, AttributeError):
        return False
    return True


def _references(database: Database) -> Iterator[str]:
    for table, row, parent, _ in database.rows("broken_references"):
        yield f"row {row} of {table} refers to a row that is missing from {parent}"
    for (number,) in database.rows("torn_copies"):
        yield f"page {number} has a body without headers, or headers without a body"
    for (digest,) in database.rows("orphans"):
        yield f"the body {digest.hex()} belongs to no page"


def _bodies(database: Database) -> Iterator[str]:
    last = b""
    while rows := database.rows("bodies_after", last, BODIES_PER_BATCH):
        last = rows[-1][0]
        for digest, size, stored, deflated in rows:
            content = inflated(deflated, size, digest)
            if content is None:
                yield f"the body {digest.hex()} does not match its digest, or its recorded size"
            elif (len(content), len(deflated)) != (size, stored):
                yield f"the body {digest.hex()} does not have its recorded size"


def _counters(database: Database) -> Iterator[str]:
    for hour, counted, logged in database.rows("wrong_counters"):
        yield f"in hour {hour} since 1970, {counted} visits are counted but {logged} are logged"
    for counted, stored in database.rows("wrong_stock"):
        yield f"{counted} bodies are counted but {stored} are stored, or their sizes differ"
    for host, counted, stored in database.rows("wrong_host_counts"):
        yield f"{counted} pages of {host} are counted but {stored} are stored, or visits differ"
    for (number,) in database.rows("numbers_ahead"):
        yield f"the number of page {number} could be assigned again"
