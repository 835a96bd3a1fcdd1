"""Keep old versions of pages: copies that were replaced by a change."""

from collections.abc import Sequence

from recrawl.records import Visit
from recrawl.store.changes import FeedKind
from recrawl.store.database import Database, Row
from recrawl.store.rows import Retention

#: Versions dropped at a time for their age, so that no visit waits for long.
DROPPED_PER_BATCH = 100
#: Changes that make the copy before them an old version.
REPLACING = frozenset({FeedKind.CHANGED, FeedKind.BACK})


def keep_version(
    database: Database, visit: Visit, old: bytes | None, kind: FeedKind | None, versions: int
) -> bool:
    """Keep the copy that a visit replaces, if the change counts, and drop excess versions.

    Args:
        database: The store's database, in the transaction of the visit.
        visit: The visit.
        old: The digest of the copy that is replaced.
        kind: The kind of change; None if none that counts.
        versions: How many versions of a page are kept.

    Returns:
        Whether the copy is kept, so that its body is still used.
    """
    number = visit.page.number
    if kind not in REPLACING or old is None or old == visit.page.body or not versions:
        return False
    is_kept = database.execute("add_version", visit.response.at, old, number) > 0
    _drop(database, database.rows("versions_above", number, versions))
    return is_kept


def drop_old_versions(database: Database, retention: Retention, now: int) -> None:
    """Drop some of the versions that were replaced too long ago."""
    if retention.time is not None:
        old = database.rows("versions_before", now - retention.time, DROPPED_PER_BATCH)
        _drop(database, old)


def drop_versions_of(database: Database, numbers: str) -> None:
    """Drop the versions of removed pages, whose numbers are given as JSON."""
    _drop(database, database.rows("version_bodies_of", numbers))


def _drop(database: Database, found: Sequence[Row]) -> None:
    for page, until, digest in found:
        database.execute("drop_version", page, until)
        database.execute("drop_body", digest)
