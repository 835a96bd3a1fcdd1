"""Save robots.txt files in the store, from one run to the next."""

from collections.abc import Sequence

from recrawl.records import RobotsText
from recrawl.store import editing
from recrawl.store.database import Database
from recrawl.store.encoding import InflateError, deflate, inflate, write_legible


def remember(database: Database, files: Sequence[RobotsText]) -> None:
    """Save files; see `SqliteStore.remember_robots`."""
    with database.transaction():
        for robots in files:
            _remember(database, robots)


def _remember(database: Database, robots: RobotsText) -> None:
    before = recall(database, robots.origin)
    values = (
        robots.origin,
        robots.status,
        deflate(robots.text.encode("utf-8", "surrogatepass")),
        robots.fetched_at,
        robots.failing_since,
        write_legible(robots.problem),
        robots.permanent,
    )
    database.execute("remember_robots", *values)
    if before is not None and before.text != robots.text and robots.failing_since is None:
        editing.allow(database, robots.origin)


def recall(database: Database, origin: str) -> RobotsText | None:
    """Return a saved file; see `SqliteStore.robots`."""
    row = database.row("recall_robots", origin)
    if row is None:
        return None
    status, deflated, fetched_at, failing_since, problem, permanent = row
    try:
        text = inflate(deflated).decode("utf-8", "surrogatepass")
    except (InflateError, UnicodeDecodeError):
        # The file is requested again; an unreadable row must not exclude its host from a crawl.
        return None
    return RobotsText(origin, status, text, fetched_at, failing_since, problem, bool(permanent))
