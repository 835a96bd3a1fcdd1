"""Which columns a table has, and which of them are meant."""

from collections.abc import Sequence
from difflib import get_close_matches

from recrawl.formats.source import Source
from recrawl.units import quoted

#: How many columns a message lists.
LISTED = 12


def choose_columns(
    source: Source,
    found: Sequence[str],
    *,
    known: Sequence[str],
    required: Sequence[Sequence[str]],
    ignore_unknown: bool,
) -> list[str]:
    """Give the known columns of a table, or say what is wrong with its columns.

    Args:
        source: The table.
        found: Its columns.
        known: The columns it may have.
        required: Groups of columns; of each group one must be there.
        ignore_unknown: Skip all others instead of refusing them.

    Raises:
        InputError: A column is missing, unknown (unless ignored) or there twice.
    """
    chosen = [name for name in found if name in known]
    unknown = [name for name in found if name not in known]
    for name in chosen:
        if chosen.count(name) > 1:
            raise source.error("the column is there more than once", column=name)
    for group in required:
        if not set(group) & set(chosen):
            raise source.error(_missing(group, found, unknown))
    if unknown and not ignore_unknown:
        raise source.error(_unknown(unknown[0], known))
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


def _unknown(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name.lower(), known, n=1)
    meant = f" (is '{near[0]}' meant?)" if near else ""
    return (
        f"the column {quoted(name)} is not known{meant}; "
        f"known are {', '.join(known)}, and --ignore-unknown skips all others"
    )
