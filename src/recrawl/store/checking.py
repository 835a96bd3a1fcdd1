"""Check the integrity of a store: SQLite's own checks, and recrawl's."""

from collections.abc import Iterator

from recrawl.errors import StoreError
from recrawl.store.database import Database
from recrawl.store.reading import inflated

BODIES_PER_BATCH = 200


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
    return [*_references(database), *_bodies(database), *_counters(database)]


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
            content = inflated(deflated, digest)
            if content is None:
                yield f"the body {digest.hex()} does not match its digest"
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
