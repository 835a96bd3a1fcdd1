"""Whether a store is whole: what SQLite can check, and what only we know."""

from collections.abc import Iterator

from recrawl.errors import StoreError
from recrawl.store.database import Database
from recrawl.store.reading import inflated

BODIES_AT_ONCE = 200


def check(database: Database) -> list[str]:
    """Find what is wrong; see `SqliteStore.check`."""
    try:
        structure = [text for (text,) in database.rows("integrity") if text != "ok"]
    except StoreError as error:
        # SQLite could not even read on.
        return [str(error)]
    if structure:
        # In a broken file nothing else that is found means anything.
        return [f"the file is damaged: {text}" for text in structure]
    return [*_references(database), *_bodies(database), *_counters(database)]


def _references(database: Database) -> Iterator[str]:
    for table, row, parent, _ in database.rows("broken_references"):
        yield f"row {row} of {table} refers to something that is not in {parent}"
    for (number,) in database.rows("torn_copies"):
        yield f"page {number} has a content without its headers, or the reverse"
    for (digest,) in database.rows("orphans"):
        yield f"the content {digest.hex()} is no page's copy"


def _bodies(database: Database) -> Iterator[str]:
    last = b""
    while rows := database.rows("bodies_after", last, BODIES_AT_ONCE):
        last = rows[-1][0]
        for digest, size, stored, deflated in rows:
            content = inflated(deflated, digest)
            if content is None:
                yield f"the content {digest.hex()} is not what its digest says"
            elif (len(content), len(deflated)) != (size, stored):
                yield f"the content {digest.hex()} has another size than is noted"


def _counters(database: Database) -> Iterator[str]:
    for hour, counted, logged in database.rows("wrong_counters"):
        yield f"in hour {hour} since 1970, {counted} visits are counted and {logged} logged"
    for noted, found in database.rows("wrong_stock"):
        yield f"{noted} contents are counted and {found} stored, or their sizes differ"
    for (number,) in database.rows("numbers_ahead"):
        yield f"page {number} has a number that could be given again"
