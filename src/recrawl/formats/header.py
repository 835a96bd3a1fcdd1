"""Which columns a crawl log has, and which of them are meant."""

from collections.abc import Sequence
from difflib import get_close_matches

from recrawl.errors import CrawlLogError
from recrawl.units import quoted

KNOWN = ("page", "time", "changed", "outcome", "crawl_rate", "last_modified", "importance")

#: Of each group one column must be there.
REQUIRED = (("page",), ("time",), ("changed", "outcome"))

#: How many columns a message lists.
LISTED = 12


def choose_columns(source: str, found: Sequence[str], *, ignore_unknown: bool) -> list[str]:
    """Give the known columns of a log, or say what is wrong with its columns.

    Raises:
        CrawlLogError: A column is missing, unknown (unless ignored) or there twice.
    """
    chosen = [name for name in found if name in KNOWN]
    unknown = [name for name in found if name not in KNOWN]
    for name in chosen:
        if chosen.count(name) > 1:
            raise CrawlLogError(source, "the column is there more than once", column=name)
    for group in REQUIRED:
        if not set(group) & set(chosen):
            raise CrawlLogError(source, _missing(group, found, unknown))
    if unknown and not ignore_unknown:
        raise CrawlLogError(source, _unknown(unknown[0]))
    return chosen


def _missing(group: Sequence[str], found: Sequence[str], unknown: Sequence[str]) -> str:
    wanted = " or ".join(f"'{name}'" for name in group)
    if len(found) == 1 and any(sign in found[0] for sign in ";\t|"):
        return f"there is no column {wanted}, because the columns are not separated by commas"
    for name in unknown:
        if near := get_close_matches(name.lower(), group, n=1):
            return f"there is no column {wanted}; is {quoted(name)} meant to be '{near[0]}'?"
    listed = ", ".join(quoted(name) for name in found[:LISTED])
    more = f" and {len(found) - LISTED} more" if len(found) > LISTED else ""
    return f"there is no column {wanted}; the columns are {listed}{more}"


def _unknown(name: str) -> str:
    near = get_close_matches(name.lower(), KNOWN, n=1)
    meant = f" (is '{near[0]}' meant?)" if near else ""
    return (
        f"the column {quoted(name)} is not known{meant}; "
        f"known are {', '.join(KNOWN)}, and --ignore-unknown skips all others"
    )
